import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { kubeRequestEnded } from '#base/channels/kube-client-channels.js';
import { linkAbort, type LinkedAbort } from '#base/async/linked-abort.js';
import { withinTime } from '#base/async/within-time.js';
import { ApiTransport } from './api-transport.js';
import { type Credentials } from './credentials.js';
import { type ProxyAddress } from '#base/wire/find-proxy.js';
import { toHttpEndpoint } from '#base/wire/http-endpoint.js';
import {
  ApiError,
  isTooNew,
  type KubeClient,
  type KubeRequest,
  NoAnswerError,
  type WatchEvent,
  type WatchRequest,
} from './kube-client.js';
import { type Kubeconfig } from './kubeconfig.js';
import { RateLimit } from './rate-limit.js';
import { readStatus, toApiError } from './read-status.js';
import { type Answer, type Outgoing, type Transport } from './http-transport.js';

/** What a {@link HttpKubeClient} needs. */
export interface HttpKubeClientOptions extends Publisher {
  readonly kubeconfig: Kubeconfig;
  readonly credentials: Credentials;
  /** The API server is reached through this one. */
  readonly proxy?: ProxyAddress;
  /** As in `podloop/1.2.3 (linux/amd64)`. */
  readonly userAgent: string;
  /** Requests a second in the long run, and at once; as many as they like when absent. */
  readonly rateLimit?: { readonly perSecond: number; readonly burst: number };
  /** How long a request may take that does not say so itself, once it is sent (default: 30 s). */
  readonly timeoutMs?: number;
  readonly clock: Clock;
}

const USUAL_TIMEOUT_MS = 30_000;
/** So long the limit of requests may hold one back: hundreds of objects come at once when an agent starts. */
const MAX_HOLD_MS = 5 * 60_000;
/** As client-go: an API server that says when to come back is asked again so often. */
const MAX_TRIES = 10;
/** A server ends a watch by itself, here: between five and ten minutes, as reflectors of client-go ask for. */
const SHORTEST_WATCH_S = 300;
/** How much longer than asked for a watch may last, before its server is taken for dead. */
const WATCH_GRACE_MS = 30_000;
const PATCH_TYPE = 'application/strategic-merge-patch+json';

/** How a request came to be sent. */
interface Turn {
  readonly heldBackMs: number;
  readonly tries: number;
}

/** A {@link KubeClient} over HTTP with connections of its own. */
export class HttpKubeClient implements KubeClient {
  readonly #options: HttpKubeClientOptions;
  readonly #transport: Transport;
  readonly #limit: RateLimit;
  readonly #base: string;
  readonly #host: string;
  #isClosed = false;
  /** Of requests that wait until they may be sent. */
  readonly #held = new Set<LinkedAbort>();

  constructor(options: HttpKubeClientOptions) {
    this.#options = options;
    const { kubeconfig, credentials, proxy, rateLimit, clock } = options;
    const { serverName, insecure } = kubeconfig;
    const url = new URL(kubeconfig.server);
    this.#base = url.pathname.replace(/\/$/, '');
    this.#host = url.host;
    this.#transport = new ApiTransport({
      address: { ...toHttpEndpoint(url), serverName, insecure, ...(proxy && { proxy }) },
      identity: () => credentials.identity(),
      clock,
    });
    this.#limit = new RateLimit({ ...(rateLimit ?? { perSecond: Infinity, burst: 1 }), clock });
  }

  async request<T>(request: KubeRequest): Promise<T> {
    const { method, path, timeoutMs = this.#options.timeoutMs ?? USUAL_TIMEOUT_MS } = request;
    const { clock } = this.#options;
    const signal = request.signal ?? new AbortController().signal;
    const late = (): Error => new NoAnswerError(`${method} ${path}: no answer within ${timeoutMs / 1_000}s`);
    let leftMs = timeoutMs;
    // Why it wanted to be asked again.
    let said: ApiError | undefined;
    for (let tries = 0; ; tries++) {
      const heldBackMs = await this.#turn(request, signal);
      const sentAtMs = clock.monotonicMs();
      try {
        return await withinTime({ clock, limitMs: leftMs, late, signal }, async (inner) => {
          const { body } = await this.#exchange(request, inner, { heldBackMs, tries });
          // Read by whoever asked, as lenient as it wants.
          return (body.length === 0 ? undefined : JSON.parse(body.toString('utf8'))) as T;
        });
      } catch (error) {
        signal.throwIfAborted();
        const waitMs = this.#waitBeforeNext(error, request, tries);
        leftMs -= clock.monotonicMs() - sentAtMs + (waitMs ?? 0);
        if (waitMs === undefined || leftMs <= 0)
          throw error instanceof NoAnswerError ? (said ?? error) : error;
        if (error instanceof ApiError && error.code !== 401) said = error;
        await clock.sleep(waitMs, signal);
      }
    }
  }

  async *watch<T>(request: WatchRequest): AsyncGenerator<WatchEvent<T>> {
    const { path, isUrgent = false, signal } = request;
    const timeoutSeconds = request.query['timeoutSeconds'] ?? String(drawWatchSeconds());
    const query = { ...request.query, timeoutSeconds, watch: 'true', allowWatchBookmarks: 'true' };
    const { clock } = this.#options;
    const turn = { heldBackMs: await this.#turn({ method: 'GET', path, isUrgent }, signal), tries: 0 };
    const link = linkAbort(signal);
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
      const answer = await withinTime(begin, async () =>
        this.#beginWatch({ path, query }, link.signal, turn),
      );
      request.onOpen?.();
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

  /** Breaks every connection: pending requests fail, and the next request connects again. */
  dropConnections(): void {
    this.#transport.drop(new Error('the connection to the API server was given up'));
  }

  /** Breaks every connection for good. Idempotent. */
  close(): void {
    this.#isClosed = true;
    const error = new Error('the client is closed');
    for (const held of this.#held) held.abort(error);
    this.#transport.drop(error);
  }

  async #beginWatch(
    watch: Pick<KubeRequest, 'path' | 'query'>,
    signal: AbortSignal,
    turn: Turn,
  ): Promise<Answer> {
    const request = { method: 'GET' as const, ...watch };
    const told = this.#observe(request, turn);
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

  async #exchange(request: KubeRequest, signal: AbortSignal, turn: Turn): Promise<{ body: Buffer }> {
    const told = this.#observe(request, turn);
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
    if (tries >= MAX_TRIES) return undefined;
    if (error instanceof ApiError) {
      if (isTooNew(error)) return undefined;
      if (error.code === 401 && tries === 0) return this.#options.credentials.refused() ? 0 : undefined;
      return error.code === 429 || error.code >= 500 ? error.retryAfterMs : undefined;
    }
    // The server may have been restarted behind a connection that looked well.
    if (tries === 0 && method === 'GET' && isBroken(error)) return 0;
    return undefined;
  }

  /** Waits until the request may be sent: for how long, in milliseconds. None of its own time goes by. */
  async #turn(
    { method, path, isUrgent = false }: Pick<KubeRequest, 'method' | 'path' | 'isUrgent'>,
    signal: AbortSignal,
  ): Promise<number> {
    const { clock, rateLimit } = this.#options;
    if (rateLimit === undefined) return 0;
    const late = (): Error =>
      new Error(`${method} ${path}: not sent, as it waited too long for the limit of requests`);
    const link = linkAbort(signal);
    this.#held.add(link);
    const hold = { clock, limitMs: MAX_HOLD_MS, late, signal: link.signal };
    try {
      return await withinTime(hold, async (inner) => this.#limit.take(inner, isUrgent ? 'urgent' : 'usual'));
    } finally {
      this.#held.delete(link);
      link.unlink();
    }
  }

  /** Returns a function that reports the end of the request, once. */
  #observe(
    { method }: Pick<KubeRequest, 'method'>,
    turn: Turn,
  ): (end: { code?: number; requestBytes?: number; responseBytes?: number }) => void {
    if (this.#isClosed) throw new Error('the client is closed');
    const { clock } = this.#options;
    const sentAtMs = clock.monotonicMs();
    let isTold = false;
    return ({ code, requestBytes = 0, responseBytes }) => {
      if (isTold) return;
      isTold = true;
      const durationMs = clock.monotonicMs() - sentAtMs;
      const common = { method, host: this.#host, durationMs, ...turn };
      publishTo(this.#options.channels, kubeRequestEnded, { ...common, code, requestBytes, responseBytes });
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
  if (error instanceof SyntaxError || error instanceof NoAnswerError) return false;
  return !/^cannot connect to/.test(messageOf(error));
}

function drawWatchSeconds(): number {
  return Math.round(SHORTEST_WATCH_S * (1 + Math.random()));
}

/** A list of all pods of a large node is some MiB; more is no answer of an API server. */
const LARGEST_ANSWER_BYTES = 128 * 1024 * 1024;

/** The whole of an answer. Rejects when it breaks off or is too long. */
async function readBody({ body, findBreak }: Answer): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > LARGEST_ANSWER_BYTES)
      throw new Error(`the answer has more than ${LARGEST_ANSWER_BYTES} bytes`);
    chunks.push(chunk);
  }
  const broken = findBreak();
  if (broken !== undefined) throw broken;
  return Buffer.concat(chunks);
}

/** An object may have 1.5 MiB in etcd, and somewhat more as JSON. */
const LARGEST_LINE_BYTES = 32 * 1024 * 1024;
const NEWLINE = 0x0a;

/** The lines of an answer as they come, without the empty ones. Leaving the loop destroys the body; a connection that
 * breaks is an error. */
async function* readLines({ body, findBreak }: Answer): AsyncGenerator<string> {
  let begun: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      begun.push(chunk.subarray(from, end));
      const line = (begun.length === 1 ? begun[0]! : Buffer.concat(begun)).toString('utf8');
      [begun, bytes, from] = [[], 0, end + 1];
      if (line !== '') yield line;
    }
    const rest = chunk.subarray(from);
    bytes += rest.length;
    if (bytes > LARGEST_LINE_BYTES) throw new Error(`an event has more than ${LARGEST_LINE_BYTES} bytes`);
    if (rest.length > 0) begun.push(rest);
  }
  const broken = findBreak();
  if (broken !== undefined) throw broken;
}
