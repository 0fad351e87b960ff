import { type Readable, type Writable } from 'node:stream';
import { type CommandOutcome } from './command-status.js';
import { type TerminalSize } from '../streaming-ports.js';

/**
 * The client's side of an exec or an attach, whatever carries it.
 *
 * A stream is there when the request asked for it. Writing is at the client's pace: a chunk is done when the
 * connection has taken it.
 */
export interface CommandPeer {
  /** Ends when the client says that nothing more comes; is closed without an end when the client is gone. */
  readonly stdin: Readable | undefined;
  readonly stdout: Writable | undefined;
  readonly stderr: Writable | undefined;
  /** Aborts when the client is gone, or nothing has been heard of either side for too long. */
  readonly gone: AbortSignal;
  /** Sets the listener for terminal sizes; it gets the last earlier size at once. */
  onResize(listener: (size: TerminalSize) => void): void;
  /** Sends what is left, then how it ended, then closes. Never rejects; does nothing when the client is gone. */
  finish(outcome: CommandOutcome): Promise<void>;
}
