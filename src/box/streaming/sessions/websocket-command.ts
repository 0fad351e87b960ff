import { finished } from 'node:stream/promises';
import { type Readable, type Writable } from 'node:stream';
import { type WebSocket } from 'ws';
import { type Clock } from '#base/time/clock.js';
import { type CommandPeer } from './command-peer.js';
import { renderOutcome, type CommandOutcome } from './command-status.js';
import { type CommandRequest } from '../stream-request.js';
import { type TerminalSize } from '../streaming-ports.js';
import { readTerminalSizes } from './terminal-size-reader.js';
import { WebSocketChannels } from './websocket-channels.js';

const STDIN = 0;
const STDOUT = 1;
const STDERR = 2;
const ERROR = 3;
const RESIZE = 4;

interface Variant {
  readonly base64: boolean;
  readonly halfClose: boolean;
  /** The form of what the error channel says. */
  readonly outcome: 'status' | 'text';
}

/** The subprotocols by name; '' is what a client gets that asks for none. */
const VARIANTS: ReadonlyMap<string, Variant> = new Map([
  ['v5.channel.k8s.io', { base64: false, halfClose: true, outcome: 'status' }],
  ['v4.channel.k8s.io', { base64: false, halfClose: false, outcome: 'status' }],
  ['v4.base64.channel.k8s.io', { base64: true, halfClose: false, outcome: 'status' }],
  ['channel.k8s.io', { base64: false, halfClose: false, outcome: 'text' }],
  ['base64.channel.k8s.io', { base64: true, halfClose: false, outcome: 'text' }],
  ['', { base64: false, halfClose: false, outcome: 'text' }],
] as const);

/** What a client may ask for in Sec-WebSocket-Protocol for an exec or an attach. */
export const WEBSOCKET_COMMAND_PROTOCOLS: readonly string[] = [...VARIANTS.keys()].filter(Boolean);

/** What a {@link WebSocketCommandPeer} needs. */
export interface WebSocketCommandOptions {
  readonly socket: WebSocket;
  /** One of {@link WEBSOCKET_COMMAND_PROTOCOLS}, or ''. */
  readonly protocol: string;
  readonly request: CommandRequest;
  readonly clock: Clock;
  readonly idleTimeoutMs: number;
}

/** The client of an exec or an attach at the other end of a WebSocket. */
export class WebSocketCommandPeer implements CommandPeer {
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  readonly #channels: WebSocketChannels;
  readonly #outcomeForm: 'status' | 'text';
  #onSize: ((size: TerminalSize) => void) | undefined;
  #size: TerminalSize | undefined;

  constructor({ socket, protocol, request, clock, idleTimeoutMs }: WebSocketCommandOptions) {
    const { base64, halfClose, outcome } = VARIANTS.get(protocol) ?? VARIANTS.get('')!;
    this.#outcomeForm = outcome;
    this.#channels = new WebSocketChannels({ socket, base64, halfClose, clock, idleTimeoutMs });
    this.stdin = request.stdin ? this.#channels.openInbound(STDIN) : undefined;
    this.stdout = request.stdout ? this.#channels.openOutbound(STDOUT) : undefined;
    this.stderr = request.stderr && !request.tty ? this.#channels.openOutbound(STDERR) : undefined;
    readTerminalSizes(this.#channels.openInbound(RESIZE), (size) => {
      this.#size = size;
      this.#onSize?.(size);
    });
    // An empty message signals that the connection is up, as the kubelet does.
    this.#channels.send(request.stdout ? STDOUT : request.stderr ? STDERR : ERROR, Buffer.alloc(0));
  }

  get gone(): AbortSignal {
    return this.#channels.gone;
  }

  onResize(listener: (size: TerminalSize) => void): void {
    this.#onSize = listener;
    if (this.#size !== undefined) listener(this.#size);
  }

  async finish(outcome: CommandOutcome): Promise<void> {
    for (const output of [this.stdout, this.stderr]) {
      output?.end();
      if (output !== undefined) await finished(output).catch(() => undefined);
    }
    const message = renderOutcome(outcome, this.#outcomeForm);
    if (message.length > 0 && !this.gone.aborted) this.#channels.send(ERROR, message);
    await this.#channels.close();
  }
}
