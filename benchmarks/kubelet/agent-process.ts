import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { endProcess } from '../agents/end-process.js';
import { type HealthAddress } from '../agents/is-healthy.js';
import { type AgentCommand } from './contenders.js';
import { EventLog } from './event-log.js';
import { HealthLog } from './health-log.js';

const END_MS = 30_000;
/** Of what it wrote last, for when it ends by itself. */
const KEPT_BYTES = 4_000;

/** An agent as a process, podloop or a kubelet, and what it logs. */
export class AgentProcess implements AsyncDisposable {
  readonly health: HealthAddress;
  readonly events = new EventLog();
  readonly healthLog = new HealthLog();
  /** So much later than its log says an event may have been, milliseconds. */
  readonly logStepMs: number;
  readonly #child: ChildProcess;
  readonly #ended: Promise<unknown>;
  #lastWords = '';

  static async start(command: AgentCommand): Promise<AgentProcess> {
    const child = spawn(command.file, command.args, { stdio: ['ignore', 'ignore', 'pipe'] });
    await once(child, 'spawn');
    return new AgentProcess(child, command);
  }

  private constructor(child: ChildProcess, { health, logStepMs = 0 }: AgentCommand) {
    this.health = health;
    this.logStepMs = logStepMs;
    this.#child = child;
    this.#ended = once(child, 'exit');
    this.events.read(child.stderr!);
    this.healthLog.read(child.stderr!);
    child.stderr!.on('data', (chunk: Buffer) => {
      this.#lastWords = (this.#lastWords + chunk.toString()).slice(-KEPT_BYTES);
    });
  }

  get pid(): number {
    return this.#child.pid!;
  }

  /** Throws when it has ended by itself. */
  check(): void {
    const { exitCode, signalCode } = this.#child;
    if (exitCode === null && signalCode === null) return;
    throw new Error(`the agent ended by itself (${exitCode ?? signalCode}):\n${this.#lastWords}`);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await endProcess(this.#child, END_MS);
  }
}
