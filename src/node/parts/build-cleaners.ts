import type { ClusterObjects } from '#cluster';
import { type StoppedPods } from '../desired/stopped-pods.js';
import { manifestUidOf } from '#kube/pod/node-pod.js';
import { type ProbeManager } from '../probes/probe-manager.js';
import { type EndedPods } from '../status/ended-pods.js';
import { type StatusManager } from '../status/status-manager.js';
import { type CleanupView, type PodCleaner } from '../pods/loop/housekeeping.js';
import { type PodWorkers } from '../pods/workers/pod-workers.js';

/** What {@link buildCleaners} needs. */
export interface CleanersOptions {
  readonly probes: Pick<ProbeManager, 'cleanUp'>;
  readonly stopped: Pick<StoppedPods, 'list' | 'setOver'>;
  readonly workers: Pick<PodWorkers, 'isFinished'>;
  readonly manager: Pick<StatusManager, 'removeOrphanedStatuses'>;
  readonly endedPods: Pick<EndedPods, 'uids'>;
  /** The objects that pods of an API server refer to; undefined for an agent without a cluster. */
  readonly cluster: Pick<ClusterObjects, 'keepOnly'> | undefined;
  /** The stored end of the pod is not needed any more. */
  readonly forgetEnd: (uid: string) => void;
}

/** The cleaners of per-pod state in memory, in the order in which they run. */
export function buildCleaners(options: CleanersOptions): PodCleaner[] {
  const { probes, stopped, workers, manager, endedPods, cluster, forgetEnd } = options;
  return [
    { name: 'probes', cleanUp: (view) => probes.cleanUp(knownUids(view)) },
    {
      // A pod that had ended before it was stopped does not end a second time.
      name: 'stopped pods',
      cleanUp: async () => {
        for (const stop of stopped.list()) {
          if (workers.isFinished(stop.uid)) await stopped.setOver(manifestUidOf(stop));
        }
      },
    },
    {
      name: 'statuses',
      cleanUp: (view) => {
        const known = knownUids(view);
        manager.removeOrphanedStatuses(known);
        for (const uid of endedPods.uids()) if (!known.has(uid)) forgetEnd(uid);
      },
    },
    { name: 'objects of an API server', cleanUp: (view) => cluster?.keepOnly(knownUids(view)) },
  ];
}

/** The uids of pods that are wanted, or of which something may run. */
function knownUids({ desiredUids, possiblyRunningUids }: CleanupView): Set<string> {
  return new Set([...desiredUids, ...possiblyRunningUids]);
}
