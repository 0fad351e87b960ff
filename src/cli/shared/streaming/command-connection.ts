import { type Readable, type Writable } from 'node:stream';
import { type Terminal } from '../../terminal.js';

/** What is asked of a container: which streams, and whether they are those of a terminal. */
export interface StreamChoice {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  readonly tty: boolean;
}

/** A running exec or attach, whatever protocol carries it. */
export interface CommandConnection {
  /** The standard input of the command; `end()` signals its end. */
  readonly stdin: Writable | undefined;
  readonly stdout: Readable | undefined;
  readonly stderr: Readable | undefined;
  /** How the command ended, as the last thing that is said; undefined when the connection broke before. */
  readonly outcome: Promise<CommandOutcome | undefined>;
  resize(size: TerminalSize): void;
  /** Ends the connection at once; the command may go on. */
  destroy(): void;
}

/** In characters. */
export type TerminalSize = Pick<Terminal, 'columns' | 'rows'>;

/** How a command ended. */
export type CommandOutcome =
  { readonly kind: 'exited'; readonly code: number } | { readonly kind: 'failed'; readonly message: string };

interface Status {
  readonly status?: string;
  readonly message?: string;
  readonly reason?: string;
  readonly details?: { readonly causes?: readonly { readonly reason?: string; readonly message?: string }[] };
}

/**
 * Reads what the error stream of the remote command protocols says from version 4 on: a metav1.Status in JSON, with the
 * exit code as a cause. Undefined when nothing was said.
 */
export function readOutcome(text: string): CommandOutcome | undefined {
  if (text.trim() === '') return undefined;
  let status: Status;
  try {
    status = JSON.parse(text) as Status;
  } catch {
    return { kind: 'failed', message: text.trim() };
  }
  if (status.status === 'Success') return { kind: 'exited', code: 0 };
  const code = status.details?.causes?.find(({ reason }) => reason === 'ExitCode')?.message;
  if (status.reason === 'NonZeroExitCode' && code !== undefined && /^\d+$/.test(code)) {
    return { kind: 'exited', code: Number(code) };
  }
  return { kind: 'failed', message: status.message ?? 'the command failed' };
}
