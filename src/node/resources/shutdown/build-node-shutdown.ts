import { join } from 'node:path';
import { RecordFile } from '#base/fs/record-file.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { ENDED_BY_SHUTDOWN } from '#kube/node/shutdown-words.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type ClusterHooks } from '../../cluster/cluster-hooks.js';
import { type AgentOptions } from '../../options/agent-options.js';
import { type ShutdownOptions } from '../../options/shutdown-options.js';
import { type DesiredPods } from '../../pods/loop/desired-pods.js';
import { type PodWorkers } from '../../pods/workers/pod-workers.js';
import { untilFinished } from '../eviction/pods/finished-pods.js';
import { Logind, type LogindPort } from './logind.js';
import { NodeShutdown, type ShutdownTimes } from './node-shutdown.js';
import { toShutdownPeriods } from './shutdown-periods.js';

/** What {@link buildNodeShutdown} needs. */
export interface NodeShutdownParts {
  readonly options: Pick<AgentOptions, 'rootDir' | keyof ShutdownOptions>;
  /** Default: the machine's, by its programs. */
  readonly logind: LogindPort | undefined;
  readonly workers: Pick<PodWorkers, 'isKnown' | 'isKnownTerminated' | 'isFinished' | 'updatePod'>;
  readonly desired: Pick<DesiredPods, 'all' | 'find'>;
  readonly link: Pick<ClusterHooks, 'shutdownChanged' | 'recordEvent'> | undefined;
  /** The shutdown is cancelled: pods that were refused may come now. */
  readonly onAfterAll: () => void;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Connects the end of pods before a shutdown of the machine to their workers. */
export function buildNodeShutdown(parts: NodeShutdownParts): NodeShutdown {
  const { options, logind = new Logind(), workers, desired, link, onAfterAll, clock, logger } = parts;
  return new NodeShutdown({
    ...{ periods: toShutdownPeriods(options), logind, clock, logger },
    pods: () =>
      [...desired.all()].filter(
        ({ metadata: { uid } }) => workers.isKnown(uid) && !workers.isKnownTerminated(uid),
      ),
    end: (pod, gracePeriodSeconds) =>
      workers.updatePod({
        ...{ type: 'kill', pod },
        kill: { gracePeriodSeconds, statusOverride: ENDED_BY_SHUTDOWN },
      }),
    whenGone: async ({ metadata: { uid } }, signal) => untilFinished(uid, { workers, clock }, signal),
    onChange: (isShuttingDown, ended) => {
      link?.shutdownChanged(isShuttingDown);
      if (isShuttingDown) return;
      onAfterAll();
      for (const { metadata } of ended) {
        const pod = desired.find(metadata.uid);
        // A pod of an API server runs only once.
        if (pod !== undefined && !isClusterPod(pod)) workers.updatePod({ type: 'create', pod });
      }
    },
    onEvent: (event) => {
      if (link === undefined) logger.info('Event of the node', { ...event });
      else link.recordEvent(event);
    },
    record: new RecordFile<ShutdownTimes>({
      path: join(options.rootDir, 'graceful-node-shutdown.json'),
      format: (times) => ({ ...times }),
      parse: ({ startedAtMs, endedAtMs }) => {
        if ([startedAtMs, endedAtMs].some((each) => each !== undefined && typeof each !== 'number'))
          throw new Error('its times are no numbers');
        return { startedAtMs, endedAtMs } as ShutdownTimes;
      },
    }),
  });
}
