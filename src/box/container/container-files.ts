import { execFile } from 'node:child_process';
import { chown, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { LinuxContainerResources } from '#watch/messages';
import { findClaim, voidClaim, type ProcessClaim } from '../process/process-claim.js';
import { parseProcessStat, type ProcessIdentity } from '../process/child-identity.js';
import { isFull } from '#base/fs/disk-errors.js';
import { namesIn } from '#base/fs/names-in.js';
import { readIfThere, syncPath, writeWhole } from '#base/fs/whole-file.js';
import { SPOOL_MARK, SpoolReader } from './output/spool-reader.js';

/** How a container ended. */
export interface ContainerExit {
  readonly code: number;
  /** Completed, Error, OOMKilled, StartError, Unknown. */
  readonly reason: string;
  readonly message: string;
  /** Nanoseconds since the epoch. */
  readonly finishedAtNs: bigint;
}

/** That a container was started. */
export interface ContainerStart {
  readonly main: ProcessIdentity;
  /** Nanoseconds since the epoch. */
  readonly startedAtNs: bigint;
}

const run = promisify(execFile);
/** The reason that other CRI runtimes give. */
const OOM_KILLED = 'OOMKilled';
/** That of a container that never ran. */
export const START_ERROR = 'StartError';
const TOO_SMALL = 'its memory limit is too small to start in: the kernel ended its set-up';
/** Room for the longest line that the supervisor writes, or the runtime in its place. */
const EXIT_RECORD_BYTES = 256;

/** The facts about a container that its supervisor leaves in the container's folder. */
export class ContainerFiles {
  readonly dir: string;
  readonly #rootDir: string;

  /** @param rootDir the runtime's root, which is nobody's business but the runtime's: no message has its path. */
  constructor(dir: string, rootDir = dir) {
    this.dir = dir;
    this.#rootDir = rootDir;
  }

  get recordPath(): string {
    return join(this.dir, 'container.json');
  }

  get positionPath(): string {
    return join(this.dir, 'log-position.json');
  }

  /** Reads what the supervisor has taken of an output. */
  openSpool(stream: 'stdout' | 'stderr'): SpoolReader {
    return new SpoolReader({ dir: this.dir, stream });
  }

  /** Gives the disk space of the spools back: nobody needs what was in them. */
  async removeSpools(): Promise<void> {
    // Without a folder the container is being removed.
    const names = await namesIn(this.dir);
    for (const name of names) if (name.includes(SPOOL_MARK)) await rm(join(this.dir, name), { force: true });
  }

  /** The pipe into which whoever attaches writes the container's input. */
  get stdinPath(): string {
    return join(this.dir, 'stdin.pipe');
  }

  /**
   * Makes the pipes through which the output goes, and those of the input. They belong to the container's user, so
   * that its program can open /dev/stdout and its like.
   */
  async makePipes(mkfifo: string, pipes: { output: boolean; input: boolean; uid: number }): Promise<void> {
    const names = [
      ...(pipes.output ? ['stdout.pipe', 'stderr.pipe'] : []),
      ...(pipes.input ? ['stdin.pipe', 'input.pipe'] : []),
    ];
    if (names.length === 0) return;
    const paths = names.map((name) => join(this.dir, name));
    await run(mkfifo, ['-m', '600', ...paths]);
    if (pipes.uid === process.getuid?.()) return;
    await Promise.all(paths.map((path) => chown(path, pipes.uid, -1)));
  }

  /** Makes room on the disk for the exit record, so that writing it later needs none. */
  async reserveExit(): Promise<void> {
    await writeWhole(this.#exitPath, `${' '.repeat(EXIT_RECORD_BYTES - 1)}\n`);
  }

  /** How the container ended; undefined as long as it has not. A record that is not whole counts as none. */
  async findExit(): Promise<ContainerExit | undefined> {
    const text = await readIfThere(this.#exitPath);
    const match = /^exit (\d{1,3})(?: (\w+) ?([^\n]*))?\n/.exec(text ?? '');
    if (match === null) return undefined;
    const code = Number(match[1]);
    const oomKilled = (await readIfThere(this.#oomPath)) !== undefined;
    const message = (match[3] ?? '').replaceAll(this.#rootDir, 'ROOT');
    return {
      code,
      reason: match[2] ?? (oomKilled ? OOM_KILLED : code === 0 ? 'Completed' : 'Error'),
      message: oomKilled && match[2] === START_ERROR ? TOO_SMALL : message,
      finishedAtNs: await modifiedAtNs(this.#exitPath),
    };
  }

  /** Records an end that no supervisor could: a failed start, a lost supervisor. */
  async writeExit(exit: { code: number; reason: string; message: string }): Promise<void> {
    const message = exit.message.replaceAll(/\s+/g, ' ');
    const line = `exit ${exit.code} ${exit.reason} ${message}`;
    try {
      await writeWhole(this.#exitPath, `${line}\n`);
    } catch (error) {
      if (!isFull(error)) throw error;
      await this.#writeReserved(line);
    }
  }

  /** Into the room that {@link reserveExit} has made, as the supervisor does. */
  async #writeReserved(line: string): Promise<void> {
    await using file = await open(this.#exitPath, 'r+');
    const bytes = Buffer.from(line).subarray(0, EXIT_RECORD_BYTES - 1);
    await file.write(Buffer.concat([bytes, Buffer.from('\n')]), 0, bytes.length + 1, 0);
    await file.sync();
  }

  /** Records that memory ran out in it: its cgroup, which knows it now, does not outlive the boot. */
  async markOomKilled(): Promise<void> {
    await writeWhole(this.#oomPath, '');
  }

  /** Brings the supervisor's own record to the disk. */
  async syncExit(): Promise<void> {
    await syncPath(this.#exitPath);
  }

  /** The entrypoint; undefined when there was none yet. */
  async findStart(): Promise<ContainerStart | undefined> {
    const path = join(this.dir, 'pid');
    const text = await readIfThere(path);
    if (text?.endsWith('\n') !== true) return undefined;
    const main = parseProcessStat(text);
    if (main === undefined) return undefined;
    const { pid, startTicks } = main;
    return { main: { pid, startTicks }, startedAtNs: await modifiedAtNs(path) };
  }

  /** The supervisor of a run; undefined when that run has none, `void` when it was declared void. */
  findSupervisor(run: number): Promise<ProcessClaim | 'void' | undefined> {
    return findClaim(this.#runPath(run));
  }

  /** Takes a run so that no supervisor can have it any more; false when one has it already. */
  voidRun(run: number): Promise<boolean> {
    return voidClaim(this.#runPath(run));
  }

  /** The limits that were set after its creation; undefined when they never changed. */
  async findResources(): Promise<LinuxContainerResources | undefined> {
    const text = await readIfThere(this.#resourcesPath);
    return text === undefined ? undefined : LinuxContainerResources.decode(Buffer.from(text, 'base64'));
  }

  /** Records limits that were changed; undefined for those of its creation. */
  async writeResources(resources: LinuxContainerResources | undefined): Promise<void> {
    if (resources === undefined) await rm(this.#resourcesPath, { force: true });
    else {
      const bytes = LinuxContainerResources.encode(resources).finish();
      await writeWhole(this.#resourcesPath, Buffer.from(bytes).toString('base64'));
    }
  }

  #runPath(run: number): string {
    return join(this.dir, `run.${run}`);
  }

  get #resourcesPath(): string {
    return join(this.dir, 'resources');
  }

  get #exitPath(): string {
    return join(this.dir, 'exit');
  }

  get #oomPath(): string {
    return join(this.dir, 'oom');
  }
}

/** The time of the last write is the time of the event: a shell has no clock of its own that fine. */
async function modifiedAtNs(path: string): Promise<bigint> {
  return (await stat(path, { bigint: true })).mtimeNs;
}
