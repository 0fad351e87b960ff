import { setTimeout as sleep } from 'node:timers/promises';
import { isHealthy } from '../agents/is-healthy.js';
import { type AgentProcess } from './agent-process.js';

const POLL_MS = 500;

/** Looks all the time whether an agent is healthy, by its page and by its log. */
export class HealthWatch implements AsyncDisposable {
  readonly #agent: AgentProcess;
  readonly #sinceMs = Date.now();
  readonly #stop = new AbortController();
  readonly #done: Promise<void>;
  #unhealthyMs: number | undefined;

  constructor(agent: AgentProcess, signal: AbortSignal) {
    this.#agent = agent;
    this.#done = this.#run(AbortSignal.any([signal, this.#stop.signal]));
  }

  /** How long after the beginning it was unhealthy for the first time; undefined: never. */
  get firstUnhealthyMs(): number | undefined {
    const complaintMs = this.#agent.healthLog.findFirst(this.#sinceMs);
    const found = [this.#unhealthyMs, complaintMs].filter((each) => each !== undefined);
    return found.length === 0 ? undefined : Math.min(...found) - this.#sinceMs;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await this.#done;
  }

  async #run(signal: AbortSignal): Promise<void> {
    for (;;) {
      const askedMs = Date.now();
      const isWell = await isHealthy(this.#agent.health, signal);
      // Who was told to stop has no answer to a question that was under way.
      if (signal.aborted) return;
      if (!isWell) {
        this.#unhealthyMs = askedMs;
        return;
      }
      await sleep(POLL_MS, undefined, { signal }).catch(() => undefined);
    }
  }
}
