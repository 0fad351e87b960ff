import findMyWay from 'find-my-way';
import { ApiError } from './api-error.js';
import { type ApiHandler, type UpgradeHandler } from './api-request.js';

/** The handler of a path. */
export type ApiRoute =
  | { readonly kind: 'answer'; readonly handle: ApiHandler }
  /** Upgrades the connection; without an upgrade it is a bad request. */
  | { readonly kind: 'upgrade'; readonly handle: UpgradeHandler };

/** A found route, with the variable parts of the path. */
export interface FoundRoute {
  readonly route: ApiRoute;
  /** The path as given when the route was added. */
  readonly template: string;
  readonly params: Readonly<Record<string, string | undefined>>;
}

type StoredRoute = Omit<FoundRoute, 'params'>;

type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';

const METHODS: readonly Method[] = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'];
/** A Kubernetes name has at most 253 characters; each may be encoded as three. */
const MAX_PART_LENGTH = 3 * 253;

/** The paths of the API. */
export class ApiRouter {
  readonly #routes = findMyWay({
    maxParamLength: MAX_PART_LENGTH,
    caseSensitive: true,
    ignoreTrailingSlash: true,
  });

  /** Answers requests for `path`, which may have parts like `:name`. */
  answer(method: Method, path: string, handle: ApiHandler): void {
    this.#add([method], path, { kind: 'answer', handle });
  }

  /** Upgrades connections at `path`: GET for WebSocket, and POST for kubectl. */
  upgrade(path: string, handle: UpgradeHandler): void {
    this.#add(['GET', 'POST'], path, { kind: 'upgrade', handle });
  }

  /** Throws NotFound for an unknown path, MethodNotAllowed for one with other methods. */
  find(method: string, path: string): FoundRoute {
    // Like GET, but nothing follows the headers.
    const found = this.#find(method === 'HEAD' ? 'GET' : method, path);
    if (found !== undefined && (method !== 'HEAD' || found.route.kind === 'answer')) return found;
    const allow = this.#methodsOf(path);
    if (allow.length > 0) {
      throw new ApiError('MethodNotAllowed', `the server does not allow ${method} on ${path}`, undefined, {
        allow,
      });
    }
    throw new ApiError('NotFound', 'the server could not find the requested resource');
  }

  #methodsOf(path: string): string[] {
    return METHODS.flatMap((method) => {
      const kind = this.#find(method, path)?.route.kind;
      if (kind === undefined) return [];
      return method === 'GET' && kind === 'answer' ? [method, 'HEAD'] : [method];
    });
  }

  #add(methods: Method[], path: string, route: ApiRoute): void {
    // The server calls handlers; the store carries them.
    this.#routes.on(methods, path, () => undefined, { route, template: path });
  }

  #find(method: string, path: string): FoundRoute | undefined {
    const known = METHODS.find((each) => each === method);
    if (known === undefined) return undefined;
    const found = this.#routes.find(known, path);
    return found === null ? undefined : { ...(found.store as StoredRoute), params: found.params };
  }
}
