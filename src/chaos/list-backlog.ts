import { ListScanner } from './list-scanner.js';

export interface ListBacklogOptions {
  /** Called with each item of which no list has told before. What it throws as RangeError is the item's fault. */
  readonly onNew: (item: Buffer) => void;
  /** Calls back soon, once what there is to send has gone out; setImmediate unless told. */
  readonly defer: ((act: () => void) => void) | undefined;
}

/** Items read in one slice, some 0.5 ms: so much later at most goes on whatever comes meanwhile. */
const SLICE_ITEMS = 32;
/** More than that is not kept waiting. */
const MOST_WAITING_BYTES = 16 * 2 ** 20;
/** What lists have told of is remembered up to so many items; then all are looked at anew. */
const MOST_SEEN = 200_000;

interface NewItem {
  readonly bytes: Buffer;
  readonly idHash: number | undefined;
}

/**
 * New items of lists that have passed, which are read later and in slices: to find out what one says costs a hundred
 * times what it costs to see that it is known.
 *
 * Nearly all items of nearly all lists were in one before. Such an item is known by its id alone.
 */
export class ListBacklog {
  readonly #onNew: (item: Buffer) => void;
  readonly #defer: (act: () => void) => void;
  readonly #seen = new Set<number>();
  #waiting: NewItem[] = [];
  #waitingBytes = 0;
  #isScheduled = false;

  constructor({ onNew, defer = (act) => void setImmediate(act) }: ListBacklogOptions) {
    this.#onNew = onNew;
    this.#defer = defer;
  }

  /** For the answer to one call, in bytes as they come. */
  createScanner(): ListScanner {
    return new ListScanner({
      isKnown: (idHash) => this.#seen.has(idHash),
      onNew: (bytes, idHash) => this.#add({ bytes, idHash }),
    });
  }

  /** Reads all that waits now. */
  readAll(): void {
    this.#read(this.#waiting.length);
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

  #add(item: NewItem): void {
    this.#waiting.push(item);
    this.#waitingBytes += item.bytes.length;
    if (this.#waitingBytes > MOST_WAITING_BYTES) this.readAll();
    else this.#schedule();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#waiting.length === 0) return;
    this.#isScheduled = true;
    this.#defer(() => {
      this.#isScheduled = false;
      this.#read(SLICE_ITEMS);
      this.#schedule();
    });
  }

  #read(items: number): void {
    for (const { bytes, idHash } of this.#waiting.splice(0, items)) {
      this.#waitingBytes -= bytes.length;
      try {
        this.#onNew(bytes);
      } catch (error) {
        // No item as CRI has them: it is the client's to make sense of it.
        if (!(error instanceof RangeError)) throw error;
        continue;
      }
      if (this.#seen.size >= MOST_SEEN) this.#seen.clear();
      if (idHash !== undefined) this.#seen.add(idHash);
    }
  }
}
