import {
  type ControlledKind,
  type ControlledWorkload,
  type WorkloadControllers,
} from '../../workloads/index.js';
import { ApiError } from '../http/api-error.js';
import { abortable } from '#base/async/abortable.js';
import { messageOf } from '#base/errors/errors.js';
import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { type PersistentVolumeClaim } from '#kube/workloads/workload.js';
import { type LocalClaims, volumeNameOf } from '../../volumes/claims/local-claims.js';
import { type ChangeWorkload, RESTARTED_AT, type WorkloadChange } from '../workloads/change-workload.js';
import { type ServedWorkload } from '../workloads/workload-routes.js';

/** What {@link servedWorkloads} needs. */
export interface ServedWorkloadsOptions {
  readonly workloads: Pick<WorkloadControllers, 'objects'>;
  readonly claims: Pick<LocalClaims, 'list'>;
  readonly services: { objects(): readonly ServedWorkload[] };
}

/** Workloads, claims with a volume on this node, and Services with their endpoints. */
export function servedWorkloads({ workloads, claims, services }: ServedWorkloadsOptions): ServedWorkload[] {
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
  return [...workloads.objects(), ...bound, ...services.objects()];
}

/** Changes workloads beside their manifests. */
export function workloadChanger(workloads: Pick<WorkloadControllers, 'change'>): ChangeWorkload {
  return async ({ kind, namespace, name }, change, signal) =>
    abortable(
      workloads
        .change(kind as ControlledKind, { namespace, name }, (object) => changed(object, change))
        .catch((error: unknown) => {
          throw new ApiError('InternalError', messageOf(error), undefined, { cause: error });
        }),
      signal,
    );
}

/** The same kind of object: only fields that it has are changed. */
function changed(object: ControlledWorkload, { replicas, restartedAt }: WorkloadChange): ControlledWorkload {
  if (object.kind === 'Job' || object.kind === 'CronJob') return object;
  const { spec } = object;
  const { template } = spec;
  const restarted = {
    ...template.metadata?.annotations,
    ...(restartedAt && { [RESTARTED_AT]: restartedAt }),
  };
  const again =
    restartedAt === undefined
      ? {}
      : { template: { ...template, metadata: { ...template.metadata, annotations: restarted } } };
  return {
    ...object,
    spec: { ...spec, ...again, ...(replicas === undefined ? {} : { replicas }) },
  } as ControlledWorkload;
}
