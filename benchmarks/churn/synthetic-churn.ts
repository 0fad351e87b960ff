import { type SyntheticControl } from '#testing/synthetic-runtime/index.js';

/** What the runtime says of a container that it has ended. */
type KilledContainer = Awaited<ReturnType<SyntheticControl['kill']>>[number];

/** A container that ended is replaced then, and removed a while later, when everybody has seen it. */
const RESTART_AFTER_MS = 500;
const REMOVE_AFTER_MS = 5_000;

/** Kills containers in turn, replaces them soon and removes them later. */
export class SyntheticChurn {
  readonly #control: SyntheticControl;
  readonly #onKilled: (killed: KilledContainer) => void;
  readonly #toRestart: { readonly atMs: number; readonly ids: readonly string[] }[] = [];
  readonly #toRemove: { readonly atMs: number; readonly ids: readonly string[] }[] = [];
  /** Running containers, whose turn comes first in front. */
  readonly #running: string[] = [];
  #isFilled = false;

  constructor(control: SyntheticControl, onKilled: (killed: KilledContainer) => void = () => undefined) {
    this.#control = control;
    this.#onKilled = onKilled;
  }

  /** Ends so many, and does what is due for those that ended before. */
  async tick(deaths: number): Promise<void> {
    if (!this.#isFilled) {
      for (const pod of await this.#control.pods()) this.#running.push(...pod.containers.map(({ id }) => id));
      this.#isFilled = true;
    }
    const nowMs = performance.now();
    const containerIds = this.#running.splice(0, deaths);
    const killed = await this.#control.kill({ containerIds });
    for (const container of killed) this.#onKilled(container);
    const ids = killed.map(({ id }) => id);
    this.#toRestart.push({ atMs: nowMs + RESTART_AFTER_MS, ids });
    this.#toRemove.push({ atMs: nowMs + REMOVE_AFTER_MS, ids });
    while ((this.#toRestart[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs) {
      const restarted = await this.#control.restart({ containerIds: this.#toRestart.shift()!.ids });
      this.#running.push(...restarted.map(({ id }) => id));
    }
    while ((this.#toRemove[0]?.atMs ?? Number.POSITIVE_INFINITY) <= nowMs)
      await this.#control.remove({ containerIds: this.#toRemove.shift()!.ids });
  }
}
