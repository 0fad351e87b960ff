import { type WorkloadControllers } from '../../workloads/index.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { isClusterPod } from '#kube/pod/static-pod.js';
import { type LocalClaim, type LocalClaims } from '../../volumes/claims/local-claims.js';
import { FILE_SOURCE } from '../../desired/sources/file-source.js';
import { measureFolder } from '../../volumes/measure-folder.js';
import { type StoppedPods } from '../../desired/stopped-pods.js';
import { type NodeVolumes, STOPPED } from '../workloads/claim-volumes.js';

/** What {@link nodeVolumes} needs. */
export interface NodeVolumesOptions {
  readonly claims: Pick<LocalClaims, 'list' | 'pathOf' | 'remove' | 'whyNotEnforced'>;
  readonly workloads: Pick<WorkloadControllers, 'claims'>;
  readonly pods: () => Iterable<NodePod>;
  /** Pods that somebody has stopped, to start them later. */
  readonly stopped: Pick<StoppedPods, 'list'>;
}

/** The volumes of claims as the API shows them. */
export function nodeVolumes({ claims, workloads, pods, stopped }: NodeVolumesOptions): NodeVolumes {
  const usersOf = ({ namespace, name }: Pick<LocalClaim, 'namespace' | 'name'>): string[] => {
    const wanted = [...pods()]
      .filter((pod) => pod.metadata.namespace === namespace && !isClusterPod(pod))
      .filter(({ spec }) =>
        (spec.volumes ?? []).some(({ persistentVolumeClaim: claim }) => claim?.claimName === name),
      )
      .map(({ metadata }) => metadata.name);
    const waiting = stopped
      .list()
      .filter((stop) => stop.isOver && stop.namespace === namespace && stop.claims?.includes(name) === true)
      .map((stop) => `${stop.name}${STOPPED}`);
    return [...wanted, ...waiting];
  };
  return {
    list: () =>
      claims.list().map((claim) => {
        const whyNotEnforced = claims.whyNotEnforced(claim);
        return {
          ...{ ...claim, path: claims.pathOf(claim), usedBy: usersOf(claim) },
          ...(whyNotEnforced === undefined ? {} : { whyNotEnforced }),
        };
      }),
    measure: async (path, signal) => measureFolder(path, signal),
    remove: async ({ namespace, name, isForGood = false }) => {
      if (usersOf({ namespace, name }).length > 0) return 'in use';
      return claims.remove({ namespace, name }, isForGood);
    },
    comesBackBy: ({ namespace, name }) => {
      const declared = workloads.claims().find((each) => each.namespace === namespace && each.name === name);
      if (declared === undefined) return undefined;
      const { owner, source } = declared;
      const where = source === FILE_SOURCE ? 'a manifest of the folder' : `a manifest from ${source}`;
      return `an empty volume is made for the next pod that uses it, as ${owner === undefined ? where : `the ${owner}`} has this claim`;
    },
  };
}
