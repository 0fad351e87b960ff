import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { findProgram } from '../build-state.js';
import { patiently } from '#support/patience.js';

/** The built program. */
export const PODLOOP_MAIN = findProgram();

/** How a {@link PodloopProcess} is started. */
export interface PodloopProcessOptions {
  /** Beside PATH, which is the test's own. */
  readonly env?: Readonly<Record<string, string>>;
  readonly uid?: number;
  readonly cwd?: string;
  /** Another program than the built one. */
  readonly main?: string;
  /** The single executable, which is Node and the program in one: instead of `main`. */
  readonly executable?: string;
  /** Node's own, before the program. */
  readonly nodeFlags?: readonly string[];
  /** What it reads from standard input, up to its end; nothing unless told. */
  readonly stdin?: string;
}

/** How a process ended. */
export interface ProcessEnd {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** Long enough for a loaded machine: what is not there by then does not come. */
const LINE_LIMIT_MS = patiently(45_000);

/** The built `podloop` with these arguments, and what it has printed so far. Disposing kills it. */
export class PodloopProcess implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly stdout: string[] = [];
  readonly stderr: string[] = [];
  readonly ended: Promise<ProcessEnd>;
  readonly #onLine = new Set<() => void>();

  constructor(args: readonly string[], options: PodloopProcessOptions = {}) {
    const { env, uid, cwd, stdin, main = PODLOOP_MAIN, executable, nodeFlags = [] } = options;
    const before = executable === undefined ? [...nodeFlags, main] : [];
    this.child = spawn(executable ?? process.execPath, [...before, ...args], {
      stdio: [stdin === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { PATH: process.env['PATH'], ...env },
      ...(uid === undefined ? {} : { uid }),
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.child.stdin?.end(stdin);
    for (const name of ['stdout', 'stderr'] as const) {
      createInterface({ input: this.child[name]! }).on('line', (line) => {
        this[name].push(line);
        for (const look of this.#onLine) look();
      });
    }
    // 'close' comes after both streams have ended: every line is there by then.
    this.ended = new Promise((resolve, reject) => {
      this.child.once('close', (code, signal) => resolve({ code, signal }));
      this.child.once('error', reject);
    });
  }

  /** Resolves with the first line that matches, past or to come; rejects when the process ends without one. */
  async line(stream: 'stdout' | 'stderr', pattern: RegExp | ((line: string) => boolean)): Promise<string> {
    const matches = typeof pattern === 'function' ? pattern : (line: string) => pattern.test(line);
    let timer: NodeJS.Timeout | undefined;
    let look: (() => void) | undefined;
    try {
      return await new Promise<string>((resolve, reject) => {
        const fail = (why: string): void => {
          const printed = `stdout:\n${this.stdout.join('\n')}\nstderr:\n${this.stderr.join('\n')}`;
          reject(new Error(`${why} a line on ${stream} that matches ${String(pattern)}\n${printed}`));
        };
        look = () => {
          const found = this[stream].find(matches);
          if (found !== undefined) resolve(found);
        };
        this.#onLine.add(look);
        timer = setTimeout(() => fail('waited in vain for'), LINE_LIMIT_MS);
        look();
        this.ended.then(() => fail('ended without'), reject);
      });
    } finally {
      clearTimeout(timer);
      if (look !== undefined) this.#onLine.delete(look);
    }
  }

  /** Sends a signal and resolves with the end. */
  async end(signal: NodeJS.Signals): Promise<ProcessEnd> {
    this.child.kill(signal);
    return this.ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode === null && this.child.signalCode === null) this.child.kill('SIGKILL');
    await this.ended.catch(() => undefined);
  }
}

/** Runs `podloop` to its end. */
export async function runPodloop(
  args: readonly string[],
  options?: PodloopProcessOptions,
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  await using podloop = new PodloopProcess(args, options);
  const { code } = await podloop.ended;
  return { code, stdout: podloop.stdout.join('\n'), stderr: podloop.stderr.join('\n') };
}
