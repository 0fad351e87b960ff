/** What a node may tell of a pod that runs, whose only container was restarted so often. */
export const aRunningStatus = (restartCount = 0) =>
  ({
    phase: 'Running',
    startTime: '2026-01-02T03:00:00Z',
    hostIP: '10.0.0.1',
    podIP: '10.1.0.7',
    podIPs: [{ ip: '10.1.0.7' }],
    conditions: [
      { type: 'Ready', status: 'True', lastProbeTime: null, lastTransitionTime: '2026-01-02T03:00:02Z' },
      {
        type: 'PodScheduled',
        status: 'True',
        lastProbeTime: null,
        lastTransitionTime: '2026-01-02T03:04:05Z',
      },
    ],
    containerStatuses: [
      {
        ...{ name: 'main', ready: true, started: true, restartCount, image: 'app', imageID: 'id' },
        ...{ state: { running: { startedAt: '2026-01-02T03:00:01Z' } }, lastState: {} },
      },
    ],
  }) as const;
