import { type PodLifecycleEvent } from '#watch';
import { type SyntheticContainer } from '#testing/synthetic-runtime/index.js';
import { OffHeapNumbers } from './off-heap-numbers.js';

/** Ids in a half: at fifty deaths a second those of 100 s. */
const REMEMBERED = 5_000;
/** Both halves are full for the first time after so many deaths: until then the ledger itself grows. */
export const FULL_AFTER_DEATHS = 2 * REMEMBERED;

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
  /** Told of; who ended is removed soon, so the older half is forgotten when the newer one is full. */
  #recent = new Set<string>();
  #older = new Set<string>();
  readonly #delaysMs = new OffHeapNumbers();
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
    if (this.#recent.has(id) || this.#older.has(id)) {
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

  /** Events of deaths that never were; to be asked when all kills have been answered. */
  get unfounded(): number {
    return this.#early.size;
  }

  /** Events of a death that was told before. */
  get repeated(): number {
    return this.#repeated;
  }

  /** From each end to its event, milliseconds. */
  get delaysMs(): readonly number[] {
    return this.#delaysMs.toArray();
  }

  #remember(id: string): void {
    this.#recent.add(id);
    if (this.#recent.size < REMEMBERED) return;
    this.#older = this.#recent;
    this.#recent = new Set();
  }
}
