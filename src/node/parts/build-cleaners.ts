import type { ClusterObjects } from '#cluster';
import { type StoppedPods } from '../desired/stopped-pods.js';
import { manifestUidOf } from '#kube/pod/node-pod.js';
import { type ProbeManager } from '../probes/probe-manager.js';
import { type EndedPods } from '../status/ended-pods.js';
import { type StatusManager } from '../status/status-manager.js';
import { type CleanupView, type PodCleaner } from '../pods/loop/housekeeping.js';
import { type PodWorkers } from '../pods/workers/pod-workers.js';

/** What {@link buildCleaners} works with. */
export interface CleanersOptions {
  readonly probes: Pick<ProbeManager, 'cleanUp'>;
  readonly stopped: Pick<StoppedPods, 'list' | 'setOver'>;
  readonly workers: Pick<PodWorkers, 'isFinished'>;
  readonly manager: Pick<StatusManager, 'removeOrphanedStatuses'>;
  readonly endedPods: Pick<EndedPods, 'uids'>;
  /** What pods of an API server refer to; undefined for an agent that has joined none. */
  readonly cluster: Pick<ClusterObjects, 'keepOnly'> | undefined;
  /** The pod's end is of no use any more. */
  readonly forgetEnd: (uid: string) => void;
}

/** What parts of the agent keep of pods in memory, and forget with them, in the order in which they are asked. */
export function buildCleaners(options: CleanersOptions): PodCleaner[] {
  const { probes, stopped, workers, manager, endedPods, cluster, forgetEnd } = options;
  return [
    { name: 'probes', cleanUp: (view) => probes.cleanUp(knownUids(view)) },
    {
      // What had ended before it was stopped ends no second time.
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

/** Of pods that are wanted, or of which something may run. */
function knownUids({ desiredUids, possiblyRunningUids }: CleanupView): Set<string> {
  return new Set([...desiredUids, ...possiblyRunningUids]);
}
