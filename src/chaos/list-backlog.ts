import { type GrpcMessage } from '../relay/index.js';
import { ListWalk } from './list-walk.js';

export interface ListBacklogOptions {
  /** Called with each item of which no list has told before. What it throws as RangeError is the item's fault. */
  readonly onNew: (item: Buffer) => void;
  /** Calls back soon, once what there is to send has gone out; setImmediate unless told. */
  readonly defer: ((act: () => void) => void) | undefined;
}

/** What one slice may cost, some 0.3 ms: so much later at most goes on whatever comes meanwhile. */
const SLICE_COST = 1_024;
/** What it costs to read a new item, where to skip one costs 1. */
const NEW_ITEM_COST = 32;
/** More than that is not kept waiting. */
const MOST_WAITING_BYTES = 64 * 2 ** 20;
/** Of more items than that the oldest could not be told from new ones in bounded memory: all are looked at anew. */
const MOST_SEEN = 200_000;

/**
 * Lists that have passed and are still to be read: later and in slices, so that no byte on its way waits for it.
 *
 * Nearly all items of nearly all lists were in one before. Such an item is known by its id alone, which every writer
 * puts first, and nothing else of it is looked at.
 */
export class ListBacklog {
  readonly #onNew: (item: Buffer) => void;
  readonly #defer: (act: () => void) => void;
  readonly #seen = new Set<number>();
  #waiting: ListWalk[] = [];
  #waitingBytes = 0;
  #isScheduled = false;

  constructor({ onNew, defer = (act) => void setImmediate(act) }: ListBacklogOptions) {
    this.#onNew = onNew;
    this.#defer = defer;
  }

  push(message: GrpcMessage): void {
    this.#waiting.push(new ListWalk(message));
    this.#waitingBytes += message.length;
    if (this.#waitingBytes > MOST_WAITING_BYTES) this.readAll();
    this.#schedule();
  }

  /** Reads all that waits now. */
  readAll(): void {
    while (this.#waiting.length > 0) this.#readSlice(Infinity);
  }

  /** From now on every item is new. */
  forgetSeen(): void {
    this.#seen.clear();
  }

  /** Drops what waits. */
  clear(): void {
    this.#waiting = [];
    this.#waitingBytes = 0;
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#defer(() => {
      this.#isScheduled = false;
      this.#readSlice(SLICE_COST);
      this.#schedule();
    });
  }

  #readSlice(budget: number): void {
    const [walk] = this.#waiting;
    if (walk === undefined) return;
    try {
      for (let cost = 0; cost < budget; cost++) {
        if (!walk.next()) {
          this.#finish(walk);
          return;
        }
        const { idHash } = walk;
        if (idHash !== undefined && this.#seen.has(idHash)) continue;
        cost += NEW_ITEM_COST;
        if (this.#seen.size >= MOST_SEEN) this.#seen.clear();
        this.#onNew(walk.item());
        // Only once it was understood.
        if (idHash !== undefined) this.#seen.add(idHash);
      }
    } catch (error) {
      // No list as CRI has them: it is the client's to make sense of it.
      this.#finish(walk);
      if (!(error instanceof RangeError)) throw error;
    }
  }

  #finish(walk: ListWalk): void {
    this.#waiting.shift();
    this.#waitingBytes -= walk.bytes;
  }
}
