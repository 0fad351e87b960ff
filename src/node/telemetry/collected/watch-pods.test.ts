import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ContainerEnd } from '../metrics/container-end-metrics.js';
import { MetricsRegistry } from '../registry/metrics-registry.js';
import { type PodStart } from '../metrics/pod-start-metrics.js';
import {
  type PodPhase,
  toV1Time,
  type V1ContainerState,
  type V1ContainerStatus,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';
import { podStatusChanged } from '../../status/status-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { imagePullEnded } from '#base/channels/image-channels.js';
import { podAdded } from '#base/channels/start-channels.js';
import { watchContainerEnds } from './watch-container-ends.js';
import { watchPodStarts } from './watch-pod-starts.js';
import { Channels } from '#base/channels/publishing-channel.js';

const channels = new Channels();

const clock = new FakeClock();
let logger: LogRecorder;
let told: (number | PodStart | ContainerEnd)[];
let registry: MetricsRegistry;
let listen: MetricsRegistry['listen'];

beforeEach(() => {
  told = [];
  logger = new LogRecorder();
  registry = new MetricsRegistry({ channels, clock });
  listen = (channel, listener) => registry.listen(channel, listener);
});

afterEach(() => {
  registry[Symbol.dispose]();
});

function containerOf(state: V1ContainerState, lastState: V1ContainerState = {}): V1ContainerStatus {
  return {
    ...{ name: 'main', state, lastState, ready: false, started: false },
    ...{ restartCount: 0, image: 'i', imageID: '' },
  };
}

function show(
  uid: string,
  phase: PodPhase,
  states: readonly V1ContainerStatus[],
  more: Partial<V1PodStatus> = {},
): void {
  const status: V1PodStatus = {
    phase,
    conditions: [],
    containerStatuses: states,
    qosClass: 'Burstable',
    ...more,
  };
  const pod = { uid, namespace: 'default', name: uid };
  channels.publish(podStatusChanged, {
    type: 'status',
    record: { pod, status, version: 1, isFinished: false },
  });
}

const waiting = containerOf({ waiting: { reason: 'ContainerCreating' } });
const running = containerOf({ running: { startedAt: '2026-01-02T03:04:05Z' } });
const ended = (id: string, exitCode: number): V1ContainerState => ({
  terminated: { exitCode, reason: 'Error', startedAt: null, finishedAt: null, containerID: `x://${id}` },
});

describe('the starts of pods', () => {
  const ending = new Set<string>();
  const add = (uid: string, hasNetwork = true): void =>
    channels.publish(podAdded, { uid, containers: 2, hasNetwork });

  beforeEach(() => {
    watchPodStarts({
      ...{ listen, clock, logger },
      isOurs: (uid) => uid !== 'foreign',
      isEnding: (uid) => ending.has(uid),
      observer: { running: (ms) => told.push(ms), started: (start) => told.push(start) },
    });
  });

  it('are timed from when the pod was wanted, without pulls and init containers, each moment counted once', async () => {
    add('a');
    show('a', 'Pending', [waiting, waiting]);
    const atMs = clock.now();
    // From 1 to 5 s and from 3 to 8 s.
    channels.publish(imagePullEnded, {
      podUid: 'a',
      startedAtMs: atMs + 1_000,
      durationMs: 4_000,
      sizeBytes: 1n,
    });
    channels.publish(imagePullEnded, {
      podUid: 'a',
      startedAtMs: atMs + 3_000,
      durationMs: 5_000,
      sizeBytes: undefined,
    });
    await clock.advance(20_000);
    show('a', 'Running', [running, waiting]);
    await clock.advance(10_000);
    const [startedAt, finishedAt] = [toV1Time(atMs + 10_000), toV1Time(atMs + 15_000)];
    const init = containerOf({ terminated: { exitCode: 0, reason: 'Completed', startedAt, finishedAt } });
    const odd = containerOf({ terminated: { exitCode: 0, reason: '', startedAt: 'x', finishedAt: '' } });
    show('a', 'Running', [running, running], { initContainerStatuses: [init, odd] });
    show('a', 'Running', [running, running]);
    expect(told).toEqual([20_000, { totalMs: 30_000, ownMs: 18_000, hasNetwork: true }]);
    expect(logger.lines).toEqual([
      {
        level: 'info',
        message: 'Observed pod startup duration',
        fields: {
          ...{ pod: { uid: 'a', namespace: 'default', name: 'a' }, podUID: 'a' },
          ...{ podStartSLOduration: 18, podStartE2EDuration: '30s' },
          firstStartedPulling: toV1Time(atMs + 1_000),
          lastFinishedPulling: toV1Time(atMs + 8_000),
          observedRunningTime: toV1Time(atMs + 30_000),
        },
      },
    ]);
  });

  it.each([
    ['runs as it ends', 'Running', running],
    ['is killed as it ends', 'Running', containerOf(ended('a', 137))],
    ['runs, and the pod is still pending', 'Pending', running],
    [
      'has ended and is waiting again',
      'Running',
      containerOf({ waiting: { reason: 'CrashLoopBackOff' } }, ended('a', 137)),
    ],
  ] as const)('are none of a pod that never ran and whose container %s', (_, phase, state) => {
    add('hung');
    show('hung', 'Pending', [waiting, waiting]);
    ending.add('hung');
    show('hung', phase, [state, state]);
    show('hung', 'Failed', [containerOf(ended('a', 137))]);
    ending.clear();
    expect(told).toEqual([]);
    expect(logger.lines).toEqual([]);
  });

  it('are none of pods that ran before, that fail, that go, or that are somebody else’s', () => {
    for (const uid of ['before', 'failed', 'gone', 'foreign']) add(uid);
    show('before', 'Running', [running]);
    show('before', 'Running', [running]);
    show('failed', 'Pending', [waiting]);
    show('failed', 'Failed', [waiting]);
    show('failed', 'Running', [running]);
    show('gone', 'Pending', [waiting]);
    channels.publish(podStatusChanged, {
      type: 'removed',
      pod: { uid: 'gone', namespace: 'default', name: 'gone' },
    });
    show('gone', 'Running', [running]);
    show('foreign', 'Pending', [waiting]);
    show('foreign', 'Running', [running]);
    expect(told).toEqual([]);
  });

  it('count a pod that waited for all its containers to end at once, too', async () => {
    add('a', false);
    show('a', 'Pending', [waiting]);
    await clock.advance(1_000);
    show('a', 'Succeeded', [containerOf(ended('1', 0))]);
    expect(told).toEqual([1_000, { totalMs: 1_000, ownMs: 1_000, hasNetwork: false }]);
  });
});

describe('the ends of containers', () => {
  beforeEach(() => {
    watchContainerEnds({ listen, isOurs: (uid) => uid !== 'foreign', onEnd: (end) => told.push(end) });
  });

  it('are reported once each, whether they show as the state or as the last one', () => {
    show('a', 'Running', [running]);
    show('a', 'Running', [containerOf(ended('1', 1))]);
    show('a', 'Running', [containerOf({ waiting: { reason: 'CrashLoopBackOff' } }, ended('1', 1))]);
    show('a', 'Running', [containerOf({ running: { startedAt: '' } }, ended('1', 1))]);
    show('a', 'Running', [containerOf({ waiting: { reason: 'CrashLoopBackOff' } }, ended('2', 137))]);
    show('a', 'Running', [running], { initContainerStatuses: [containerOf(ended('3', 0))] });
    expect(told).toEqual([
      { containerType: 'container', exitCode: 1, reason: 'Error' },
      { containerType: 'container', exitCode: 137, reason: 'Error' },
      { containerType: 'init_container', exitCode: 0, reason: 'Error' },
    ]);
  });

  it('are not reported for containers that had ended before, or for pods of others', () => {
    show('a', 'Running', [containerOf({ running: { startedAt: '' } }, ended('1', 1))]);
    show('foreign', 'Running', [running]);
    show('foreign', 'Failed', [containerOf(ended('2', 1))]);
    expect(told).toEqual([]);
  });
});
