import { PodCache } from '#watch';
import { type SyncPodResult } from '../../../src/node/pods/workers/pod-syncer.js';
import { PodWorkers, type PodWorkersOptions } from '../../../src/node/pods/workers/pod-workers.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakePodSyncer } from '../fakes/fake-pod-syncer.js';
import { LogRecorder } from '../fakes/log-recorder.js';

/** Pod workers with everything round them driven by the test. */
export interface WorkersHarness {
  readonly clock: FakeClock;
  readonly cache: PodCache;
  readonly syncer: FakePodSyncer;
  readonly logger: LogRecorder;
  readonly workers: PodWorkers;
  /** Uids of pods that were to be read, in order. */
  readonly relists: string[];
  readonly finished: string[];
  /** Uids of finished pods that are wanted again. */
  readonly restartable: string[];
  /** Makes every view of the cache new, and lets the workers do what follows from it. */
  readonly look: () => Promise<void>;
  /** Ends the work under way well, and lets the workers do what follows from it. */
  readonly succeed: (result?: Partial<SyncPodResult>) => Promise<void>;
}

/** Makes workers that work on nothing until the first look. Jitter adds nothing. */
export function workersHarness(options: Partial<PodWorkersOptions> = {}): WorkersHarness {
  const clock = new FakeClock();
  const cache = new PodCache();
  const syncer = new FakePodSyncer();
  const logger = new LogRecorder();
  const relists: string[] = [];
  const finished: string[] = [];
  const restartable: string[] = [];
  const workers = new PodWorkers({
    ...{ clock, cache, syncer, logger, random: () => 0 },
    requestRelist: (uid) => relists.push(uid),
    onFinished: (uid) => finished.push(uid),
    onRestartable: (uid) => restartable.push(uid),
    ...options,
  });
  return {
    ...{ clock, cache, syncer, logger, workers, relists, finished, restartable },
    look: async () => {
      await clock.settle();
      cache.advance(clock.stamp());
      await clock.settle();
    },
    succeed: async (result) => {
      for (const sync of syncer.underWay) sync.succeed(result);
      await clock.settle();
    },
  };
}
