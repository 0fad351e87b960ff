import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { type Readable, type Writable } from 'node:stream';
import {
  MOUNT_ENVIRONMENT,
  MOUNT_LIMIT_MS,
  type MountTool,
  runMountTool,
  toMountFailure,
} from './mount-tool.js';

interface Job {
  readonly tool: MountTool;
  readonly args: readonly string[];
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
}

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** A process that ends by itself as soon as nobody writes to it any more, however the agent ended. */
const SHELL = 'sh';
/** Pods come and go together: between them it is not worth a process. */
const IDLE_MS = 10_000;

/**
 * Runs mount(8) and umount(8) one after the other from a shell that is started once.
 *
 * To start a program, the kernel copies the tables of the memory of whoever starts it, and Node stands still until that is
 * done: milliseconds of CPU for each mount in an agent of usual size, next to nothing in a shell. As one waits for the other,
 * it is only for mounts that wait for nobody: of file systems in memory.
 */
export class MountShell {
  readonly #limitMs: number;
  readonly #idleMs: number;
  readonly #shell: string;
  /** The first of them is being run. */
  readonly #jobs: Job[] = [];
  #child: Shell | undefined;
  /** Of the job that is being run, or of the shell that has none. */
  #timer: NodeJS.Timeout | undefined;
  #said = '';

  constructor({ limitMs = MOUNT_LIMIT_MS, idleMs = IDLE_MS, shell = SHELL } = {}) {
    this.#limitMs = limitMs;
    this.#idleMs = idleMs;
    this.#shell = shell;
  }

  /** As {@link runMountTool} does. */
  async run(tool: MountTool, args: readonly string[]): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.#jobs.push({ tool, args, resolve, reject });
      if (this.#jobs.length === 1) this.#runNext();
    });
  }

  #runNext(): void {
    clearTimeout(this.#timer);
    const job = this.#jobs[0];
    // An agent that has nothing else to do may end.
    if (this.#child !== undefined) hold(this.#child, job !== undefined);
    if (job === undefined) {
      this.#timer = setTimeout(() => this.#rest(), this.#idleMs).unref();
      return;
    }
    this.#child ??= this.#start();
    if (this.#child === undefined) {
      this.#settle(runWithoutShell);
      return;
    }
    const command = [job.tool, ...job.args].map(quote).join(' ');
    this.#timer = setTimeout(() => this.#giveUp(), this.#limitMs);
    this.#child.stdin.write(
      `words=$(${command} </dev/null 2>&1 >/dev/null); printf '%s %s\\0' "$?" "$words"\n`,
    );
  }

  #start(): Shell | undefined {
    const child = spawnShell(this.#shell);
    if (child === undefined) return undefined;
    this.#said = '';
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      if (child === this.#child) this.#hear(chunk);
    });
    // How the shell ended says more.
    child.stdin.on('error', () => undefined);
    child.once('error', () => this.#lose(child, 'there is no shell'));
    child.once('close', () => this.#lose(child, 'its shell has ended'));
    return child;
  }

  #hear(chunk: string): void {
    this.#said += chunk;
    const end = this.#said.indexOf('\0');
    if (end < 0) return;
    const answer = this.#said.slice(0, end);
    this.#said = this.#said.slice(end + 1);
    const [code = '', ...words] = answer.split(' ');
    this.#settle(({ tool, resolve, reject }) => {
      if (code === '0') resolve();
      else reject(toMountFailure(tool, `it ended with ${code}`, words.join(' ')));
    });
  }

  /** The next job gets a shell of its own. */
  #giveUp(): void {
    const child = this.#child;
    this.#child = undefined;
    if (child?.pid !== undefined) {
      try {
        process.kill(-child.pid, 'SIGKILL');
      } catch {
        // It has ended by itself.
      }
    }
    this.#settle(({ tool, reject }) => reject(toMountFailure(tool, 'it was ended by SIGKILL', '')));
  }

  #rest(): void {
    this.#child?.stdin.end();
    this.#child = undefined;
  }

  #lose(child: Shell, why: string): void {
    if (child !== this.#child) return;
    this.#child = undefined;
    this.#settle((job) => {
      if (child.pid === undefined) runWithoutShell(job);
      else job.reject(toMountFailure(job.tool, why, ''));
    });
  }

  #settle(end: (job: Job) => void): void {
    const job = this.#jobs.shift();
    if (job !== undefined) end(job);
    this.#runNext();
  }
}

/** No shell is no reason not to mount. */
function runWithoutShell({ tool, args, resolve, reject }: Job): void {
  runMountTool(tool, args).then(resolve, reject);
}

/** Undefined when it cannot be had at once: the machine has no memory left for it, or the agent no descriptors for its pipes. */
function spawnShell(shell: string): Shell | undefined {
  let child: ChildProcess;
  try {
    child = spawn(shell, [], {
      // A group of its own: what hangs is ended with it, and Ctrl-C is for the agent.
      ...{ env: MOUNT_ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'], detached: true },
    });
  } catch {
    return undefined;
  }
  if (hasPipes(child)) return child;
  child.once('error', () => undefined);
  return undefined;
}

/** Without them whatever is declared, when there were no descriptors left. */
function hasPipes(child: ChildProcess): child is Shell {
  return (child.stdin ?? undefined) !== undefined && (child.stdout ?? undefined) !== undefined;
}

function hold(child: Shell, isHeld: boolean): void {
  for (const part of [child, child.stdin, child.stdout]) {
    // The ends of pipes are sockets, but are not declared as such.
    if (part instanceof Socket || part === child) part[isHeld ? 'ref' : 'unref']();
  }
}

function quote(word: string): string {
  return `'${word.replaceAll("'", String.raw`'\''`)}'`;
}
