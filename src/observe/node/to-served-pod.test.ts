import { describe, expect, it } from 'vitest';
import { summarizePod } from '#kube/columns/summarize-pod.js';
import { aContainer, aPod, aSandbox, BUILT_AT_NS } from '#testing/builders.js';
import { type ContainerStatus, emptyPodStatus, type ObservedPod, type PodStatus } from '#watch';
import { toServedPod } from './to-served-pod.js';

const SECOND = 1_000_000_000n;
const at = (seconds: number): bigint => BUILT_AT_NS + BigInt(seconds) * SECOND;

interface Scene {
  readonly name: string;
  readonly attempt?: number;
  readonly made: number;
  readonly ended?: number;
  readonly code?: number;
  readonly reason?: string;
  readonly state?: ContainerStatus['state'];
}

function served(scenes: readonly Scene[], isUp = true, more: Partial<PodStatus> = {}) {
  const containers = scenes.map(({ name, attempt = 0, made, ended, code = 0, reason = '', state }) => {
    const listed = aContainer({
      ...{ id: `${name}-${attempt}`, name, attempt, createdAtNs: at(made) },
      state: state ?? (ended === undefined ? 'running' : 'exited'),
    });
    const status = {
      ...{
        ...listed,
        startedAtNs: at(made),
        finishedAtNs: ended === undefined ? 0n : at(ended),
        exitCode: code,
      },
      ...{ reason, message: '', image: `image/${name}`, imageRef: `sha256:${name}`, imageId: '' },
      ...{ restartCount: attempt, labels: {}, annotations: {}, logPath: `/logs/${name}` },
    } satisfies ContainerStatus;
    return { listed, status };
  });
  const observed: ObservedPod = {
    ...aPod({ name: 'web' }),
    sandboxes: [aSandbox({ state: isUp ? 'running' : 'exited' })],
    containers: containers.map(({ listed }) => listed),
  };
  const status: PodStatus = {
    ...{
      ...emptyPodStatus(observed.uid),
      ips: ['10.0.0.7'],
      containers: containers.map((each) => each.status),
    },
    ...more,
  };
  return toServedPod(status, observed, { nodeName: 'node', runtimeName: 'containerd' });
}

/** What `kubectl get pods` shows. */
function row(scenes: readonly Scene[], isUp = true): string {
  const { pod, status } = served(scenes, isUp);
  const {
    ready,
    total,
    status: word,
    restarts,
  } = summarizePod({ spec: pod.spec, status, isTerminating: false });
  return `${ready}/${total} ${word} ${restarts}`;
}

describe('a pod of a runtime, as kubectl shows it', () => {
  it.each<[string, readonly Scene[], boolean]>([
    ['1/1 Running 0', [{ name: 'a', made: 1 }], true],
    [
      '2/2 Running 0',
      [
        { name: 'a', made: 1 },
        { name: 'b', made: 2 },
      ],
      true,
    ],
    ['0/1 ContainerCreating 0', [{ name: 'a', made: 1, state: 'created' }], true],
    ['0/1 Error 2', [{ name: 'a', attempt: 2, made: 1, ended: 2, code: 1 }], true],
    ['0/1 OOMKilled 0', [{ name: 'a', made: 1, ended: 2, code: 137, reason: 'OOMKilled' }], true],
    ['0/1 Completed 0', [{ name: 'a', made: 1, ended: 2 }], false],
    ['0/1 Error 0', [{ name: 'a', made: 1, ended: 2, code: 2 }], false],
    ['0/1 ContainerStatusUnknown 0', [{ name: 'a', made: 1, state: 'unknown' }], true],
  ])('is %s', (expected, scenes, isUp) => {
    expect(row(scenes, isUp)).toBe(expected);
  });

  it('has the newest attempt of a container, and the one before as its last state', () => {
    const { status } = served([
      { name: 'a', attempt: 0, made: 1, ended: 2, code: 3 },
      { name: 'a', attempt: 1, made: 5 },
    ]);
    expect(status.containerStatuses).toHaveLength(1);
    expect(status.containerStatuses[0]).toMatchObject({
      containerID: 'containerd://a-1',
      restartCount: 1,
      state: { running: { startedAt: '2026-01-02T03:04:05Z' } },
      lastState: { terminated: { exitCode: 3, containerID: 'containerd://a-0' } },
    });
  });

  it('has a container that succeeded before the others were made as an init container', () => {
    const scenes = [
      { name: 'setup', made: 1, ended: 2 },
      { name: 'main', made: 3 },
    ];
    const { pod, status } = served(scenes);
    expect(pod.spec.initContainers?.map(({ name }) => name)).toEqual(['setup']);
    expect(status.initContainerStatuses?.map(({ name }) => name)).toEqual(['setup']);
    expect(row(scenes)).toBe('1/1 Running 0');
    // One of two jobs beside one another is no init container.
    expect(
      row([
        { name: 'one', made: 1, ended: 9 },
        { name: 'two', made: 2 },
      ]),
    ).toBe('1/2 NotReady 0');
  });

  it('shows a container whose status the runtime does not return as the list shows it', () => {
    const { status } = served([{ name: 'a', made: 1 }], true, { containers: [] });
    expect(status.containerStatuses[0]).toMatchObject({
      name: 'a',
      state: { running: { startedAt: '2026-01-02T03:04:01Z' } },
    });
    expect(status.phase).toBe('Running');
  });

  it('leaves out annotations, and the labels that kubelets put on sandboxes', () => {
    const sandbox = {
      ...{ ...aSandbox(), ips: [], runtimeHandler: '', hostNetwork: true },
      labels: { app: 'web', 'io.kubernetes.pod.name': 'web' },
      annotations: { token: 'hunter2' },
    };
    const { pod } = served([{ name: 'a', made: 1 }], true, { sandboxes: [sandbox] });
    expect(pod.metadata.labels).toEqual({ app: 'web' });
    expect(pod.spec.hostNetwork).toBe(true);
    expect(JSON.stringify(pod)).not.toContain('hunter2');
  });
});
