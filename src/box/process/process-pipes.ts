import { randomBytes } from 'node:crypto';
import { closeSync, constants, openSync, rmSync } from 'node:fs';
import { Socket } from 'node:net';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { findTool } from './find-tools.js';
import { runHelper } from './helper-process.js';

const { O_NONBLOCK, O_RDONLY, O_RDWR, O_WRONLY } = constants;

/** Which streams of a process are wanted, and where their pipes may be made. */
export interface PipesOptions {
  readonly stdin: boolean;
  readonly stdout: boolean;
  readonly stderr: boolean;
  /** A folder; nothing stays in it. */
  readonly folder: string;
  readonly clock: Clock;
  /** Path of `mkfifo` (default: searched for where tools are). */
  readonly mkfifo?: string | undefined;
}

/** Making some names takes a millisecond; what takes longer than this is a disk that hangs. */
export const MKFIFO_MS = 10_000;

/** The two ends of a process's streams. */
export interface ProcessPipes {
  readonly stdin: Socket | undefined;
  readonly stdout: Socket | undefined;
  readonly stderr: Socket | undefined;
  /** What the process gets as its first three files: a file descriptor each, /dev/null where nothing is wanted. */
  readonly stdio: readonly (number | 'ignore')[];
  /** To be called once the process has them: until then our copies keep the pipes open. */
  readonly closeTheirs: () => void;
}

/**
 * Makes real pipes for a process's streams.
 *
 * What Node makes of `stdio: 'pipe'` are sockets, and a socket cannot be opened again: a shell's `> /dev/stderr`
 * fails with ENXIO. These are named pipes whose names are gone before the process starts. Everybody may open them
 * again, for a container's user is not ours. Costs the start of one `mkfifo`, which is given {@link MKFIFO_MS}.
 */
export async function makeProcessPipes({
  folder,
  clock,
  mkfifo,
  ...wanted
}: PipesOptions): Promise<ProcessPipes> {
  const names = (['stdin', 'stdout', 'stderr'] as const).filter((name) => wanted[name]);
  const nothing = { stdin: undefined, stdout: undefined, stderr: undefined };
  if (names.length === 0) return { ...nothing, stdio: Array(3).fill('ignore'), closeTheirs: () => undefined };
  const mark = randomBytes(8).toString('hex');
  const pathOf = (name: string): string => join(folder, `${mark}.${name}`);
  const theirs = new Map<string, number>();
  const ours = new Map<string, Socket>();
  const closeTheirs = (): void => {
    for (const fd of theirs.values()) closeSync(fd);
    theirs.clear();
  };
  try {
    const argv = [mkfifo ?? (await findTool('mkfifo')), '-m', '666', ...names.map(pathOf)];
    const { exitCode } = await runHelper({ argv, deadlineMs: MKFIFO_MS, clock });
    if (exitCode !== 0) throw new Error('no pipes can be made: is the disk full?');
    for (const name of names) {
      const [our, their] = openEnds(pathOf(name), name === 'stdin');
      theirs.set(name, their);
      ours.set(name, new Socket({ fd: our, readable: name !== 'stdin', writable: name === 'stdin' }));
    }
  } catch (error) {
    closeTheirs();
    for (const socket of ours.values()) socket.destroy();
    throw error;
  } finally {
    // At once and not by way of the thread pool: it costs microseconds.
    for (const name of names) rmSync(pathOf(name), { force: true });
  }
  return {
    stdin: ours.get('stdin'),
    stdout: ours.get('stdout'),
    stderr: ours.get('stderr'),
    stdio: ['stdin', 'stdout', 'stderr'].map((name) => theirs.get(name) ?? 'ignore'),
    closeTheirs,
  };
}

/** Our end does not block and theirs does, as programs expect it; no open waits for the other end. */
function openEnds(path: string, weWrite: boolean): [our: number, their: number] {
  const both = openSync(path, O_RDWR | O_NONBLOCK);
  try {
    const our = openSync(path, (weWrite ? O_WRONLY : O_RDONLY) | O_NONBLOCK);
    try {
      return [our, openSync(path, weWrite ? O_RDONLY : O_WRONLY)];
    } catch (error) {
      closeSync(our);
      throw error;
    }
  } finally {
    closeSync(both);
  }
}
