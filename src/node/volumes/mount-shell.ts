import { type ChildProcess, type ChildProcessByStdio, spawn } from 'node:child_process';
import { Socket } from 'node:net';
import { type Readable, type Writable } from 'node:stream';
import { type Clock, type ClockTimer } from '#base/time/clock.js';
import { startFairDeadline } from '#base/async/fair-deadline.js';
import { killGroup } from '#base/proc/kill-group.js';
import { MOUNT_ENVIRONMENT, type MountTool, MountToolFailure, toMountFailure } from './mount-tool.js';

/** What a {@link MountShell} needs. */
export interface MountShellOptions {
  readonly clock: Clock;
  /** Limit for one tool, in milliseconds. */
  readonly limitMs: number;
  /** The program to start. */
  readonly shell: string;
}

/** There was no shell: nothing was run. */
export class NoShellError extends Error {}

interface Job {
  readonly tool: MountTool;
  readonly resolve: () => void;
  readonly reject: (error: Error) => void;
  readonly deadline: ClockTimer;
}

type Shell = ChildProcessByStdio<Writable, Readable, null>;

/**
 * One small shell that runs mount(8) and umount(8), one at a time.
 *
 * It ends by itself when its input closes, however the agent ended. When it ends while a tool runs, or the
 * tool takes too long, both are killed; the table of mounts shows what the tool has done by then.
 */
export class MountShell {
  /** Resolves when the shell has ended, and every tool that it has started. */
  readonly ended: Promise<void>;
  readonly #options: MountShellOptions;
  readonly #child: Shell;
  #job: Job | undefined;
  #said = '';
  #isUsable = true;

  /**
   * Undefined when no shell can start now: the machine has no memory for it, or the agent no descriptors for
   * its pipes.
   */
  static start(options: MountShellOptions): MountShell | undefined {
    const child = spawnShell(options.shell);
    return child && new MountShell(options, child);
  }

  private constructor(options: MountShellOptions, child: Shell) {
    this.#options = options;
    this.#child = child;
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => this.#hear(chunk));
    // The exit of the shell says more.
    child.stdin.on('error', () => undefined);
    // An orphaned tool must not interfere with the next one at the same place.
    child.once('exit', () => this.#kill());
    this.ended = new Promise((resolve) => {
      child.once('error', (error) => {
        this.#lose(new NoShellError('there is no shell', { cause: error }));
        resolve();
      });
      // Tools keep the pipe open that this waits for.
      child.once('close', () => {
        this.#lose();
        resolve();
      });
    });
  }

  /** Whether it can take another tool when it is idle. */
  get isUsable(): boolean {
    return this.#isUsable;
  }

  /**
   * Runs a tool to its end; never two at a time.
   *
   * Rejects with a {@link MountToolFailure} for a failure that the tool reports, with a {@link NoShellError}
   * when nothing was run, and otherwise when the tool or the shell was killed.
   */
  async run(tool: MountTool, args: readonly string[]): Promise<void> {
    const { clock, limitMs } = this.#options;
    const child = this.#child;
    hold(child, true);
    const work = new Promise<void>((resolve, reject) => {
      const deadline = startFairDeadline({ clock, deadlineMs: limitMs, onExpired: () => this.#giveUp() });
      this.#job = { tool, resolve, reject, deadline };
    });
    const command = [tool, ...args].map(quote).join(' ');
    // Descriptor 3 is the shell's own output: it stays open until the tool has ended, too.
    child.stdin.write(
      `{ words=$(${command} </dev/null 2>&1 >/dev/null); } 3>&1; printf '%s %s\\0' "$?" "$words"\n`,
    );
    try {
      await work;
    } finally {
      // An idle shell does not keep the agent from ending.
      hold(child, false);
    }
  }

  /** Ends once it has nothing to do. */
  end(): void {
    this.#isUsable = false;
    this.#child.stdin.end();
  }

  #hear(chunk: string): void {
    this.#said += chunk;
    const end = this.#said.indexOf('\0');
    if (end < 0) return;
    const answer = this.#said.slice(0, end);
    this.#said = this.#said.slice(end + 1);
    const [code = '', ...words] = answer.split(' ');
    this.#settle(({ tool, resolve, reject }) => {
      if (code === '0') {
        resolve();
        return;
      }
      const failure = [tool, `it ended with ${code}`, words.join(' ')] as const;
      // Killed by somebody: this is how a shell reports it.
      reject(Number(code) > 128 ? toMountFailure(...failure) : new MountToolFailure(...failure));
    });
  }

  #giveUp(): void {
    this.#isUsable = false;
    this.#kill();
    this.#settle(({ tool, reject }) => reject(toMountFailure(tool, 'it was ended by SIGKILL', '')));
  }

  /** Kills its whole process group. */
  #kill(): void {
    if (this.#job !== undefined) killGroup(this.#child);
  }

  #lose(why?: NoShellError): void {
    this.#isUsable = false;
    this.#settle(({ tool, reject }) => reject(why ?? toMountFailure(tool, 'its shell has ended', '')));
  }

  #settle(end: (job: Job) => void): void {
    const job = this.#job;
    if (job === undefined) return;
    this.#job = undefined;
    job.deadline.cancel();
    end(job);
  }
}

function spawnShell(shell: string): Shell | undefined {
  let child: ChildProcess;
  try {
    child = spawn(shell, [], {
      // A process group of its own: a hanging tool is killed with it, and Ctrl-C reaches only the agent.
      ...{ env: MOUNT_ENVIRONMENT, stdio: ['pipe', 'pipe', 'ignore'], detached: true },
    });
  } catch {
    return undefined;
  }
  if (hasPipes(child)) return child;
  child.once('error', () => undefined);
  return undefined;
}

/** The pipes are missing, whatever the types say, when there were no descriptors left. */
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
