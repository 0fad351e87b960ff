import { type WorkloadControllers } from '#workloads';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { type PersistentVolumeClaim } from '#kube/workloads/workload.js';
import { type LocalClaims, volumeNameOf } from '../../volumes/claims/local-claims.js';
import { type ServedWorkload } from '../workloads/workload-routes.js';

/** What {@link servedWorkloads} needs. */
export interface ServedWorkloadsOptions {
  readonly workloads: Pick<WorkloadControllers, 'objects'>;
  readonly claims: Pick<LocalClaims, 'list'>;
}

/** Workloads, and claims with a volume on this node. */
export function servedWorkloads({ workloads, claims }: ServedWorkloadsOptions): ServedWorkload[] {
  const bound = claims.list().map(({ namespace, name, uid, createdAtMs, accessModes, request }) => {
    const amount: Readonly<Record<string, string>> = request === undefined ? {} : { storage: request };
    const spec: PersistentVolumeClaim['spec'] & { readonly volumeName: string } = {
      ...{ accessModes, resources: { requests: amount }, volumeMode: 'Filesystem' },
      volumeName: volumeNameOf(uid),
    };
    return {
      ...{ apiVersion: 'v1', kind: 'PersistentVolumeClaim' },
      metadata: { namespace, name, uid, creationTimestamp: toV1Time(createdAtMs) },
      spec,
      status: { phase: 'Bound', accessModes, capacity: amount },
    };
  });
  return [...workloads.objects(), ...bound];
}
