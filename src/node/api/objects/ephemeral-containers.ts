/**
 * The ephemeral containers of a pod, as a resource of its own: where `kubectl debug` adds one.
 *
 * Source: https://kubernetes.io/docs/reference/kubernetes-api/workload-resources/pod-v1/
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';
import { badRequest } from '../http/api-error.js';
import { type ApiAnswer, type ApiHandler, type ApiRequest, jsonAnswer } from '../http/api-request.js';
import { isDryRun, checkPrecondition } from './delete-pod.js';
import { patch } from './patch-object.js';
import { type PodRow, type PodTable } from './pod-table.js';
import { renderPod } from './render-pod.js';
import { type ServedPod } from './served-pod.js';

/** How containers are added. */
export interface DebugPodModes {
  /** Nothing is written. */
  readonly isDryRun: boolean;
  readonly signal: AbortSignal;
}

/**
 * Makes a list, as a client has sent it, the ephemeral containers of a pod: those that it has already are unchanged in
 * it, and others are added.
 *
 * Resolves with the pod as it is wanted then, once that is on disk. Rejects with an ApiError.
 */
export type DebugPod = (
  pod: ServedPod,
  containers: readonly unknown[],
  modes: DebugPodModes,
) => Promise<ServedPod>;

/** What {@link ephemeralContainerHandlers} needs. */
export interface EphemeralContainersOptions {
  readonly table: PodTable;
  readonly findPod: (request: ApiRequest) => PodRow;
  readonly debug: DebugPod;
}

/** PATCH and PUT …/pods/{name}/ephemeralcontainers. Only spec.ephemeralContainers of the body counts. */
export function ephemeralContainerHandlers({ table, findPod, debug }: EphemeralContainersOptions): {
  readonly patch: ApiHandler;
  readonly replace: ApiHandler;
} {
  const change = async (request: ApiRequest, row: PodRow, wanted: unknown): Promise<ApiAnswer> => {
    const modes = { isDryRun: isDryRun(request.query), signal: request.signal };
    const served = await debug(row.served, readContainers(wanted), modes);
    const { uid } = served.pod.metadata;
    table.refresh(uid);
    return jsonAnswer(renderPod(served, table.find(uid)?.version ?? row.version));
  };
  return {
    patch: async (request) => {
      const row = findPod(request);
      return change(request, row, await patch(request, 'pods', row.object));
    },
    replace: async (request) => {
      const row = findPod(request);
      const body = await request.readBody();
      const { name } = row.object.metadata;
      const metadata = isRecord(body) && isRecord(body['metadata']) ? body['metadata'] : {};
      const given = metadata['name'];
      if (given !== name && given !== request.params['name']) {
        throw badRequest(
          `the name of the object (${String(given)}) does not match the name on the URL (${name})`,
        );
      }
      const { uid, resourceVersion } = metadata;
      checkPrecondition('pods', name, 'UID', uid, row.object.metadata.uid);
      checkPrecondition(
        'pods',
        name,
        'ResourceVersion',
        resourceVersion === '' ? undefined : resourceVersion,
        String(row.version),
      );
      return change(request, row, body);
    },
  };
}

function readContainers(pod: unknown): readonly unknown[] {
  const spec = isRecord(pod) ? pod['spec'] : undefined;
  const containers = isRecord(spec) ? (spec['ephemeralContainers'] ?? []) : undefined;
  if (Array.isArray(containers)) return containers;
  throw badRequest('the body must be a Pod with a list spec.ephemeralContainers');
}
