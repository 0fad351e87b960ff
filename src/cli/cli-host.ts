import { type Readable } from 'node:stream';
import { type Clock } from '#base/time/clock.js';
import { type LineOutput } from './line-output.js';
import { type LogTarget } from './shared/log/log-target.js';
import { type Suspension, type SuspensionHandlers } from './suspension.js';
import { type Terminal, type TerminalWindow } from './terminal.js';

/** The process as a command sees it: main.ts wraps the real one, and tests create their own. */
export interface CliHost {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly pid: number;
  readonly clock: Clock;
  readonly stdin: Readable;
  /** Results. */
  readonly stdout: LineOutput;
  /** Everything that is not a result. */
  readonly stderr: LineOutput;
  /** What logs are written to, where that is not {@link stderr} as it is. */
  readonly log?: LogTarget | undefined;
  /** The one behind standard output; undefined when that goes elsewhere. */
  readonly terminal?: Terminal | undefined;
  /** The size of the terminal at standard output, whether or not it knows control sequences; undefined for a file or a pipe. */
  readonly window?: TerminalWindow | undefined;
  /** What starts this program again: the interpreter and the script, to put arguments behind. */
  readonly selfCommand: readonly [string, ...string[]];
  /** This very command as root, as a person types it; undefined where root runs it already. */
  readonly asRoot?: string | undefined;
  /** From now on Ctrl-C and SIGTERM abort the signal instead of ending the process; a second one ends it at once. */
  listenForInterrupts(): AbortSignal;
  /** Calls `listener` at each SIGUSR1 until the returned function is called. */
  onUserSignal(listener: () => void): () => void;
  /** From now on Ctrl-Z and SIGTSTP call the handlers round the stop of the process; absent where it cannot be stopped. */
  handleSuspension?(handlers: SuspensionHandlers): Suspension;
}
