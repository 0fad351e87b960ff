import { setTimeout as sleep } from 'node:timers/promises';
import { type SeededRandom } from '../../containerd/churn/random.js';
import { CONTAINER_EXITED, type EmbeddedNode } from '../embedded-node.js';

/** A container whose end was seen, in milliseconds since the epoch. */
export interface EndedContainer {
  readonly id: string;
  readonly exitCode: number;
  readonly endedAtMs: number;
  /** When it was not there any more; undefined while it is. */
  removedAtMs: number | undefined;
}

interface ChurnedPod {
  readonly sandbox: string;
  readonly containers: readonly string[];
}

const MAX_EXIT_CODE = 100;

/** Pods that come and end all the time, and what became of them. */
export class ObserverChurn {
  readonly ended = new Map<string, EndedContainer>();
  readonly #node: EmbeddedNode;
  readonly #random: SeededRandom;
  #count = 0;
  #pods: ChurnedPod[] = [];

  constructor(node: EmbeddedNode, random: SeededRandom) {
    this.#node = node;
    this.#random = random;
  }

  /** Starts pods until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const name = `pod-${++this.#count}`;
      const sandbox = await this.#node.runPod(name);
      const containers: string[] = [];
      for (let left = this.#random.integer(1, 2); left > 0; left--) {
        const seconds = this.#random.between(0, 1.5).toFixed(2);
        const script = `sleep ${seconds}; exit ${this.#random.integer(1, MAX_EXIT_CODE)}`;
        const logPath = `${name}-${left}.log`;
        containers.push(await this.#node.run(sandbox, `main-${left}`, script, { logPath }));
      }
      this.#pods.push({ sandbox, containers });
      await sleep(this.#random.between(100, 700), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Notes what has ended by now. */
  async look(): Promise<void> {
    const { containers } = await this.#node.client.listContainers({});
    for (const { id, state } of containers) {
      if (state !== CONTAINER_EXITED || this.ended.has(id)) continue;
      const { exitCode, finishedAt } = await this.#node.status(id);
      const endedAtMs = Number(finishedAt / 1_000_000n);
      this.ended.set(id, { id, exitCode, endedAtMs, removedAtMs: undefined });
    }
  }

  /** Removes the pods whose containers have all ended. */
  async removeEnded(): Promise<void> {
    await this.look();
    const isOver = ({ containers }: ChurnedPod): boolean => containers.every((id) => this.ended.has(id));
    const over = this.#pods.filter(isOver);
    this.#pods = this.#pods.filter((pod) => !isOver(pod));
    for (const { sandbox, containers } of over) {
      await this.#node.client.removePodSandbox({ podSandboxId: sandbox });
      for (const id of containers) this.ended.get(id)!.removedAtMs = Date.now();
    }
  }
}
