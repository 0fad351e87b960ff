import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { type WebSocket } from 'ws';
import { toBuffer } from '#base/wire/to-buffer.js';
import { parseJsonObject } from '#base/text/parse-json-object.js';
import { type AgentClient } from '../api/agent-client.js';
import { type CommandConnection, type CommandOutcome } from '../streaming/command-connection.js';
import { connectCommand } from '../streaming/connect-command.js';
import { type AgentPath } from './agent-paths.js';
import { CloseCode, closePage, cutReason, PageSockets, sendPiece } from './page-sockets.js';

/** Terminals of all pages together. */
const MAX_TERMINALS = 8;
/** What somebody pastes comes in pieces of this size. */
const MAX_MESSAGE_BYTES = 64 * 1_024;
/** Of what the command has not read yet. */
const MAX_WAITING_INPUT = 1 << 20;
/** Of what the command has printed and the page has not drawn yet: a terminal in a browser takes in all it gets. */
const MAX_UNDRAWN_OUTPUT = 1 << 20;
const MAX_CELLS = 1_000;
/**
 * The first byte of a message of the page: what was typed, the size of the terminal as JSON, or how many bytes more it has
 * drawn.
 */
const Kind = { input: 0, size: 1, drawn: 2 } as const;
/** The first message to the page, as text; the others are bytes that the command has printed. */
const CONNECTED = 'connected';

/**
 * Terminals in containers, for pages that may change something: what is typed goes to the command, what it prints comes
 * back as it is.
 *
 * The connection ends when the command does, when its container or pod ends, and when the page is left.
 */
export class PageTerminals {
  readonly #client: AgentClient;
  readonly #sockets = new PageSockets({
    ...{ maxSockets: MAX_TERMINALS, maxMessageBytes: MAX_MESSAGE_BYTES },
    refusal: 'There are too many terminals; close others.',
    serve: async (page, path) => this.#run(page, path),
  });

  constructor(client: AgentClient) {
    this.#client = client;
  }

  /** Runs the command of a path with a terminal until one of both ends it. */
  accept(request: IncomingMessage, socket: Duplex, head: Buffer, path: AgentPath): void {
    this.#sockets.accept(request, socket, head, path);
  }

  /** Ends all of them. */
  close(): void {
    this.#sockets.close();
  }

  async #run(page: WebSocket, target: AgentPath): Promise<void> {
    const ending = new AbortController();
    const { signal } = ending;
    page.once('close', () => ending.abort(new Error('the page is closed')));
    const output = new OutputWindow(signal);
    const connected = takeInput(page, output);
    const choice = { stdin: true, stdout: true, stderr: false, tty: true };
    try {
      const command = await connectCommand(this.#client, {
        ...{ ...target, choice, signal },
        // For the history of the node.
        headers: { 'podloop-client': 'web' },
      });
      signal.addEventListener('abort', () => command.destroy(), { once: true });
      if (signal.aborted) command.destroy();
      page.send(CONNECTED);
      connected(command);
      for await (const piece of command.stdout! as AsyncIterable<Buffer>) {
        await sendPiece(page, piece, signal);
        await output.sent(piece.length);
      }
      page.close(CloseCode.normal, cutReason(describeOutcome(await command.outcome)));
    } catch (error) {
      if (!signal.aborted) closePage(page, error);
    } finally {
      ending.abort();
    }
  }
}

/** How much of the output is on its way to the screen of the page. */
class OutputWindow {
  readonly #signal: AbortSignal;
  #undrawnBytes = 0;
  #onDrawn: () => void = () => undefined;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Resolves once there may be more. Rejects when the page is closed. */
  async sent(bytes: number): Promise<void> {
    this.#undrawnBytes += bytes;
    if (this.#undrawnBytes <= MAX_UNDRAWN_OUTPUT) return;
    const signal = this.#signal;
    await new Promise<void>((resolve, reject) => {
      const onAbort = (): void => reject(signal.reason as Error);
      this.#onDrawn = () => {
        if (this.#undrawnBytes > MAX_UNDRAWN_OUTPUT) return;
        signal.removeEventListener('abort', onAbort);
        resolve();
      };
      signal.addEventListener('abort', onAbort, { once: true });
      if (signal.aborted) onAbort();
    });
  }

  /** The page has drawn so much more. */
  drawn(bytes: number): void {
    this.#undrawnBytes = Math.max(0, this.#undrawnBytes - bytes);
    this.#onDrawn();
  }
}

/** Hands on what the page sends, once the returned function has got the command; until then it waits here. */
function takeInput(page: WebSocket, output: OutputWindow): (command: CommandConnection) => void {
  const early: Buffer[] = [];
  let earlyBytes = 0;
  let command: CommandConnection | undefined;
  page.on('message', (data) => {
    // A page that was refused may go on to send.
    if (page.readyState !== page.OPEN) return;
    const message = toBuffer(data);
    if (message[0] === Kind.drawn) output.drawn(readCount(message.subarray(1).toString()));
    else if (command !== undefined) handOn(page, command, message);
    else if ((earlyBytes += message.length) > MAX_WAITING_INPUT) refuseInput(page);
    else early.push(message);
  });
  return (connected) => {
    command = connected;
    connected.stdin!.on('error', () => undefined);
    for (const message of early.splice(0)) handOn(page, connected, message);
  };
}

function handOn(page: WebSocket, command: CommandConnection, message: Buffer): void {
  const stdin = command.stdin!;
  const rest = message.subarray(1);
  if (message[0] === Kind.input) {
    stdin.write(rest);
    // Not paused: that would hide that the page was left.
    if (stdin.writableLength > MAX_WAITING_INPUT) refuseInput(page);
  } else if (message[0] === Kind.size) {
    const size = readSize(rest.toString());
    if (size !== undefined) command.resize(size);
  }
}

function refuseInput(page: WebSocket): void {
  page.close(CloseCode.tooMuch, 'The command does not read what is typed.');
}

/** 0 for what is no number of bytes. */
function readCount(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : 0;
}

function readSize(text: string): { columns: number; rows: number } | undefined {
  const { columns, rows } = parseJsonObject(text) ?? {};
  const isSize = (value: unknown): value is number =>
    Number.isInteger(value) && (value as number) >= 1 && (value as number) <= MAX_CELLS;
  return isSize(columns) && isSize(rows) ? { columns, rows } : undefined;
}

function describeOutcome(outcome: CommandOutcome | undefined): string {
  if (outcome === undefined) return 'The connection to the container has ended.';
  if (outcome.kind === 'exited') return `The command has ended with exit code ${outcome.code}.`;
  return `The command has ended: ${outcome.message}`;
}
