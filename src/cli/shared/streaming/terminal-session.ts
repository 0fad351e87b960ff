import { type CliHost } from '../../cli-host.js';
import { type CommandConnection, type StreamChoice } from './command-connection.js';
import { isTerminalInput, makeTransparent } from './raw-terminal.js';
import { hostStreams, runStreams } from './run-streams.js';

/** What somebody wants of a session with a container. */
export interface SessionWish {
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly quiet: boolean;
}

/** The streams that are to be asked for: a terminal only where there is one, which is said otherwise. */
export async function chooseStreams(
  { stdin, tty, quiet }: SessionWish,
  host: CliHost,
): Promise<StreamChoice> {
  const isTerminal = stdin && tty && isTerminalInput(host.stdin);
  if (stdin && tty && !isTerminal && !quiet) {
    await host.stderr.writeLine('Unable to use a TTY - input is not a terminal or the right kind of file');
  }
  return { stdin, stdout: true, stderr: !isTerminal, tty: isTerminal };
}

/** What a {@link runSession} needs. */
export interface SessionOptions {
  readonly host: CliHost;
  readonly choice: StreamChoice;
  readonly signal: AbortSignal;
  /** Sends another size first, so that the program redraws its screen. */
  readonly redraw?: boolean;
}

/** Connects the process to a command until it ends; passes every byte on unchanged, and the size of a terminal. */
export async function runSession(connection: CommandConnection, options: SessionOptions): Promise<void> {
  const { host, choice, signal, redraw = false } = options;
  const local = hostStreams(host, choice.stdin, signal);
  if (!choice.tty) return runStreams(connection, local);
  const restore = makeTransparent(host.stdin);
  const sendSize = (more = 0): void => {
    const { columns, rows } = host.window ?? {};
    if (columns !== undefined && rows !== undefined) {
      connection.resize({ columns: columns + more, rows: rows + more });
    }
  };
  if (redraw) sendSize(1);
  sendSize();
  const stopResizing = host.window?.onResize(() => sendSize());
  try {
    await runStreams(connection, local);
  } finally {
    stopResizing?.();
    restore();
  }
}
