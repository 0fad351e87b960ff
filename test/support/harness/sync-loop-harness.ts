import { PodCache, type PodLifecycleEvent } from '#watch';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodUpdate } from '#kube/pod/pod-update.js';
import { type ProbeResult } from '../../../src/node/probes/probe-result.js';
import { DesiredPods } from '../../../src/node/pods/loop/desired-pods.js';
import { toObservedPod } from '../../../src/node/pods/loop/housekeeping-owner.js';
import { SyncLoop } from '../../../src/node/pods/loop/sync-loop.js';
import { type SyncHandlers } from '../../../src/node/pods/loop/pod-handlers.js';
import { type SyncLoopOptions } from '../../../src/node/pods/loop/sync-loop-ports.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '../fakes/log-recorder.js';
import { PushedItems } from '../clients/pushed-items.js';

/** A running sync loop between sources that the test pushes into and handlers that record their calls. */
export interface SyncLoopHarness extends AsyncDisposable {
  readonly clock: FakeClock;
  readonly cache: PodCache;
  readonly desired: DesiredPods;
  readonly logger: LogRecorder;
  readonly loop: SyncLoop;
  readonly updates: PushedItems<PodUpdate>;
  readonly events: PushedItems<PodLifecycleEvent>;
  readonly probeResults: PushedItems<ProbeResult>;
  /** Everything that was called, in words: `handlePodSyncs uid-web`, `retry uid-web`. */
  readonly calls: string[];
  /** Errors of the runtime: no pod is synced while there are any. */
  readonly errors: string[];
  /** Uids that are due at the next tick. */
  readonly due: string[];
  readonly isSeen: { all: boolean };
  /** Whether the errors say no more than that the first answers are on their way. */
  readonly isPending: { now: boolean };
  readonly stop: () => Promise<void>;
  /** Wants a pod without going through the loop. */
  readonly want: (...pods: NodePod[]) => void;
}

/** Runs a loop for as long as the harness lives. */
export function syncLoopHarness(options: Partial<SyncLoopOptions> = {}): SyncLoopHarness {
  const clock = new FakeClock();
  const cache = new PodCache();
  const desired = new DesiredPods();
  const logger = new LogRecorder();
  const updates = new PushedItems<PodUpdate>();
  const events = new PushedItems<PodLifecycleEvent>();
  const probeResults = new PushedItems<ProbeResult>();
  const calls: string[] = [];
  const errors: string[] = [];
  const due: string[] = [];
  const isSeen = { all: true };
  const isPending = { now: false };
  const noteAll =
    (name: keyof SyncHandlers) =>
    (pods: readonly NodePod[]): void =>
      void calls.push(`${name} ${pods.map(({ metadata }) => metadata.uid).join()}`);
  const loop = new SyncLoop({
    ...{ clock, cache, desired, logger, events, probeResults },
    updates: () => updates,
    findObserved: (uid) => toObservedPod(cache.get(uid).status),
    handlers: {
      handlePodAdditions: noteAll('handlePodAdditions'),
      handlePodUpdates: noteAll('handlePodUpdates'),
      handlePodRemoves: noteAll('handlePodRemoves'),
      handlePodReconcile: noteAll('handlePodReconcile'),
      handlePodSyncs: noteAll('handlePodSyncs'),
      handlePodCleanups: () => calls.push('handlePodCleanups'),
    },
    workers: {
      takeDue: () => due.splice(0),
      nextDueInMs: undefined,
      retry: (uid) => calls.push(`retry ${uid}`),
      isKnown: () => false,
      shouldPodContentBeRemoved: () => false,
    },
    runtimeState: { errors: () => errors, isPending: () => isPending.now },
    seenAllSources: () => isSeen.all,
    readiness: {
      setContainerReadiness: (uid, id, ready) => calls.push(`readiness ${uid} ${id} ${ready}`),
      setContainerStartup: (uid, id, started) => calls.push(`startup ${uid} ${id} ${started}`),
    },
    deadContainers: {
      deleteContainersBeyondNewest: ({ exitedContainerId, removeAll }) =>
        calls.push(`dead ${exitedContainerId}${removeAll ? ' all' : ''}`),
    },
    // Tests of other things are not to see housekeeping come and go.
    housekeepingPeriodMs: 1_000_000,
    ...options,
  });
  const stopping = new AbortController();
  const running = loop.run(stopping.signal);
  running.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return {
    ...{
      clock,
      cache,
      desired,
      logger,
      loop,
      updates,
      events,
      probeResults,
      calls,
      errors,
      due,
      isSeen,
      isPending,
    },
    stop,
    want: (...pods) => pods.forEach((pod) => desired.set(pod)),
    [Symbol.asyncDispose]: stop,
  };
}
