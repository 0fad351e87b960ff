import { ApiError } from '../http/api-error.js';
import { type ApiRequest } from '../http/api-request.js';
import { type ApiUser } from './token-table.js';

/** Kubernetes lets members of this group do everything everywhere. */
export const MASTERS = 'system:masters';

const VERBS: Readonly<Record<string, string>> = {
  ...{ POST: 'create', GET: 'get', HEAD: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' },
};

/** Streams into containers and to their ports, by a kubelet's paths and by those of Kubernetes' API. */
const INTO_PODS =
  /^\/(exec|attach|portForward)\/|^\/api\/v1\/namespaces\/:namespace\/pods\/:name\/(exec|attach|portforward)$/;

/**
 * The verb of a method in a cluster's rules; empty for one that they do not have.
 *
 * A stream into a pod is `create`, whatever its method. WebSocket only has GET, and a user who may read a
 * node must not do everything that its containers can.
 */
export function verbOf(method: string, template: string): string {
  return INTO_PODS.test(template) ? 'create' : (VERBS[method] ?? '');
}

/**
 * Whether it changes an object of podloop's own API, as `kubectl apply` and `kubectl delete` do.
 *
 * No kubelet has anything like it: rules about `nodes/proxy` that were written for a kubelet must not cover
 * it.
 */
export function changesObjects(method: string, template: string): boolean {
  const isRead = method === 'GET' || method === 'HEAD';
  return template.startsWith('/api/') && !isRead && !INTO_PODS.test(template);
}

/** The token of a header `Authorization: Bearer …`. */
export function readBearer(headers: ApiRequest['headers']): string | undefined {
  return /^Bearer +(\S+) *$/i.exec(String(headers['authorization'] ?? ''))?.[1];
}

/** 401, in the kubelet's word. */
export function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}

/** 403, in the kubelet's words. */
export function forbidden(user: ApiUser, verb: string, subresources: readonly string[]): ApiError {
  const words = describeAccess(user, verb, `subresource(s)=[${subresources.join(' ')}]`);
  return new ApiError('Forbidden', `Forbidden (${words})`);
}

/** A user and a request in a kubelet's words. */
export function describeAccess({ name }: ApiUser, verb: string, subresource: string): string {
  return `user=${name}, verb=${verb}, resource=nodes, ${subresource}`;
}
