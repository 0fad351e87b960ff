import { ApiError } from './api-error.js';
import { type ApiRequest, type Authorize } from './api-request.js';
import { findNodePath } from './node-paths.js';
import { refuseWebPage } from './refuse-web-page.js';
import { type ApiUser, type TokenTable } from './token-table.js';

/** What {@link authorizeKnown} goes by. */
export interface AuthorizeKnownOptions {
  /** Asked for each request: tokens may change. */
  readonly tokens: () => TokenTable;
  /** Who has shown nothing may see health. */
  readonly isHealthOpen: boolean;
  /** Of those with a certificate only members of system:masters may do anything; else all that the authority vouches for. */
  readonly onlyMasters: boolean;
}

/** Kubernetes lets them do everything, wherever. */
const MASTERS = 'system:masters';
const ANONYMOUS: ApiUser = { name: 'system:anonymous', groups: ['system:unauthenticated'] };

/**
 * Lets those in who show a token or a certificate, in the kubelet's words: 401 for a token that nobody has, 403 for who
 * may not see what he asks for.
 *
 * A token makes its holder the owner: its file is podloop's alone. A certificate may be one of many that a cluster's
 * authority has given to all kinds of people.
 */
export function authorizeKnown({ tokens, isHealthOpen, onlyMasters }: AuthorizeKnownOptions): Authorize {
  return (request, { certificate }) => {
    const { headers, template } = request;
    const ofPage = refuseWebPage(headers);
    if (ofPage !== undefined) return ofPage;
    const isCertified = certificate !== undefined && certificate.name !== '';
    if (isCertified && (!onlyMasters || certificate.groups.includes(MASTERS))) return undefined;
    const shown = headers['authorization'];
    if (shown !== undefined) {
      const token = /^Bearer +(\S+) *$/i.exec(String(shown))?.[1];
      return token !== undefined && tokens().find(token) !== undefined ? undefined : unauthorized();
    }
    if (isCertified) return forbidden(certificate, request);
    if (!isHealthOpen) return unauthorized();
    return findNodePath(template)?.isHealth === true ? 'anonymous' : forbidden(ANONYMOUS, request);
  };
}

function unauthorized(): ApiError {
  return new ApiError('Unauthorized', 'Unauthorized');
}

const VERBS: Readonly<Record<string, string>> = {
  ...{ POST: 'create', GET: 'get', HEAD: 'get', PUT: 'update', PATCH: 'patch', DELETE: 'delete' },
};

function forbidden({ name }: ApiUser, { method, path }: Pick<ApiRequest, 'method' | 'path'>): ApiError {
  const subresources = (findNodePath(path)?.subresources ?? ['proxy']).join(' ');
  const words = `user=${name}, verb=${VERBS[method] ?? ''}, resource=nodes, subresource(s)=[${subresources}]`;
  return new ApiError('Forbidden', `Forbidden (${words})`);
}
