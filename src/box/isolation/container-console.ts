import { constants, openSync } from 'node:fs';
import { Socket } from 'node:net';
import { type Readable, type Writable } from 'node:stream';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type ContainerFiles } from '../container/container-files.js';
import { type ContainerOutput } from '../container/output/container-output.js';
import { PtyResizer } from '../process/pty.js';
import { refused } from '../rpc-error.js';
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
  const stdout = await output.follow('stdout');
  const stderr = await output.follow('stderr').catch((error: unknown) => {
    stdout.destroy();
    throw error;
  });
  const broken = whenBroken([stdout, stderr]);
  const stdin = options.stdin ? await openInput(files.stdinPath, clock) : undefined;
  const resizer = options.tty ? new PtyResizer({ clock, findScript }) : undefined;
  let close = (): void => undefined;
  const closed = new Promise<void>((resolve) => (close = resolve));
  const ended = Promise.race([options.ended, closed, broken])
    .then(() => undefined)
    .finally(() => {
      stdin?.destroy();
      stdout.finish();
      stderr.finish();
    });
  // Whoever has let go of it does not want to know.
  ended.catch(() => undefined);
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

/** Rejects as soon as one of them cannot be read. */
function whenBroken(outputs: readonly Readable[]): Promise<never> {
  return new Promise((_resolve, reject) => {
    for (const each of outputs) {
      each.once('error', (error) => {
        reject(refused(`the output of the container cannot be read: ${messageOf(error)}`));
      });
    }
  });
}

/** How long the supervisor of a container that has just started may take to open its end. */
const OPEN_MS = 500;
const TRY_AGAIN_MS = 10;

/** Opens the container's input; undefined when nobody reads it any more. */
async function openInput(path: string, clock: Clock): Promise<Writable | undefined> {
  const deadline = clock.monotonicMs() + OPEN_MS;
  for (;;) {
    try {
      return openPipe(path);
    } catch (error) {
      // Nobody has it open: not yet, or not any more.
      const mayCome = systemCodeOf(error) === 'ENXIO';
      if (!mayCome || clock.monotonicMs() >= deadline) return undefined;
    }
    await clock.sleep(TRY_AGAIN_MS);
  }
}

/** Never waits for the other end: throws ENXIO when nobody has it open. */
function openPipe(path: string): Writable {
  const fd = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  const pipe = new Socket({ fd, readable: false, writable: true });
  // The reader has closed its end: what is written is nobody's any more.
  pipe.on('error', () => undefined);
  return pipe;
}
