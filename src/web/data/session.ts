import { type RecordedTimeline } from '#kube/node/recorded-timeline.js';
import { LineSplitter } from './line-splitter.js';
import { findEmbedded } from './recorded-feed.js';

/** An answer that is an error. */
export class Refused extends Error {
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** A stream that is open. */
export interface OpenStream {
  close(): void;
}

/** What a reader of a stream wants to know. */
export interface StreamReader {
  /**
   * Whole lines, or pieces of `maxLine` characters of those that are longer. What has no end of line comes if the stream
   * ended as it should; after a break it is dropped, as it may be half a line.
   */
  readonly onLines: (lines: readonly string[]) => void;
  /** The agent has answered. */
  readonly onOpen?: () => void;
  /** It has ended; `status` is that of the agent's refusal, absent for an end or a broken connection. */
  readonly onEnd: (end: {
    readonly status?: number;
    readonly message: string;
    readonly isWhole: boolean;
  }) => void;
  /** After so long without anything it ends, as broken: of an agent that hangs, nothing else is seen. */
  readonly silenceMs?: number;
  /** No line is longer (default: any length). */
  readonly maxLine?: number;
}

/** What the server says about itself. */
interface Facts {
  readonly version: string;
  readonly canWrite?: boolean;
  readonly isRecorded?: boolean;
  readonly machine?: string;
}

/** What a terminal wants to know of its command. */
export interface TerminalReader {
  /** It runs. */
  readonly onOpen: () => void;
  /** What it has printed; more than about a megabyte comes only once `onDrawn` was called for what came before. */
  readonly onData: (data: Uint8Array, onDrawn: () => void) => void;
  /** `why` is a sentence. */
  readonly onEnd: (why: string) => void;
}

/** The command of a terminal. */
export interface TerminalStream {
  /** What was typed or pasted. */
  send(bytes: Uint8Array<ArrayBuffer>): void;
  resize(size: { readonly columns: number; readonly rows: number }): void;
  close(): void;
}

/** The first byte of a message of a terminal. */
const Kind = { input: 0, size: 1, drawn: 2 } as const;
/** What is pasted goes in pieces of this size. */
const PIECE_BYTES = 32 * 1_024;
const TOKEN = 'podloop-token';
/** A server that hangs does not say whether the session is over. */
const IS_OVER_MS = 5_000;
const REFUSED = 4000;
const NORMAL = 1000;

/** What the page may ask of the server: everything goes with the token of the session. */
export class Session {
  /** Whether it may change something. */
  canWrite = false;
  /** The name of the machine, where it is that of the agent. */
  machine: string | undefined;
  /** How far the clock of the server is ahead of the browser's, to a second or so. */
  aheadMs = 0;
  /** It changes when the browser opens another link. */
  readonly #readToken: () => string;

  constructor(readToken: () => string) {
    this.#readToken = readToken;
  }

  /** Rejects with {@link Refused}, or with an error when the server cannot be reached. */
  async text(path: string, signal?: AbortSignal): Promise<string> {
    const answer = await fetch(path, {
      headers: { [TOKEN]: this.#readToken() },
      ...(signal === undefined ? {} : { signal }),
    });
    const sentMs = Date.parse(answer.headers.get('date') ?? '');
    if (!Number.isNaN(sentMs)) this.aheadMs = sentMs - Date.now();
    const body = await answer.text();
    if (!answer.ok)
      throw new Refused(answer.status, readMessage(body) ?? `the server answered with ${answer.status}`);
    return body;
  }

  /** Asks for a change. Rejects as {@link text} does. */
  async change(method: 'POST' | 'DELETE', path: string): Promise<void> {
    const answer = await fetch(path, { method, headers: { [TOKEN]: this.#readToken() } });
    if (answer.ok) return;
    const body = await answer.text();
    throw new Refused(answer.status, readMessage(body) ?? `the server answered with ${answer.status}`);
  }

  /** An object that the agent, or the server of the page, answers. */
  async json<Answer>(path: string, signal?: AbortSignal): Promise<Answer> {
    const body = await this.text(path, signal);
    try {
      return JSON.parse(body) as Answer;
    } catch {
      throw new Error(`the answer to ${path} is not understood: the agent may be of another version`);
    }
  }

  /** Reads what the agent sends at a path, line by line, until it or the caller ends it. */
  stream(path: string, reader: StreamReader): OpenStream {
    const { onLines, onOpen, onEnd, silenceMs, maxLine } = reader;
    const socket = this.#open(`/stream${path}`);
    const splitter = new LineSplitter(maxLine);
    let [isOpen, isOver] = [false, false];
    let silence: ReturnType<typeof setTimeout> | undefined;
    const close = (): void => {
      isOver = true;
      clearTimeout(silence);
      socket.close();
    };
    const awaitNews = (): void => {
      clearTimeout(silence);
      if (silenceMs === undefined) return;
      silence = setTimeout(() => {
        close();
        onEnd({ message: `nothing has come for ${silenceMs / 1_000} s`, isWhole: false });
      }, silenceMs);
    };
    awaitNews();
    socket.onmessage = ({ data }) => {
      if (isOver) return;
      awaitNews();
      if (!isOpen) onOpen?.();
      isOpen = true;
      const lines = splitter.add(data as ArrayBuffer);
      if (lines.length > 0) onLines(lines);
    };
    socket.onclose = ({ code, reason }) => {
      if (isOver) return;
      close();
      const { rest } = splitter;
      const isWhole = code === NORMAL;
      if (isWhole && rest !== '') onLines([rest]);
      const status = code >= REFUSED ? { status: code - REFUSED } : {};
      onEnd({ ...status, message: reason, isWhole });
    };
    return { close };
  }

  /** Whether the server does not know this browser any more, or was started again; false if it does not answer in time. */
  async isOver(): Promise<boolean> {
    return await this.json('/session', AbortSignal.timeout(IS_OVER_MS)).then(
      () => false,
      (error: unknown) => error instanceof Refused && error.status === 401,
    );
  }

  /** Runs a command with a terminal: `path` is that of its exec. */
  terminal(path: string, { onOpen, onData, onEnd }: TerminalReader): TerminalStream {
    const socket = this.#open(`/terminal${path}`);
    socket.onmessage = ({ data }: MessageEvent<string | ArrayBuffer>) => {
      // The only text says that the command is connected.
      if (typeof data === 'string') onOpen();
      else onData(new Uint8Array(data), () => sendText(Kind.drawn, String(data.byteLength)));
    };
    socket.onclose = ({ reason }) => onEnd(reason === '' ? 'The connection has ended.' : reason);
    const send = (kind: number, bytes: Uint8Array<ArrayBuffer>): void => {
      if (socket.readyState !== WebSocket.OPEN) return;
      for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
        const piece = bytes.subarray(at, at + PIECE_BYTES);
        const message = new Uint8Array(piece.length + 1);
        message[0] = kind;
        message.set(piece, 1);
        socket.send(message);
      }
    };
    const sendText = (kind: number, text: string): void => send(kind, new TextEncoder().encode(text));
    return {
      send: (bytes) => send(Kind.input, bytes),
      resize: (size) => sendText(Kind.size, JSON.stringify(size)),
      close: () => {
        socket.onclose = null;
        socket.close();
      },
    };
  }

  #open(path: string): WebSocket {
    const protocols = ['podloop.v1', `podloop.token.${this.#readToken()}`];
    const socket = new WebSocket(`ws://${location.host}${path}`, protocols);
    socket.binaryType = 'arraybuffer';
    return socket;
  }
}

/** What the page begins with: a session with an agent, or a recording. */
export interface Opened {
  readonly session: Session;
  /** Of who serves the page. */
  readonly version: string;
  readonly recorded?: RecordedTimeline;
}

/**
 * The session of this browser: of a link that was just opened, or of one before; a file has what it shows inside. Rejects
 * with {@link Refused}.
 */
export async function openSession(): Promise<Opened> {
  const embedded = findEmbedded();
  if (embedded !== undefined) return { session: new Session(() => ''), version: '', recorded: embedded };
  const key = findKey();
  if (key !== undefined) {
    // The key is worth nothing any more, but people copy addresses.
    history.replaceState(undefined, '', '/');
    const answer = await fetch('/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ key }),
    });
    const body = await answer.text();
    if (!answer.ok) throw new Refused(answer.status, readMessage(body) ?? 'the link was refused');
    const { token } = JSON.parse(body) as { readonly token: string };
    localStorage.setItem(TOKEN, token);
  }
  const session = new Session(() => localStorage.getItem(TOKEN) ?? '');
  const { version, canWrite = false, isRecorded = false, machine } = await session.json<Facts>('/session');
  session.canWrite = canWrite;
  session.machine = machine;
  if (!isRecorded) return { session, version };
  return { session, version, recorded: await session.json<RecordedTimeline>('/records') };
}

/** The key of a link that was opened, or pasted into the address of a page that is open. */
export function findKey(): string | undefined {
  return /^#key=([\w-]+)$/.exec(location.hash)?.[1];
}

function readMessage(body: string): string | undefined {
  try {
    const { message } = JSON.parse(body) as { readonly message?: unknown };
    return typeof message === 'string' ? message : undefined;
  } catch {
    return undefined;
  }
}
