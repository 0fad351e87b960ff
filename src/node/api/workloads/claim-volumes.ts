import { toV1Time } from '#kube/pod/v1-pod-status.js';
import { ApiError, notFoundError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';

/** The volume of a claim, with what is known of it. */
export interface ServedVolume {
  readonly namespace: string;
  readonly name: string;
  readonly uid: string;
  readonly createdAtMs: number;
  readonly accessModes: readonly string[];
  /** The size that was asked for; undefined for one that no manifest declares. */
  readonly request?: string;
  /** Its folder on this node. */
  readonly path: string;
  /** Names of the pods that have it, or are to get it. */
  readonly usedBy: readonly string[];
}

/** The volumes of claims on this node. */
export interface NodeVolumes {
  list(): readonly ServedVolume[];
  /** Bytes on the disk. Rejects if that cannot be measured. */
  measure(path: string, signal: AbortSignal): Promise<bigint>;
  remove(namespace: string, name: string): Promise<'removed' | 'in use' | 'not found'>;
}

/** GET /volumes: all of them, with their sizes. */
export function listVolumes(volumes: NodeVolumes): ApiHandler {
  return async ({ signal }) => {
    const items = await Promise.all(
      volumes.list().map(async ({ namespace, name, uid, createdAtMs, ...rest }) => {
        const { accessModes, request, path, usedBy } = rest;
        const bytes = await volumes.measure(path, signal).then(Number, () => undefined);
        return {
          metadata: { namespace, name, uid, creationTimestamp: toV1Time(createdAtMs) },
          spec: { accessModes, ...(request === undefined ? {} : { request }) },
          status: { path, usedBy, ...(bytes === undefined ? {} : { bytes }) },
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
    const result = await volumes.remove(namespace, name);
    if (result === 'not found') throw notFoundError('volumes', name);
    if (result === 'in use') {
      const users = volumes.list().find((each) => each.namespace === namespace && each.name === name);
      const who = users === undefined || users.usedBy.length === 0 ? 'a pod' : users.usedBy.join(', ');
      const message = `the volume ${namespace}/${name} is in use by ${who}: end it first`;
      throw new ApiError('Conflict', message, { name, kind: 'volumes' });
    }
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
    return jsonAnswer({ ...status, details: { name, kind: 'volumes' } });
  };
}
