import { type ChildProcess, spawn } from 'node:child_process';
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { findProgram } from '../../test/build-state.js';
import { endProcess } from '../agents/end-process.js';
import { withDeadline } from '../with-deadline.js';
import { type BenchNode } from './bench-node.js';

const END_MS = 10_000;
/** For it to listen, or to have read its rules. */
const READY_MS = 30_000;
const POLL_MS = 20;

/** `podloop chaos` in front of a containerd. */
export class Chaos implements AsyncDisposable {
  readonly endpoint: string;
  readonly #rules: string;
  readonly #child: ChildProcess;
  readonly #words = { listening: 0, rulesRead: 0, held: 0 };

  static async start(node: BenchNode, signal: AbortSignal): Promise<Chaos> {
    const socket = `unix://${path.join(node.folder, 'chaos.sock')}`;
    const rules = path.join(node.folder, 'rules.json');
    await writeFile(rules, JSON.stringify({ rules: [] }));
    const args = [
      ...[findProgram(process.cwd()), 'chaos', '--upstream', node.containerd.endpoint],
      ...['--listen', socket, '--rules', rules, '-v', '1'],
    ];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'ignore', 'pipe'] });
    const chaos = new Chaos(socket, rules, child);
    try {
      await chaos.#until('to listen', () => chaos.#words.listening > 0, signal);
      return chaos;
    } catch (error) {
      await chaos[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(endpoint: string, rules: string, child: ChildProcess) {
    this.endpoint = endpoint;
    this.#rules = rules;
    this.#child = child;
    const words = this.#words;
    createInterface({ input: child.stderr! }).on('line', (line) => {
      if (line.includes('"Listening"')) words.listening++;
      else if (line.includes('"Rules read again"')) words.rulesRead++;
      else if (line.includes('"Fault injected" rule="hung"')) words.held++;
    });
  }

  /** How many calls it has held so far. */
  get heldCalls(): number {
    return this.#words.held;
  }

  /**
   * Once this resolves, status calls about these pods, as namespace/name, are answered no more. A runtime that cannot tell
   * the status of a pod cannot put it into an event either, so that there are no more events of them.
   */
  async hang(pods: readonly string[], signal: AbortSignal): Promise<void> {
    const match = { methods: ['ContainerStatus', 'PodSandboxStatus'], pods };
    const rules = [
      { name: 'hung', match, fault: { type: 'hang' } },
      { name: 'untold', match: { pods }, fault: { type: 'drop-events' } },
    ];
    const before = this.#words.rulesRead;
    await writeFile(this.#rules, JSON.stringify({ rules }));
    await this.#until('to read its rules', () => this.#words.rulesRead > before, signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // One that could not be started has no pid, and no end.
    if (this.#child.pid !== undefined) await endProcess(this.#child, END_MS);
  }

  async #until(what: string, isSo: () => boolean, signal: AbortSignal): Promise<void> {
    let failure: Error | undefined;
    this.#child.once('error', (error) => (failure = error));
    await withDeadline(`for podloop chaos ${what}`, READY_MS, signal, async (within) => {
      while (!isSo()) {
        const { exitCode, signalCode } = this.#child;
        if (failure !== undefined) throw failure;
        if (exitCode !== null || signalCode !== null)
          throw new Error(`podloop chaos ended by itself (${exitCode ?? signalCode})`);
        await sleep(POLL_MS, undefined, { signal: within });
      }
    });
  }
}
