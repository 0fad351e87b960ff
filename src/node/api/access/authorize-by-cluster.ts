import { BusyError } from '#base/errors/busy-error.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { ApiError } from '../http/api-error.js';
import { type ApiClient, type AskedRequest, type Authorize, type Verdict } from '../http/api-request.js';
import {
  changesObjects,
  describeAccess,
  forbidden,
  MASTERS,
  readBearer,
  unauthorized,
  verbOf,
} from './node-access.js';
import { findNodePath } from '../node/node-paths.js';
import { peerNetworkOf } from './peer-network.js';
import { refuseWebPage } from './refuse-web-page.js';
import { ANONYMOUS, type ApiUser, type TokenTable } from './token-table.js';

/** Identifies users by a cluster's authentication. */
export interface Authenticator {
  /**
   * The owner of a token that was shown from the address `from`; undefined when nobody has it.
   *
   * Rejects when that could not be determined, with a {@link BusyError} when others ask too much.
   */
  authenticate(token: string, signal: AbortSignal, from?: string): Promise<ApiUser | undefined>;
}

/** Decides by a cluster's authorization what a user may do. */
export interface Authorizer {
  /**
   * Whether the user may do that with `nodes/subresource` of this node. Rejects like {@link
   * Authenticator.authenticate}.
   */
  authorize(
    user: ApiUser,
    access: { readonly verb: string; readonly subresource: string },
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** Options of {@link authorizeByCluster}. */
export interface AuthorizeByClusterOptions {
  /** Read for each request, as tokens may change. */
  readonly tokens: () => TokenTable;
  /**
   * A client without credentials is `system:anonymous`, and may see health, and metrics if the cluster allows
   * it.
   */
  readonly isAnonymousKnown: boolean;
  readonly cluster: Authenticator & Authorizer;
  readonly logger: Logger;
}

/**
 * Admits users whom a cluster admits, with the kubelet's errors.
 *
 * 401 means an unknown user, 403 a forbidden request, 500 that the answer could not be determined, and 429
 * that too many are pending. A certificate takes precedence over a token. Users in podloop's own token file,
 * and members of `system:masters`, whom an API server never refuses, need no answer of the cluster. Only they
 * may change objects: others have to create pods through the API server, with its admission. Whatever a
 * cluster says, a client without credentials cannot see pods or reach them.
 */
export function authorizeByCluster(options: AuthorizeByClusterOptions): Authorize {
  return async (request, client) => {
    const ofPage = isHandedOn(request, client) ? undefined : refuseWebPage(request.headers);
    if (ofPage !== undefined) return ofPage;
    const token = readBearer(request.headers);
    if (token !== undefined && options.tokens().find(token) !== undefined) return undefined;
    const user = await findUser(options, request, client, token);
    if (user === undefined) return unauthorized();
    if (user instanceof ApiError) return user;
    const isAnonymous = user === ANONYMOUS;
    if (isAnonymous && findNodePath(request.template)?.isHealth === true) return 'anonymous';
    if (!isAnonymous && user.groups.includes(MASTERS)) return undefined;
    if (changesObjects(request.method, request.template)) return new ApiError('Forbidden', BY_API_SERVER);
    return askAccess(options, request, user, isAnonymous ? 'anonymous' : undefined);
  };
}

const BY_API_SERVER =
  'Objects of a node in a cluster are changed through its API server: ' +
  'here only holders of tokens in --token-auth-file and members of system:masters may';

/**
 * Whether a proxy sends the request for others, as an API server does for a terminal in a browser.
 *
 * Such a proxy forwards what the browser said about its page, and names the user. A page that connects
 * directly, in the browser of somebody with a certificate, gains nothing by claiming that. With a WebSocket
 * it cannot name a user (`X-Forwarded-For`), and scripts cannot request another upgrade. A script of another
 * site that names a user is stopped by its browser, which asks first (CORS) and gets no permission. A page of
 * this very port could read the answers before as well. Other changes are not accepted from pages, whoever is
 * named.
 */
function isHandedOn({ method, headers }: AskedRequest, { certificate }: ApiClient): boolean {
  if (certificate === undefined || certificate.name === '') return false;
  if (headers['x-forwarded-for'] === undefined) return false;
  return headers['upgrade'] !== undefined || method === 'GET' || method === 'HEAD';
}

async function findUser(
  { cluster, isAnonymousKnown, logger }: AuthorizeByClusterOptions,
  { headers, signal }: AskedRequest,
  { certificate, remoteAddress }: ApiClient,
  token: string | undefined,
): Promise<ApiUser | ApiError | undefined> {
  if (certificate !== undefined && certificate.name !== '') return authenticated(certificate);
  if (token === undefined) {
    return isAnonymousKnown && headers['authorization'] === undefined ? ANONYMOUS : undefined;
  }
  try {
    const user = await cluster.authenticate(token, signal, peerNetworkOf(remoteAddress ?? ''));
    return user === undefined ? undefined : authenticated(user);
  } catch (error) {
    // A good token must not count as a bad one: a client that gets 401 may throw it away.
    if (error instanceof BusyError) return tooManyRequests(error);
    if (!signal.aborted) {
      logger.warn('Unable to authenticate the request due to an error', { why: messageOf(error) });
    }
    return undefined;
  }
}

async function askAccess(
  { cluster }: AuthorizeByClusterOptions,
  request: AskedRequest,
  user: ApiUser,
  allowed: Verdict,
): Promise<Verdict> {
  const verb = verbOf(request.method, request.template);
  const subresources = subresourcesOf(request);
  for (const subresource of subresources) {
    if (user === ANONYMOUS && !ABOUT_NOBODY.has(subresource)) continue;
    try {
      if (await cluster.authorize(user, { verb, subresource }, request.signal)) return allowed;
    } catch (error) {
      if (error instanceof BusyError) return tooManyRequests(error);
      const words = describeAccess(user, verb, `subresource=${subresource}`);
      return new ApiError('InternalError', `Authorization error (${words})`, undefined, { cause: error });
    }
  }
  return forbidden(user, verb, subresources);
}

/** Pages that reveal nothing about pods. */
const ABOUT_NOBODY: ReadonlySet<string> = new Set(['healthz', 'metrics', 'stats']);

/** The resources in a cluster's rules: one granted resource is enough. */
function subresourcesOf({ template, path }: AskedRequest): readonly string[] {
  // Where nothing is served, the path itself decides.
  return findNodePath(template === 'other' ? path : template)?.subresources ?? ['proxy'];
}

function tooManyRequests({ retryAfterSeconds }: BusyError): ApiError {
  return new ApiError('TooManyRequests', 'Too many requests, please try again later.', { retryAfterSeconds });
}

/** Adds the group that Kubernetes gives to every authenticated user. */
function authenticated(user: ApiUser): ApiUser {
  const group = 'system:authenticated';
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
