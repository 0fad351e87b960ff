import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { isRecord } from '#base/text/is-record.js';
import { badRequest } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { applyBody, type ApplyObject, refusal } from './apply-object.js';
import { findConfigMap, type ReadConfigMaps, renderConfigMap } from './config-maps.js';
import { jsonPatch } from '../patches/json-patch.js';
import { type JsonObject, mergePatch } from '../patches/merge-patch.js';
import { type PodRow } from './pod-table.js';
import { JSON_PATCH, mediaTypeOf, STRATEGIC_MERGE_PATCH } from '../http/request-body.js';
import { strategicMergePatch } from '../patches/strategic-merge-patch.js';

/** The source with files that the agent may write. */
const WRITABLE_SOURCE = 'file';

/** PATCH …/pods/{name}: makes the pod's manifest the patched pod. */
export function patchPod(findPod: (request: ApiRequest) => PodRow, apply: ApplyObject): ApiHandler {
  return async (request) => {
    const { object } = findPod(request);
    const { metadata } = object;
    const { name } = metadata;
    const source = metadata.annotations?.[STATIC_POD_ANNOTATIONS.source];
    if (source !== WRITABLE_SOURCE) {
      const why = `it is in no file of the folder, but comes from ${source}: change it there`;
      throw refusal('pods', name, 'MethodNotAllowed', why);
    }
    // Writing its manifest would request it again.
    if (metadata.deletionTimestamp !== undefined)
      throw refusal('pods', name, 'Conflict', 'it is being deleted');
    const patched = await patch(request, 'pods', object);
    // The path may have the name in its manifest.
    const named = { ...request, params: { ...request.params, name } };
    return applyBody({ kind: 'Pod', plural: 'pods', apply }, named, patched);
  };
}

/** PATCH …/configmaps/{name}. `find` knows those in files. */
export function patchConfigMap(read: ReadConfigMaps, apply: ApplyObject): ApiHandler {
  return async (request) => {
    const { name = '' } = request.params;
    const found = findConfigMap(read, request);
    if (found.source !== WRITABLE_SOURCE) {
      const why = `it is in no file of the folder, but comes from ${found.source}: change it there`;
      throw refusal('configmaps', name, 'MethodNotAllowed', why);
    }
    const patched = await patch(request, 'configmaps', renderConfigMap(found));
    return applyBody({ kind: 'ConfigMap', plural: 'configmaps', apply }, request, patched);
  };
}

/** The object with the patch in the body of the request. Throws an ApiError for a patch of an older version of it. */
export async function patch(request: ApiRequest, plural: string, object: object): Promise<JsonObject> {
  const body = await request.readBody();
  const before = object as JsonObject;
  const patched = patchedBy(request, before, body);
  const { resourceVersion: asked } = isRecord(body) ? metadataOf(body) : {};
  const { resourceVersion: now, name } = metadataOf(before);
  if (asked !== undefined && asked !== null && now !== undefined && asked !== now) {
    const why = 'the object has been modified; please apply your changes to the latest version and try again';
    throw refusal(plural, String(name), 'Conflict', why);
  }
  return patched;
}

/** The object with a patch of the kind that the request names. Throws an ApiError for one that is none. */
export function patchedBy({ headers }: ApiRequest, before: JsonObject, body: unknown): JsonObject {
  const type = mediaTypeOf(String(headers['content-type']));
  if (type === JSON_PATCH) return jsonPatch(before, body);
  if (!isRecord(body)) throw badRequest('the patch must be an object');
  return type === STRATEGIC_MERGE_PATCH ? strategicMergePatch(before, body) : mergePatch(before, body);
}

function metadataOf({ metadata }: JsonObject): JsonObject {
  if (metadata === undefined || isRecord(metadata)) return metadata ?? {};
  throw badRequest('metadata must be an object');
}
