import { isDeepStrictEqual } from 'node:util';
import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { withMemoryKills } from './memory-kills.js';

/** One status in this many is verified even when trusted. */
const SAMPLE = 64;

/** How far the statuses in a runtime's events are trusted. */
export interface EventAccuracyStats {
  /** Inspections saved, as an event had the whole status. */
  readonly used: number;
  /** How often the runtime's answer agreed. */
  readonly agreed: number;
  /** How often the runtime's answer or a list disagreed. */
  readonly refuted: number;
}

/**
 * Decides whether the statuses in a runtime's events can replace its answers.
 *
 * Each runtime fills them by code of its own, so they have to prove themselves first: the runtime is asked
 * all the same, and the two are compared. A disagreement starts the proof over.
 */
export class EventAccuracy {
  /** How many times in a row events and answers must agree before events are trusted. */
  readonly #believedAfter: number;
  #inARow = 0;
  /** Used since the last verification. */
  #unchecked = 0;
  #used = 0;
  #agreed = 0;
  #refuted = 0;

  constructor({ believedAfter }: { readonly believedAfter: number }) {
    this.#believedAfter = believedAfter;
  }

  get stats(): EventAccuracyStats {
    return { used: this.#used, agreed: this.#agreed, refuted: this.#refuted };
  }

  /** Whether to use this status without asking; if so, counts it. */
  use(): boolean {
    if (this.#inARow < this.#believedAfter || this.#unchecked >= SAMPLE - 1) return false;
    this.#unchecked++;
    this.#used++;
    return true;
  }

  /** Whether to publish this exit before a list shows it; if so, counts it. */
  useEarly(): boolean {
    if (this.#inARow < this.#believedAfter) return false;
    this.#unchecked++;
    this.#used++;
    return true;
  }

  /** Whether to verify the status that was used last. Later ones need not wait for the answer. */
  get wantsCheck(): boolean {
    return this.#unchecked % SAMPLE === SAMPLE - 1;
  }

  /**
   * Compares a status from an event with the answer for a pod that was listed as `seen`. What has changed
   * since proves nothing.
   */
  compare(seen: ObservedPod, told: PodStatus, asked: PodStatus): void {
    if (hasMovedOn(seen, asked)) return;
    // The runtime may have learnt the out-of-memory reason since.
    if (isDeepStrictEqual(withMemoryKills(told, asked.containers), asked)) {
      this.#inARow++;
      this.#agreed++;
      this.#unchecked = 0;
    } else {
      this.refute();
    }
  }

  /** Notes that a status from an event was wrong. */
  refute(): void {
    this.#inARow = 0;
    this.#refuted++;
  }

  /** Starts over, as another runtime may be at the other end. */
  reset(): void {
    this.#inARow = 0;
  }
}

function hasMovedOn(seen: ObservedPod, { sandboxes, containers }: PodStatus): boolean {
  const asked = new Map([...sandboxes, ...containers].map(({ id, state }) => [id, state]));
  const members = [...seen.sandboxes, ...seen.containers];
  return members.length !== asked.size || members.some(({ id, state }) => asked.get(id) !== state);
}
