import { type ChildProcess, spawn } from 'node:child_process';
import { type ProcessEnd } from './podloop-process.js';
import { patiently } from '#support/patience.js';

/** Long enough for a loaded machine: what is not there by then does not come. */
const LIMIT_MS = patiently(45_000);

/** A command at a terminal of its own, through util-linux's script(1), and everything it has written there. */
export class ProgramAtTerminal implements AsyncDisposable {
  readonly ended: Promise<ProcessEnd>;
  readonly #child: ChildProcess;
  readonly #onText = new Set<() => void>();
  #text = '';

  /** The command is a line for a shell. */
  constructor(command: string, env: Readonly<Record<string, string>>) {
    this.#child = spawn('script', ['-qec', `exec ${command}`, '/dev/null'], {
      stdio: ['pipe', 'pipe', 'inherit'],
      env: { PATH: process.env['PATH'], SHELL: '/bin/sh', ...env },
    });
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      this.#text += text;
      for (const look of this.#onText) look();
    });
    this.ended = new Promise((resolve, reject) => {
      this.#child.once('close', (code, signal) => resolve({ code, signal }));
      this.#child.once('error', reject);
    });
  }

  get text(): string {
    return this.#text;
  }

  /** What its keyboard would send. */
  press(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Resolves once it has written what matches; rejects when it ends, or takes too long. */
  async shows(pattern: RegExp): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    let look: () => void = () => undefined;
    try {
      await new Promise<void>((resolve, reject) => {
        const fail = (why: string): void => reject(new Error(`${why} ${pattern}:\n${this.#text}`));
        look = () => {
          if (pattern.test(this.#text)) resolve();
        };
        this.#onText.add(look);
        timer = setTimeout(() => fail('waited in vain for'), LIMIT_MS);
        look();
        this.ended.then(() => fail('ended without'), reject);
      });
    } finally {
      clearTimeout(timer);
      this.#onText.delete(look);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#child.exitCode === null && this.#child.signalCode === null) this.#child.kill('SIGKILL');
    await this.ended.catch(() => undefined);
  }
}
