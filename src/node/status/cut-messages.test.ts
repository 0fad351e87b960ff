import { describe, expect, it } from 'vitest';
import { type V1ContainerState, type V1ContainerStatus, type V1PodStatus } from '#kube/pod/v1-pod-status.js';
import { cutMessages } from './cut-messages.js';

const LONG = 'é'.repeat(1_000_000);
const ENDED = { exitCode: 1, reason: 'Error', startedAt: null, finishedAt: null };

function aContainer(state: V1ContainerState, lastState: V1ContainerState = {}): V1ContainerStatus {
  return {
    ...{ name: 'main', image: 'i', imageID: '', ready: false, started: false, restartCount: 0 },
    ...{ state, lastState },
  };
}

function aStatus(fields: Partial<V1PodStatus> = {}): V1PodStatus {
  return { phase: 'Pending', conditions: [], containerStatuses: [], qosClass: 'BestEffort', ...fields };
}

describe('the messages of a status', () => {
  it('are as they were where nobody said more than anybody reads', () => {
    const waiting = aContainer({ waiting: { reason: 'ErrImagePull', message: 'x'.repeat(32 * 1024) } });
    const status = aStatus({
      message: 'because',
      initContainerStatuses: [aContainer({})],
      containerStatuses: [waiting, aContainer({ terminated: { ...ENDED, message: 'bye' } })],
    });
    expect(cutMessages(status)).toBe(status);
  });

  it('are cut wherever they stand, and nothing else is', () => {
    const times = { lastProbeTime: null, lastTransitionTime: '' };
    const condition = { ...times, type: 'Ready', status: 'False' } as const;
    const statusOf = (message: string): V1PodStatus =>
      aStatus({
        message,
        conditions: [{ ...condition, message }, condition],
        initContainerStatuses: [aContainer({ terminated: { ...ENDED, message } })],
        containerStatuses: [
          aContainer({ waiting: { reason: 'ErrImagePull', message } }, { terminated: { ...ENDED, message } }),
          aContainer({ running: { startedAt: '' } }),
        ],
        ephemeralContainerStatuses: [aContainer({ waiting: { reason: 'CreateContainerError', message } })],
      });
    const cut = cutMessages(statusOf(LONG));
    const message = cut.message!;
    expect(message).toMatch(/^é+… \(cut, 2000000 bytes in all\)$/);
    expect(Buffer.byteLength(message)).toBeLessThanOrEqual(32 * 1024);
    expect(cut).toEqual(statusOf(message));
  });

  it('are cut in a single place as well', () => {
    const waiting = { waiting: { reason: 'ErrImagePull', message: LONG } };
    const other = aContainer({});
    const cut = cutMessages(aStatus({ containerStatuses: [other, aContainer(waiting)] }));
    expect(cut.containerStatuses[0]).toBe(other);
    expect(cut.containerStatuses[1]!.state.waiting).toMatchObject({
      reason: 'ErrImagePull',
      message: expect.stringMatching(/ in all\)$/) as string,
    });
    expect(cut).not.toHaveProperty('initContainerStatuses');
  });
});
