import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Writable } from 'node:stream';
import { type Clock } from '../../util/clock.js';
import { type ContainerFiles } from '../container-files.js';
import { type ContainerOutput } from '../container-output.js';
import { PtyResizer } from '../streaming/pty.js';
import { type ContainerConsole } from './container-process.js';

/** What {@link openConsole} needs. */
export interface ConsoleOptions {
  readonly files: ContainerFiles;
  readonly output: ContainerOutput;
  readonly stdin: boolean;
  readonly tty: boolean;
  readonly clock: Clock;
  /** The process that makes the container's terminal; undefined when there is none any more. */
  readonly findScript: () => number | undefined;
  /** Resolves once the container has ended and its last output is in the spools. */
  readonly ended: Promise<unknown>;
}

/** Attaches to a running container. */
export async function openConsole(options: ConsoleOptions): Promise<ContainerConsole> {
  const { files, output, clock, findScript } = options;
  const [stdout, stderr] = [await output.follow('stdout'), await output.follow('stderr')];
  const stdin = options.stdin ? openPipe(files.stdinPath) : undefined;
  const resizer = options.tty ? new PtyResizer({ clock, findScript }) : undefined;
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const ended = Promise.race([options.ended, closed]).then(() => {
    stdin?.destroy();
    stdout.finish();
    stderr.finish();
  });
  return {
    ...(stdin && { stdin }),
    stdout,
    stderr,
    ...(resizer && { resize: (columns: number, rows: number) => resizer.resize({ columns, rows }) }),
    ended,
    close: () => {
      close();
      stdout.destroy();
      stderr.destroy();
    },
  };
}

/** The container's end is open, or waits for ours: so this never waits. Undefined when nobody reads it any more. */
function openPipe(path: string): Writable | undefined {
  try {
    const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
    const pipe = new Socket({ fd, readable: false, writable: true });
    // The reader has closed its end: what is written is nobody's any more.
    pipe.on('error', () => undefined);
    return pipe;
  } catch {
    return undefined;
  }
}
