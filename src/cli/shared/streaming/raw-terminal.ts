import { spawn, spawnSync } from 'node:child_process';
import { type Readable, type Writable } from 'node:stream';

/** The part of a terminal's input that is used here. */
interface TerminalInput {
  readonly isTTY: boolean;
  readonly fd: number;
  setRawMode(isRaw: boolean): unknown;
}

/** What the system does with a terminal, given by its file descriptor. Nothing throws: a machine may have no stty. */
export interface TerminalTools {
  /** Changes settings, in the words of stty. */
  readonly set: (fd: number, settings: readonly string[]) => void;
  /**
   * Makes sure that the settings of now come back when this process dies in a way in which Node cannot restore them:
   * SIGKILL, SIGQUIT, an abort. The returned function ends that.
   */
  readonly guard: (fd: number) => () => void;
}

/**
 * What the C function cfmakeraw sets, in the words of stty; kubectl sets the same. Node's raw mode differs in one thing
 * that shows: it leaves the output processing on, which turns each LF into CR LF.
 */
export const RAW_SETTINGS: readonly string[] = [
  ...['-ignbrk', '-brkint', '-parmrk', '-istrip', '-inlcr', '-igncr', '-icrnl', '-ixon'],
  '-opost',
  ...['-echo', '-echonl', '-icanon', '-isig', '-iexten'],
  ...['-parenb', 'cs8', 'min', '1', 'time', '0'],
];

/** Whether a person types there. */
export function isTerminalInput(stdin: Readable): boolean {
  return (stdin as Partial<TerminalInput>).isTTY === true;
}

/**
 * Hands every key on as it is, Ctrl-C among them, until the returned function is called. Lines that are written go on
 * to begin at the left edge. Node itself restores the terminal when the process ends before that.
 */
export function makeRaw(stdin: Readable): () => void {
  const terminal = stdin as Readable & TerminalInput;
  terminal.setRawMode(true);
  let isRaw = true;
  return () => {
    if (isRaw) terminal.setRawMode(false);
    isRaw = false;
  };
}

/**
 * Makes the terminal pass every byte on as it is, keys and output alike, until the returned function is called: what is
 * at the other end has a terminal of its own that does the rest.
 *
 * Node saves the terminal's settings before the first change, and restores all of them here and at the ends of the
 * process that it sees; a small shell beside it does that at the others.
 */
export function makeTransparent(stdin: Readable, tools: TerminalTools = SYSTEM_TOOLS): () => void {
  const { fd } = stdin as Readable & TerminalInput;
  const endGuard = tools.guard(fd);
  const restore = makeRaw(stdin);
  tools.set(fd, RAW_SETTINGS);
  return () => {
    restore();
    endGuard();
  };
}

/**
 * Waits for a line, or for the end of the pipe, which comes when the process at its other end has died. It outlives the
 * signals that a terminal sends, and may change the terminal when a shell has it again.
 */
const GUARD_SCRIPT = `trap '' HUP INT QUIT TERM TSTP TTOU; read -r _ <&3 || stty "$0"`;

/** stty works on the terminal at its standard input. */
const SYSTEM_TOOLS: TerminalTools = {
  set: (fd, settings) => void spawnSync('stty', settings, { stdio: [fd, 'ignore', 'ignore'] }),
  guard: (fd) => {
    const { stdout, status } = spawnSync('stty', ['-g'], {
      stdio: [fd, 'pipe', 'ignore'],
      encoding: 'utf8',
    });
    if (status !== 0) return () => undefined;
    const guard = spawn('sh', ['-c', GUARD_SCRIPT, stdout.trim()], {
      stdio: [fd, 'ignore', 'ignore', 'pipe'],
    });
    const line = guard.stdio[3] as Writable & { unref(): void };
    for (const each of [guard, line]) each.on('error', () => undefined);
    guard.unref();
    line.unref();
    return () => void line.end('done\n');
  },
};
