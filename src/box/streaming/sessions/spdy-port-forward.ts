import { finished } from 'node:stream/promises';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { forwardPort, type ConnectPort } from './forward-port.js';
import { type SpdyStream } from '../spdy/spdy-stream.js';

/** The one version of the port-forward protocol over SPDY. */
export const PORT_FORWARD_PROTOCOL = 'portforward.k8s.io';

/** What a {@link SpdyPortForward} needs. */
export interface SpdyPortForwardOptions {
  readonly connect: ConnectPort;
  /** Aborts when the client is gone. */
  readonly gone: AbortSignal;
  readonly clock: Clock;
  /** How long the second stream of a pair may be missing. */
  readonly streamCreationTimeoutMs: number;
}

/** The two streams of one forwarded connection. */
interface Pair {
  readonly timer: ClockTimer;
  error?: SpdyStream;
  data?: SpdyStream;
}

/**
 * Forwards ports for one client: each connection is a pair of streams, `data` and `error`, which the header
 * `requestid` joins. What goes wrong is said on the error stream.
 */
export class SpdyPortForward {
  readonly #options: SpdyPortForwardOptions;
  readonly #pairs = new Map<string, Pair>();

  constructor(options: SpdyPortForwardOptions) {
    this.#options = options;
  }

  /** Takes a new stream in; one that makes no sense is refused. */
  add(stream: SpdyStream): void {
    const type = stream.headers.get('streamtype');
    if (toPort(stream) === undefined || (type !== 'error' && type !== 'data')) {
      stream.refuse();
      return;
    }
    const id = requestIdOf(stream, type);
    const pair = this.#pairs.get(id) ?? this.#startPair(id);
    if (pair[type] !== undefined) {
      stream.refuse();
      return;
    }
    pair[type] = stream;
    stream.accept();
    const { data, error } = pair;
    if (data === undefined || error === undefined) return;
    pair.timer.cancel();
    this.#pairs.delete(id);
    void this.#forward(data, error);
  }

  /** The client is gone: nothing is waited for any more. */
  close(): void {
    for (const { timer } of this.#pairs.values()) timer.cancel();
    this.#pairs.clear();
  }

  #startPair(id: string): Pair {
    const timer = this.#options.clock.setTimer(
      this.#options.streamCreationTimeoutMs,
      () => {
        const pair = this.#pairs.get(id);
        this.#pairs.delete(id);
        pair?.error?.outbound.end('timed out waiting for the other stream of the connection');
        pair?.data?.refuse();
      },
      { unref: true },
    );
    const pair: Pair = { timer };
    this.#pairs.set(id, pair);
    return pair;
  }

  async #forward(data: SpdyStream, error: SpdyStream): Promise<void> {
    const { connect, gone, clock } = this.#options;
    const { inbound, outbound } = data;
    const ways = { inbound, outbound, clientEnds: true };
    error.inbound.resume();
    const message = await forwardPort({ port: toPort(data) ?? 0, connect, ...ways, gone, clock });
    if (message !== undefined) error.outbound.write(message);
    error.outbound.end();
    await finished(error.outbound).catch(() => undefined);
    if (message !== undefined) data.outbound.destroy();
  }
}

/** Very old clients send no id: their two streams follow each other, the error stream first. */
function requestIdOf(stream: SpdyStream, type: 'error' | 'data'): string {
  return stream.headers.get('requestid') ?? `stream ${type === 'error' ? stream.id : stream.id - 2}`;
}

function toPort(stream: SpdyStream): number | undefined {
  const text = stream.headers.get('port') ?? '';
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  return port > 0 && port <= 65_535 ? port : undefined;
}
