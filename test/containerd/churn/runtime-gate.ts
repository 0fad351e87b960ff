import { setTimeout as sleep } from 'node:timers/promises';

import { type Containerd } from '../harness/containerd.js';
import { wallMs, type Outage } from './story.js';

/** Knows when containerd answers, and holds back who wants to call it while it does not. */
export class RuntimeGate {
  readonly outages: Outage[] = [];
  readonly #containerd: Containerd;
  readonly #slots: number;
  #busy = 0;
  #up = true;
  #upSinceMs = wallMs();

  /** At most `slots` calls at a time go through {@link run}. */
  constructor(containerd: Containerd, slots: number) {
    this.#containerd = containerd;
    this.#slots = slots;
  }

  /** Since when containerd has answered without a break. */
  get upSinceMs(): number {
    return this.#upSinceMs;
  }

  get isUp(): boolean {
    return this.#up;
  }

  /** Runs one call once containerd is up and there is room. */
  async run<T>(call: () => Promise<T>): Promise<T> {
    while (!this.#up || this.#busy >= this.#slots) await sleep(10);
    this.#busy++;
    try {
      return await call();
    } finally {
      this.#busy--;
    }
  }

  /** Resolves once something has been dead for so long while containerd answered all the time. */
  async waitUntilDeadFor(diedMs: number, durationMs: number): Promise<void> {
    for (;;) {
      const left = Math.max(diedMs, this.#upSinceMs) + durationMs - wallMs();
      if (left <= 0 && this.#up) return;
      await sleep(Math.max(left, 20));
    }
  }

  /** Kills containerd (-9), whatever calls are under way, and starts it again after `downMs`. */
  async killContainerd(downMs: number): Promise<void> {
    const fromMs = wallMs();
    this.#up = false;
    await this.#containerd.killAndRestart({ downMs });
    this.#upSinceMs = wallMs();
    this.#up = true;
    this.outages.push({ fromMs, untilMs: this.#upSinceMs });
  }
}
