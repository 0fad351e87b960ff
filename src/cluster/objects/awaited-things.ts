import { Backoff } from '#base/async/backoff.js';
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';

/** What {@link AwaitedThings} works with. */
export interface AwaitedThingsOptions {
  readonly clock: Clock;
  /** What a pod waits for is there. */
  readonly onThere: (podUid: string) => void;
}

/** Whether it is there by now. Rejects only with the signal's reason. */
export type LookForThing = (signal: AbortSignal) => Promise<boolean>;

interface Awaited {
  readonly podUid: string;
  readonly look: LookForThing;
  readonly backoff: Backoff;
  dueMs: number;
}

/** The node asks for one after the other, so many a second at most, whatever pods wait for. */
const PAUSE_MS = 250;
const [FIRST_MS, MAX_MS] = [1_000, 5_000];
/** Pods that wait for more than that are looked after by their syncs alone. */
const MOST = 64;

/**
 * Looks for what pods lack and a node may not watch: claims and service accounts, of which NodeRestriction lets it get one at a
 * time. So that a pod goes on soon after that is there, and not with its next try.
 */
export class AwaitedThings {
  readonly #options: AwaitedThingsOptions;
  readonly #things = new Map<string, Awaited>();
  readonly #arrived = new Wakeup();
  #refused = 0;

  constructor(options: AwaitedThingsOptions) {
    this.#options = options;
  }

  /** How many are looked for. */
  get size(): number {
    return this.#things.size;
  }

  /** How many were not, for there were too many. */
  get refused(): number {
    return this.#refused;
  }

  /** Looks for it from now on, unless it is looked for already. */
  expect(podUid: string, key: string, look: LookForThing): void {
    const id = `${podUid} ${key}`;
    if (this.#things.has(id)) return;
    if (this.#things.size >= MOST) {
      this.#refused++;
      return;
    }
    const backoff = new Backoff({ initialMs: FIRST_MS, maxMs: MAX_MS });
    const dueMs = this.#options.clock.monotonicMs() + backoff.nextMs();
    this.#things.set(id, { podUid, look, backoff, dueMs });
    this.#arrived.wake();
  }

  /** The pod lacks it no more. */
  found(podUid: string, key: string): void {
    this.#things.delete(`${podUid} ${key}`);
  }

  /** The pod is gone. */
  forget(podUid: string): void {
    for (const [id, thing] of this.#things) if (thing.podUid === podUid) this.#things.delete(id);
  }

  /** The uids of pods that wait for something. */
  podUids(): string[] {
    return [...new Set([...this.#things.values()].map(({ podUid }) => podUid))];
  }

  /** Looks until the signal aborts; resolves then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    try {
      for (;;) {
        const next = this.#findNext();
        const waitMs = next === undefined ? undefined : next[1].dueMs - clock.monotonicMs();
        if (next === undefined || waitMs! > 0) {
          await this.#arrived.wait(clock, waitMs, signal);
          continue;
        }
        await this.#look(...next, signal);
        await clock.sleep(PAUSE_MS, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  #findNext(): [string, Awaited] | undefined {
    let found: [string, Awaited] | undefined;
    for (const entry of this.#things)
      if (found === undefined || entry[1].dueMs < found[1].dueMs) found = entry;
    return found;
  }

  async #look(id: string, thing: Awaited, signal: AbortSignal): Promise<void> {
    const { clock, onThere } = this.#options;
    const isThere = await thing.look(signal);
    if (this.#things.get(id) !== thing) return;
    if (isThere) {
      this.#things.delete(id);
      onThere(thing.podUid);
    } else thing.dueMs = clock.monotonicMs() + thing.backoff.nextMs();
  }
}
