import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { Option } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';

/** What {@link startPage} needs. */
export interface StartPageOptions {
  readonly host: Pick<CliHost, 'selfCommand' | 'stderr'>;
  /** Of the agent, which listens there. */
  readonly socketPath: string;
  readonly logger: Logger;
  /** Shows a line to the person at the terminal (default: on standard error). */
  readonly say?: (line: string) => void;
}

/** `--web` of commands that run an agent or an observer. */
export function webOption(): Option {
  return new Option(
    '--web',
    'Serve a page for the browser at 127.0.0.1, and print the link that opens it; see podloop web',
  ).default(false);
}

/**
 * Starts `podloop web` for an agent, as a process of its own: what browsers ask for takes no time of the agent's.
 *
 * It ends with what is returned, and with this process however that ends. Without a terminal there is none, as a log
 * that others may read is no place for a link.
 */
export function startPage({ host, socketPath, logger, say }: StartPageOptions): AsyncDisposable | undefined {
  const { selfCommand, stderr } = host;
  if (!stderr.isTerminal) {
    logger.warn('No page: there is no terminal for its link; run podloop web', { socket: socketPath });
    return undefined;
  }
  const print = say ?? ((line: string) => void stderr.writeLine(line));
  const [program, ...before] = selfCommand;
  const args = [...before, 'web', '--socket', socketPath, '--end-with-stdin'];
  const child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'], detached: true });
  child.stdin.on('error', () => undefined);
  for (const stream of [child.stdout, child.stderr])
    createInterface({ input: stream }).on('line', (line) => print(line));
  child.once('error', (error) => logger.error('The page cannot be served', { err: messageOf(error) }));
  const ended = once(child, 'close').catch(() => undefined);
  return {
    [Symbol.asyncDispose]: async () => {
      child.stdin.end();
      if (child.pid !== undefined) await ended;
    },
  };
}
