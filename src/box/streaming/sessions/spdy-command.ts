import { type Readable, type Writable } from 'node:stream';
import { finished } from 'node:stream/promises';
import { type CommandPeer } from './command-peer.js';
import { renderOutcome, type CommandOutcome } from './command-status.js';
import { type SpdySession } from '../spdy/spdy-session.js';
import { type SpdyStream } from '../spdy/spdy-stream.js';
import { type CommandRequest } from '../stream-request.js';
import { type TerminalSize } from '../streaming-ports.js';
import { readTerminalSizes } from './terminal-size-reader.js';

/** The versions of the remote command protocol over SPDY, the best first. */
export const SPDY_COMMAND_PROTOCOLS = [
  'v4.channel.k8s.io',
  'v3.channel.k8s.io',
  'v2.channel.k8s.io',
  'channel.k8s.io',
] as const;

const STREAM_TYPE = 'streamtype';
type StreamType = 'error' | 'stdin' | 'stdout' | 'stderr' | 'resize';

/** Which streams the client of a request has to open. */
export function expectedStreams(request: CommandRequest, protocol: string): ReadonlySet<StreamType> {
  const types = new Set<StreamType>(['error']);
  if (request.stdin) types.add('stdin');
  if (request.stdout) types.add('stdout');
  if (request.stderr && !request.tty) types.add('stderr');
  // From version 3 on.
  if (request.tty && /^v[34]\./.test(protocol)) types.add('resize');
  return types;
}

/** Collects the streams that a client opens, until all are there that its request needs. */
export class CommandStreams {
  readonly complete: Promise<ReadonlyMap<StreamType, SpdyStream>>;
  readonly #expected: ReadonlySet<string>;
  readonly #streams = new Map<StreamType, SpdyStream>();
  #resolve!: (streams: ReadonlyMap<StreamType, SpdyStream>) => void;

  constructor(expected: ReadonlySet<StreamType>) {
    this.#expected = expected;
    this.complete = new Promise((resolve) => (this.#resolve = resolve));
  }

  get areComplete(): boolean {
    return this.#streams.size === this.#expected.size;
  }

  /** Takes a new stream in; one that nobody needs, or that is there already, is refused. */
  add(stream: SpdyStream): void {
    const type = (stream.headers.get(STREAM_TYPE) ?? '') as StreamType;
    if (!this.#expected.has(type) || this.#streams.has(type)) {
      stream.refuse();
      return;
    }
    this.#streams.set(type, stream);
    stream.accept();
    if (this.areComplete) this.#resolve(this.#streams);
  }
}

/** What a {@link SpdyCommandPeer} needs. */
export interface SpdyCommandOptions {
  readonly session: SpdySession;
  readonly streams: ReadonlyMap<StreamType, SpdyStream>;
  /** One of {@link SPDY_COMMAND_PROTOCOLS}. */
  readonly protocol: string;
}

/** The client of an exec or an attach at the other end of a SPDY connection. */
export class SpdyCommandPeer implements CommandPeer {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  readonly #options: SpdyCommandOptions;
  #onSize: ((size: TerminalSize) => void) | undefined;
  #size: TerminalSize | undefined;

  constructor(options: SpdyCommandOptions) {
    this.#options = options;
    const { streams } = options;
    this.stdin = streams.get('stdin')?.inbound;
    this.stdout = streams.get('stdout')?.outbound;
    this.stderr = streams.get('stderr')?.outbound;
    const resize = streams.get('resize')?.inbound;
    if (resize !== undefined) {
      readTerminalSizes(resize, (size) => {
        this.#size = size;
        this.#onSize?.(size);
      });
    }
    // Clients only end these.
    for (const type of ['error', 'stdout', 'stderr'] as const) streams.get(type)?.inbound.resume();
  }

  get gone(): AbortSignal {
    return this.#options.session.gone;
  }

  onResize(listener: (size: TerminalSize) => void): void {
    this.#onSize = listener;
    if (this.#size !== undefined) listener(this.#size);
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    const { protocol, session, streams } = this.#options;
    // Output before the outcome, or a client could be gone before it has read it.
    for (const type of ['stdout', 'stderr'] as const) await endOutbound(streams.get(type));
    const message = renderOutcome(outcome, protocol === 'v4.channel.k8s.io' ? 'status' : 'text');
    if (message.length > 0) streams.get('error')?.outbound.write(message);
    for (const type of ['error', 'stdin', 'resize'] as const) await endOutbound(streams.get(type));
    await session.close();
  }
}

/** Resolves when all of it was sent, or nothing can be sent any more. */
async function endOutbound(stream: SpdyStream | undefined): Promise<void> {
  if (stream === undefined) return;
  stream.outbound.end();
  await finished(stream.outbound).catch(() => undefined);
}
