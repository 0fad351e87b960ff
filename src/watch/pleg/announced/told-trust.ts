import { isDeepStrictEqual } from 'node:util';
import { type ObservedPod, type PodStatus } from '../../observed/runtime.js';
import { withMemoryKills } from './memory-kills.js';

/** One of so many is asked about even then. */
const SAMPLE = 64;

/** How far the statuses in a runtime's events are believed. */
export interface ToldStats {
  /** Pods that nobody was asked about, as an event had told enough. */
  readonly used: number;
  /** How often the runtime, when asked, said the same. */
  readonly agreed: number;
  /** How often it said something else, or a look did. */
  readonly refuted: number;
}

/**
 * Whether the statuses that a runtime puts into its events may be taken for what it would answer.
 *
 * Each runtime fills them by code of its own, so they have to prove themselves first: the runtime is asked all the same, and
 * both are held against one another. One that was refuted begins anew.
 */
export class ToldTrust {
  /** So many times in a row the runtime has to answer what its events have told before they are believed. */
  readonly #believedAfter: number;
  #inARow = 0;
  /** Used since the runtime was asked last. */
  #unchecked = 0;
  #used = 0;
  #agreed = 0;
  #refuted = 0;

  constructor({ believedAfter }: { readonly believedAfter: number }) {
    this.#believedAfter = believedAfter;
  }

  get stats(): ToldStats {
    return { used: this.#used, agreed: this.#agreed, refuted: this.#refuted };
  }

  /** Whether this one is to be used without asking; counts it then. */
  use(): boolean {
    if (this.#inARow < this.#believedAfter || this.#unchecked >= SAMPLE - 1) return false;
    this.#unchecked++;
    this.#used++;
    return true;
  }

  /** Whether this one is to be passed on before a look shows what it tells; counts it then. */
  useAtOnce(): boolean {
    if (this.#inARow < this.#believedAfter) return false;
    this.#unchecked++;
    this.#used++;
    return true;
  }

  /** Whether the runtime is to be asked about the one that was used last. Those after it need not wait for the answer. */
  get wantsCheck(): boolean {
    return this.#unchecked % SAMPLE === SAMPLE - 1;
  }

  /** The runtime was asked about a pod that a look had shown as `seen`. What has moved on since proves nothing. */
  compare(seen: ObservedPod, told: PodStatus, asked: PodStatus): void {
    if (hasMovedOn(seen, asked)) return;
    // That it was for want of memory the runtime may have learnt since.
    if (isDeepStrictEqual(withMemoryKills(told, asked.containers), asked)) {
      this.#inARow++;
      this.#agreed++;
      this.#unchecked = 0;
    } else {
      this.refute();
    }
  }

  /** Something that was told is known not to be true. */
  refute(): void {
    this.#inARow = 0;
    this.#refuted++;
  }

  /** Another runtime may be at the other end. */
  reset(): void {
    this.#inARow = 0;
  }
}

function hasMovedOn(seen: ObservedPod, { sandboxes, containers }: PodStatus): boolean {
  const asked = new Map([...sandboxes, ...containers].map(({ id, state }) => [id, state]));
  const members = [...seen.sandboxes, ...seen.containers];
  return members.length !== asked.size || members.some(({ id, state }) => asked.get(id) !== state);
}
