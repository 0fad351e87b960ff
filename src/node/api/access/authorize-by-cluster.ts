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

/** Who somebody is, as a cluster says. */
export interface Authenticator {
  /**
   * Whose token it is that was shown at the address `from`; undefined when it is nobody's. Rejects when that could not be found
   * out, with a {@link BusyError} where others ask too much.
   */
  authenticate(token: string, signal: AbortSignal, from?: string): Promise<ApiUser | undefined>;
}

/** What somebody may do, as a cluster says. */
export interface Authorizer {
  /** Whether he may do that with `nodes/subresource` of this node. Rejects as {@link Authenticator.authenticate} does. */
  authorize(
    user: ApiUser,
    access: { readonly verb: string; readonly subresource: string },
    signal: AbortSignal,
  ): Promise<boolean>;
}

/** What {@link authorizeByCluster} goes by. */
export interface AuthorizeByClusterOptions {
  /** Asked for each request: tokens may change. */
  readonly tokens: () => TokenTable;
  /** Who has shown nothing is `system:anonymous`, and may see health, and numbers as the cluster says. */
  readonly isAnonymousKnown: boolean;
  readonly cluster: Authenticator & Authorizer;
  readonly logger: Logger;
}

/**
 * Lets those in whom a cluster lets in, in the kubelet's words: 401 for who is not known, 403 for who may not see what he
 * asks for, 500 where that could not be found out; and 429 where too much is being found out already.
 *
 * A certificate goes before a token. Those of podloop's own token file, and members of `system:masters`, to whom an API
 * server never says no, get in without it, and they alone change objects: a pod is to come by the API server, where
 * admission looks at it. Whatever a cluster says, nobody who has shown nothing sees pods or gets at them.
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
 * Whether it comes from who asks for others, as an API server does for a terminal in a browser: it hands on what the browser
 * has said of its page, and names whom it asks for.
 *
 * A page that is itself at the other end, in the browser of somebody who has put a certificate there, gains nothing by it.
 * With a WebSocket it cannot name anybody (`X-Forwarded-For`), and no script may ask for another upgrade. A script of
 * another site that names somebody is held up by its browser, which asks first (CORS) and is given no leave; and what a page
 * of this very port could read so, it could read before. What else changes something is not taken from pages, whoever is named.
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
    // A good token must not be taken for a bad one: whoever is told 401 may throw it away.
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

/** What says nothing of what is in a pod. */
const ABOUT_NOBODY: ReadonlySet<string> = new Set(['healthz', 'metrics', 'stats']);

/** What is asked for as rules name it: the first that is granted will do. */
function subresourcesOf({ template, path }: AskedRequest): readonly string[] {
  // Where nothing is served the path may be taken as it is written.
  return findNodePath(template === 'other' ? path : template)?.subresources ?? ['proxy'];
}

function tooManyRequests({ retryAfterSeconds }: BusyError): ApiError {
  return new ApiError('TooManyRequests', 'Too many requests, please try again later.', { retryAfterSeconds });
}

/** As Kubernetes has it of everybody who has shown who he is. */
function authenticated(user: ApiUser): ApiUser {
  const group = 'system:authenticated';
  return user.groups.includes(group) ? user : { ...user, groups: [...user.groups, group] };
}
