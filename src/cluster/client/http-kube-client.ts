import { type Clock } from '../../util/clock.js';
import { messageOf } from '../../util/errors.js';
import { kubeRequestEnded } from '../../util/kube-client-channels.js';
import { linkAbort } from '../../util/linked-abort.js';
import { withinTime } from '../../util/within-time.js';
import { ApiTransport } from './api-transport.js';
import { type Credentials } from './credentials.js';
import {
  ApiError,
  type KubeClient,
  type KubeRequest,
  NoAnswerError,
  type WatchEvent,
  type WatchRequest,
} from './kube-client.js';
import { type Kubeconfig } from './kubeconfig.js';
import { type ServerAddress } from './open-socket.js';
import { RateLimit } from './rate-limit.js';
import { readBody, readLines } from './read-body.js';
import { readStatus, toApiError } from './read-status.js';
import { type Answer, type Outgoing, type Transport } from './transport.js';

/** What a {@link HttpKubeClient} needs. */
export interface HttpKubeClientOptions {
  readonly kubeconfig: Kubeconfig;
  readonly credentials: Credentials;
  /** As in `podloop/1.2.3 (linux/amd64)`. */
  readonly userAgent: string;
  /** Requests a second in the long run, and at once; as many as they like when absent. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number };
  /** How long a request may take that does not say so itself; 30 s unless told. */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

const USUAL_TIMEOUT_MS = 30_000;
/** As client-go: an API server that says when to come back is asked again so often. */
const MOST_TRIES = 10;
/** A server ends a watch by itself, here: between five and ten minutes, as reflectors of client-go ask for. */
const SHORTEST_WATCH_S = 300;
/** How much longer than asked for a watch may last, before its server is taken for dead. */
const WATCH_GRACE_MS = 30_000;
const PATCH_TYPE = 'application/strategic-merge-patch+json';

/** A {@link KubeClient} over HTTP with connections of its own. */
export class HttpKubeClient implements KubeClient {
  readonly #options: HttpKubeClientOptions;
  readonly #transport: Transport;
  readonly #limit: RateLimit;
  readonly #base: string;
  readonly #host: string;
  #isClosed = false;

  constructor(options: HttpKubeClientOptions) {
    this.#options = options;
    const { kubeconfig, credentials, rateLimit, clock } = options;
    const url = new URL(kubeconfig.server);
    this.#base = url.pathname.replace(/\/$/, '');
    this.#host = url.host;
    this.#transport = new ApiTransport({
      address: toAddress(kubeconfig, url),
      identity: () => credentials.identity(),
      clock,
    });
    this.#limit = new RateLimit({ ...(rateLimit ?? { perSecond: Infinity, burst: 1 }), clock });
  }

  async request<T>(request: KubeRequest): Promise<T> {
    const { method, path, timeoutMs = this.#options.timeoutMs ?? USUAL_TIMEOUT_MS } = request;
    const late = (): Error => new NoAnswerError(`${method} ${path}: no answer within ${timeoutMs / 1_000}s`);
    const { clock } = this.#options;
    const signal = request.signal ?? new AbortController().signal;
    const endsAtMs = clock.monotonicMs() + timeoutMs;
    return await withinTime({ clock, limitMs: timeoutMs, late, signal }, async (inner) => {
      for (let tries = 0; ; tries++) {
        try {
          const { body } = await this.#exchange(request, inner, tries);
          // Read by whoever asked, as lenient as it wants.
          return (body.length === 0 ? undefined : JSON.parse(body.toString('utf8'))) as T;
        } catch (error) {
          inner.throwIfAborted();
          const waitMs = this.#waitBeforeNext(error, request, tries);
          if (waitMs === undefined || clock.monotonicMs() + waitMs >= endsAtMs) throw error;
          await clock.sleep(waitMs, inner);
        }
      }
    });
  }

  async *watch<T>(request: WatchRequest): AsyncGenerator<WatchEvent<T>> {
    const { path, signal } = request;
    const timeoutSeconds = request.query['timeoutSeconds'] ?? String(drawWatchSeconds());
    const query = { ...request.query, timeoutSeconds, watch: 'true', allowWatchBookmarks: 'true' };
    const link = linkAbort(signal);
    const { clock } = this.#options;
    const late = (): Error =>
      new Error(`GET ${path}: the watch has not begun within ${USUAL_TIMEOUT_MS / 1_000}s`);
    const begin = { clock, limitMs: USUAL_TIMEOUT_MS, late, signal: link.signal };
    const longestMs = Number(timeoutSeconds) * 1_000 + WATCH_GRACE_MS;
    const timer = clock.setTimer(
      longestMs,
      () => link.abort(new Error(`GET ${path}: the server has not ended the watch in time`)),
      { unref: true },
    );
    try {
      const answer = await withinTime(begin, async () => this.#beginWatch({ path, query }, link.signal));
      for await (const line of readLines(answer)) {
        const event = JSON.parse(line) as { type?: unknown; object?: unknown };
        if (event.type === 'ERROR') throw toApiError(0, event.object);
        if (isKnown(event.type)) yield { type: event.type, object: event.object as T };
      }
    } catch (error) {
      link.signal.throwIfAborted();
      throw error;
    } finally {
      timer.cancel();
      // Whatever is left of the answer is not wanted.
      link.abort(new Error('the watch was left'));
      link.unlink();
    }
  }

  /** Breaks every connection; what waits for an answer fails, and the next request connects anew. */
  dropConnections(): void {
    this.#transport.drop(new Error('the connection to the API server was given up'));
  }

  /** Breaks every connection for good. Idempotent. */
  close(): void {
    this.#isClosed = true;
    this.#transport.drop(new Error('the client is closed'));
  }

  async #beginWatch(watch: Pick<KubeRequest, 'path' | 'query'>, signal: AbortSignal): Promise<Answer> {
    const request = { method: 'GET' as const, ...watch };
    const told = await this.#tellOf(request, signal, 0);
    try {
      const answer = await this.#transport.send(await this.#toOutgoing(request), signal);
      if (answer.status === 200) {
        told({ code: 200 });
        return answer;
      }
      const body = await readBody(answer);
      told({ code: answer.status, responseBytes: body.length });
      if (answer.status === 401) this.#options.credentials.refused();
      throw readStatus(answer, body);
    } catch (error) {
      told({});
      throw error;
    }
  }

  async #exchange(request: KubeRequest, signal: AbortSignal, tries: number): Promise<{ body: Buffer }> {
    const told = await this.#tellOf(request, signal, tries);
    try {
      const outgoing = await this.#toOutgoing(request);
      const answer = await this.#transport.send(outgoing, signal);
      const body = await readBody(answer);
      told({ code: answer.status, requestBytes: outgoing.body?.length ?? 0, responseBytes: body.length });
      if (answer.status >= 200 && answer.status < 300) return { body };
      throw readStatus(answer, body);
    } catch (error) {
      told({});
      throw error;
    }
  }

  /** Undefined when the same request would not fare better. */
  #waitBeforeNext(error: unknown, { method }: KubeRequest, tries: number): number | undefined {
    if (tries >= MOST_TRIES) return undefined;
    if (error instanceof ApiError) {
      if (error.code === 401 && tries === 0) return this.#options.credentials.refused() ? 0 : undefined;
      return error.code === 429 || error.code >= 500 ? error.retryAfterMs : undefined;
    }
    // The server may have been restarted behind a connection that looked well.
    if (tries === 0 && method === 'GET' && isBroken(error)) return 0;
    return undefined;
  }

  /** Waits for a turn; gives what tells of the request's end, once. */
  async #tellOf(
    { method }: Pick<KubeRequest, 'method'>,
    signal: AbortSignal,
    tries: number,
  ): Promise<(end: { code?: number; requestBytes?: number; responseBytes?: number }) => void> {
    if (this.#isClosed) throw new Error('the client is closed');
    const { clock } = this.#options;
    const heldBackMs = await this.#limit.take(signal);
    const sentAtMs = clock.monotonicMs();
    let isTold = false;
    return ({ code, requestBytes = 0, responseBytes }) => {
      if (isTold) return;
      isTold = true;
      const durationMs = clock.monotonicMs() - sentAtMs;
      const common = { method, host: this.#host, durationMs, heldBackMs, tries };
      kubeRequestEnded.publish({ ...common, code, requestBytes, responseBytes });
    };
  }

  async #toOutgoing(request: KubeRequest): Promise<Outgoing> {
    const { method, path, query = {}, body, contentType } = request;
    const { userAgent, credentials } = this.#options;
    const type = contentType ?? (method === 'PATCH' ? PATCH_TYPE : 'application/json');
    const search = new URLSearchParams(query).toString();
    return {
      method,
      path: `${this.#base}${path}${search === '' ? '' : `?${search}`}`,
      headers: {
        ...(await credentials.headers()),
        ...{ accept: 'application/json', 'user-agent': userAgent },
        ...(body !== undefined && { 'content-type': type }),
      },
      body: body === undefined ? undefined : Buffer.from(JSON.stringify(body)),
    };
  }
}

function isKnown(type: unknown): type is WatchEvent<unknown>['type'] {
  return type === 'ADDED' || type === 'MODIFIED' || type === 'DELETED' || type === 'BOOKMARK';
}

function isBroken(error: unknown): boolean {
  return !/^cannot connect to/.test(messageOf(error)) && !(error instanceof SyntaxError);
}

function drawWatchSeconds(): number {
  return Math.round(SHORTEST_WATCH_S * (1 + Math.random()));
}

function toAddress({ serverName, insecure }: Kubeconfig, url: URL): ServerAddress {
  const protocol = url.protocol === 'http:' ? 'http:' : 'https:';
  const port = url.port === '' ? (protocol === 'http:' ? 80 : 443) : Number(url.port);
  return { protocol, host: url.hostname.replace(/^\[|\]$/g, ''), port, serverName, insecure };
}
