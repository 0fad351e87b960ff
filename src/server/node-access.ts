import { ApiError } from './api-error.js';
import { type ApiRequest } from './api-request.js';
import { type ApiUser } from './token-table.js';

/** Kubernetes lets its members do everything, wherever. */
export const MASTERS = 'system:masters';

const VERBS: Readonly<Record<string, string>> = {
  ...{ POST: 'create', GET: 'get', HEAD: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' },
};

/** What a method is called in a cluster's rules; empty for one that they have no word for. */
export function verbOf(method: string): string {
  return VERBS[method] ?? '';
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
export function forbidden(user: ApiUser, method: string, subresources: readonly string[]): ApiError {
  const words = describeAccess(user, verbOf(method), `subresource(s)=[${subresources.join(' ')}]`);
  return new ApiError('Forbidden', `Forbidden (${words})`);
}

/** Who wants to do what, as a kubelet writes it. */
export function describeAccess({ name }: ApiUser, verb: string, subresource: string): string {
  return `user=${name}, verb=${verb}, resource=nodes, ${subresource}`;
}
