import { type PodLifecycleEvent } from '../../src/pleg/events.js';
import { type SyntheticContainer } from '../../src/testing/synthetic-runtime/index.js';

/**
 * Who was killed, and whether somebody was told: once, and in what time.
 *
 * A kill and its event may come in either order: the event is fast, and so is the answer to who asked for the kill.
 */
export class DeathLedger {
  /** By container id, when it ended, in wall-clock milliseconds. */
  readonly #awaited = new Map<string, number>();
  /** Told of before the kill was answered. */
  readonly #early = new Map<string, number>();
  readonly #recent = new Set<string>();
  readonly #delaysMs: number[] = [];
  #deaths = 0;
  #repeated = 0;

  noteKilled({ id, finishedAtNs }: SyntheticContainer): void {
    this.#deaths++;
    const finishedMs = Number(finishedAtNs / 1_000n) / 1_000;
    const toldMs = this.#early.get(id);
    if (toldMs === undefined) {
      this.#awaited.set(id, finishedMs);
      return;
    }
    this.#early.delete(id);
    this.#delaysMs.push(toldMs - finishedMs);
  }

  noteEvent(event: PodLifecycleEvent): void {
    if (event.type !== 'ContainerDied' || event.kind === 'sandbox') return;
    const { containerId: id, observedAtMs } = event;
    if (this.#recent.has(id)) {
      this.#repeated++;
      return;
    }
    this.#remember(id);
    const finishedMs = this.#awaited.get(id);
    if (finishedMs === undefined) {
      this.#early.set(id, observedAtMs);
      return;
    }
    this.#awaited.delete(id);
    this.#delaysMs.push(observedAtMs - finishedMs);
  }

  /** Deaths that nobody was told of yet. */
  get awaited(): number {
    return this.#awaited.size;
  }

  get deaths(): number {
    return this.#deaths;
  }

  /** Events of a death that was told before. */
  get repeated(): number {
    return this.#repeated;
  }

  /** From each end to its event, milliseconds. */
  get delaysMs(): readonly number[] {
    return this.#delaysMs;
  }

  /** Who ended is removed soon: an id need not be remembered for ever. */
  #remember(id: string): void {
    this.#recent.add(id);
    if (this.#recent.size <= 10_000) return;
    for (const oldest of this.#recent) {
      this.#recent.delete(oldest);
      break;
    }
  }
}
