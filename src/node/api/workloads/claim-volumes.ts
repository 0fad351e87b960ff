import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { type RemoveObject, warningHeader } from '../objects/delete-object.js';

/** The volume of a claim, with what is known of it. */
export interface ServedVolume {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  readonly accessModes: readonly string[];
  /** The size that was asked for; undefined for one that no manifest declares. */
  readonly request?: string;
  /** Why that size is not enforced, in words; undefined where it is. */
  readonly whyNotEnforced?: string;
  /** Its folder on this node. */
  readonly path: string;
  /** Names of the pods that have it, or are to get it; of pods that somebody has stopped with {@link STOPPED}. */
  readonly usedBy: readonly string[];
}

/** Behind the name of a pod that has a volume and was stopped. */
export const STOPPED = ' (stopped)';

/** The volumes of claims on this node. */
export interface NodeVolumes {
  list(): readonly ServedVolume[];
  /** Bytes on the disk. Rejects if that cannot be measured. */
  measure(path: string, signal: AbortSignal): Promise<bigint>;
  /** `isForGood`: what manifests have said of the claim no longer counts. */
  remove(claim: VolumeName & { readonly isForGood?: boolean }): Promise<'removed' | 'in use' | 'not found'>;
  /** Why an empty one is made again, in words; undefined when none is. */
  comesBackBy(claim: VolumeName): string | undefined;
}

/** Identifies a volume by its claim. */
export interface VolumeName {
  readonly namespace: string;
  readonly name: string;
}

/** GET /volumes: all of them, with their sizes. */
export function listVolumes(volumes: NodeVolumes): ApiHandler {
  return async ({ signal }) => {
    const items = await Promise.all(
      volumes.list().map(async ({ namespace, name, uid, createdAtMs, ...rest }) => {
        const { accessModes, request, whyNotEnforced, path, usedBy } = rest;
        const bytes = await volumes.measure(path, signal).then(Number, () => undefined);
        const size = request === undefined ? {} : { isEnforced: whyNotEnforced === undefined };
        return {
          metadata: { namespace, name, uid, creationTimestamp: toV1Time(createdAtMs) },
          spec: { accessModes, ...(request === undefined ? {} : { request }) },
          status: {
            ...{ path, usedBy, ...size },
            ...(whyNotEnforced === undefined ? {} : { whyNotEnforced }),
            ...(bytes === undefined ? {} : { bytes }),
          },
        };
      }),
    );
    return jsonAnswer({ kind: 'VolumeList', items });
  };
}

/** DELETE /volumes/{namespace}/{name}: removes it with all that is in it. */
export function removeVolume(volumes: NodeVolumes): ApiHandler {
  return async ({ params }) => {
    const { namespace = '', name = '' } = params;
    const result = await volumes.remove({ namespace, name });
    if (result === 'not found') throw notFoundError('volumes', name);
    if (result === 'in use') {
      const message = `the volume ${namespace}/${name} is ${inUse(volumes, { namespace, name })}`;
      throw new ApiError('Conflict', message, { name, kind: 'volumes' });
    }
    const note = volumes.comesBackBy({ namespace, name });
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
    return jsonAnswer({ ...status, details: { name, kind: 'volumes' } }, 200, warningHeader(note));
  };
}

/** What removes a claim removes its volume, too, with all that is in it, once no manifest has the claim. */
export function removeWithVolume(remove: RemoveObject, volumes: NodeVolumes): RemoveObject {
  return async (object, signal) => {
    if (object.kind !== 'PersistentVolumeClaim') return remove(object, signal);
    const refusal = (): Awaited<ReturnType<RemoveObject>> => ({
      ...{ kind: 'refused', reason: 'Conflict', message: `it is ${inUse(volumes, object)}` },
    });
    const volume = findVolume(volumes, object);
    if (volume !== undefined && volume.usedBy.length > 0) return refusal();
    const removed = await remove(object, signal);
    const isAbsent = removed.kind === 'not found' && volume === undefined;
    if (removed.kind === 'refused' || isAbsent) return removed;
    if (object.isDryRun) return removed.kind === 'removed' ? removed : { kind: 'removed' };
    if ((await volumes.remove({ ...object, isForGood: true })) === 'in use') return refusal();
    const ofFile = removed.kind === 'removed' ? removed.note : undefined;
    const notes = [ofFile, volumes.comesBackBy(object)].filter((note) => note !== undefined);
    return { kind: 'removed', ...(notes.length === 0 ? {} : { note: notes.join('; ') }) };
  };
}

function inUse(volumes: NodeVolumes, claim: VolumeName): string {
  const { usedBy = [] } = findVolume(volumes, claim) ?? {};
  const isStopped = usedBy.length > 0 && usedBy.every((name) => name.endsWith(STOPPED));
  const remedy = isStopped
    ? 'start it and delete it first, or remove its manifest'
    : 'end it first, by "podloop delete pod NAME", or by deleting the workload that makes it';
  return `in use by ${usedBy.length === 0 ? 'a pod' : usedBy.join(', ')}: ${remedy}`;
}

function findVolume(volumes: NodeVolumes, { namespace, name }: VolumeName): ServedVolume | undefined {
  return volumes.list().find((each) => each.namespace === namespace && each.name === name);
}
