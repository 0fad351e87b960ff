import { closeSync } from 'node:fs';
import { isatty } from 'node:tty';
import { type ExitSource } from './terminal.js';

const STANDARD_FDS = [0, 1, 2];

/** The calls that inspect and close a file descriptor. */
export interface TerminalFds {
  readonly isTerminal: (fd: number) => boolean;
  readonly close: (fd: number) => void;
}

/**
 * Lets the process end with its own exit code after its terminal has gone: a window that was closed, a connection that
 * broke.
 *
 * At its end Node restores the settings of each terminal that it was started at. Where that fails it aborts, with
 * SIGABRT and a core dump. It passes over file descriptors that are closed by then.
 */
export function closeGoneTerminals(
  process: Pick<ExitSource, 'on'>,
  fds: TerminalFds = { isTerminal: isatty, close: closeSync },
): void {
  const terminals = STANDARD_FDS.filter(fds.isTerminal);
  if (terminals.length === 0) return;
  process.on('exit', () => {
    for (const fd of terminals) {
      if (!fds.isTerminal(fd)) fds.close(fd);
    }
  });
}
