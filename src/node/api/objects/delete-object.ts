import { notFoundError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { type ApplicableKind, refusal } from './apply-object.js';
import { checkPrecondition, isDryRun, readDeleteOptions } from './delete-pod.js';

/** An object that somebody wants to be gone. */
export interface ObjectToRemove {
  readonly kind: Exclude<ApplicableKind, 'Pod'>;
  readonly namespace: string;
  readonly name: string;
  readonly isDryRun: boolean;
}

/** What became of it. */
export type Removed =
  | { readonly kind: 'removed' }
  | { readonly kind: 'not found' }
  /** It cannot be removed for a reason that lies elsewhere. */
  | { readonly kind: 'refused'; readonly reason: 'Conflict' | 'MethodNotAllowed'; readonly message: string };

/** Takes an object out of the manifests. Resolves once the agent knows it no more, or a moment later. */
export type RemoveObject = (object: ObjectToRemove, signal: AbortSignal) => Promise<Removed>;

/** DELETE …/{plural}/{name} of what is not a pod: answers that it is gone. */
export function deleteObject(kind: ObjectToRemove['kind'], plural: string, remove: RemoveObject): ApiHandler {
  return async (request) => {
    const options = await readDeleteOptions(request);
    const { namespace = '', name = '' } = request.params;
    const { uid, resourceVersion } = options.preconditions ?? {};
    // They have neither here.
    checkPrecondition(plural, name, 'UID', uid, '');
    checkPrecondition(plural, name, 'ResourceVersion', resourceVersion, '');
    const object = { kind, namespace, name, isDryRun: isDryRun(request.query, options) };
    const removed = await remove(object, request.signal);
    if (removed.kind === 'not found') throw notFoundError(plural, name);
    if (removed.kind === 'refused') throw refusal(plural, name, removed.reason, removed.message);
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' };
    return jsonAnswer({ ...status, details: { name, kind: plural } });
  };
}
