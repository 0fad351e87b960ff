import { notFoundError } from '../http/api-error.js';
import { type ApiHandler, jsonAnswer } from '../http/api-request.js';
import { type ApplicableKind, refusal } from './apply-object.js';
import { checkPrecondition, isDryRun, readDeleteOptions } from './delete-pod.js';

/** An object that a client removes. */
export interface ObjectToRemove {
  readonly kind: Exclude<ApplicableKind, 'Pod'>;
  readonly namespace: string;
  readonly name: string;
  readonly isDryRun: boolean;
}

/** The result. */
export type Removed =
  /** `note`: what the client should know, as that it comes back. */
  | { readonly kind: 'removed'; readonly note?: string }
  | { readonly kind: 'not found' }
  /** It cannot be removed for an external reason. */
  | { readonly kind: 'refused'; readonly reason: 'Conflict' | 'MethodNotAllowed'; readonly message: string };

/** Removes an object from the manifests. Resolves once the agent no longer has it, or a moment later. */
export type RemoveObject = (object: ObjectToRemove, signal: AbortSignal) => Promise<Removed>;

/** DELETE …/{plural}/{name} for other kinds than pods: answers that it is gone. */
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
    return jsonAnswer({ ...status, details: { name, kind: plural } }, 200, warningHeader(removed.note));
  };
}

/**
 * A note for the client, as Kubernetes sends it; none for undefined.
 *
 * Source: RFC 7234, 5.5; https://kubernetes.io/blog/2020/09/03/warnings/
 */
export function warningHeader(note: string | undefined): Readonly<Record<string, string>> {
  if (note === undefined) return {};
  // A header has no other characters; the path of a file may.
  const plain = note.replaceAll(/[^\x20-\x7e]/g, '?');
  return { warning: `299 - "${plain.replaceAll(/["\\]/g, (each) => `\\${each}`)}"` };
}
