/** One that waits for a slot. `key`: what decides about its turn. */
export interface SlotWaiter<Key> {
  readonly key: Key;
}

/** Those that wait for a slot, in an order of its own. */
export interface SlotLine<Key> {
  readonly size: number;
  add(waiter: SlotWaiter<Key>): void;
  /** Does nothing for one that does not wait. */
  delete(waiter: SlotWaiter<Key>): void;
  /** Removes and returns the next one that may begin beside those; undefined if none may. */
  shift(inside: Iterable<Key>): SlotWaiter<Key> | undefined;
}

/** The lowest rank first, then first come, first served. */
export class RankLine<Key> implements SlotLine<Key> {
  readonly #rankOf: (key: Key) => number;
  readonly #waiters: SlotWaiter<Key>[] = [];

  constructor(rankOf: (key: Key) => number) {
    this.#rankOf = rankOf;
  }

  get size(): number {
    return this.#waiters.length;
  }

  add(waiter: SlotWaiter<Key>): void {
    const rank = this.#rankOf(waiter.key);
    const index = this.#waiters.findIndex(({ key }) => this.#rankOf(key) > rank);
    this.#waiters.splice(index < 0 ? this.#waiters.length : index, 0, waiter);
  }

  delete(waiter: SlotWaiter<Key>): void {
    const index = this.#waiters.indexOf(waiter);
    if (index >= 0) this.#waiters.splice(index, 1);
  }

  shift(): SlotWaiter<Key> | undefined {
    return this.#waiters.shift();
  }
}

/** Each key in turn, however many wait with it; those of one key first come, first served. */
export class FairLine<Key> implements SlotLine<Key> {
  /** The key whose turn is next comes first. */
  readonly #byKey = new Map<Key, SlotWaiter<Key>[]>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  add(waiter: SlotWaiter<Key>): void {
    this.#size++;
    const waiters = this.#byKey.get(waiter.key);
    if (waiters === undefined) this.#byKey.set(waiter.key, [waiter]);
    else waiters.push(waiter);
  }

  delete(waiter: SlotWaiter<Key>): void {
    const waiters = this.#byKey.get(waiter.key) ?? [];
    const index = waiters.indexOf(waiter);
    if (index < 0) return;
    this.#size--;
    waiters.splice(index, 1);
    if (waiters.length === 0) this.#byKey.delete(waiter.key);
  }

  shift(): SlotWaiter<Key> | undefined {
    for (const [key, [next, ...others]] of this.#byKey) {
      this.#size--;
      this.#byKey.delete(key);
      // To the end: the other keys come first.
      if (others.length > 0) this.#byKey.set(key, others);
      return next;
    }
    return undefined;
  }
}

/** The one that `choose` picks of those that wait, given in order of arrival, and of those inside. */
export class ChosenLine<Key> implements SlotLine<Key> {
  readonly #choose: (waiting: Iterable<Key>, inside: Iterable<Key>) => number | undefined;
  readonly #waiters = new Set<SlotWaiter<Key>>();

  /** `choose` returns the index of one that waits; undefined if none may begin. */
  constructor(choose: (waiting: Iterable<Key>, inside: Iterable<Key>) => number | undefined) {
    this.#choose = choose;
  }

  get size(): number {
    return this.#waiters.size;
  }

  add(waiter: SlotWaiter<Key>): void {
    this.#waiters.add(waiter);
  }

  delete(waiter: SlotWaiter<Key>): void {
    this.#waiters.delete(waiter);
  }

  shift(inside: Iterable<Key>): SlotWaiter<Key> | undefined {
    if (this.#waiters.size === 0) return undefined;
    const waiters = [...this.#waiters];
    const index = this.#choose(
      waiters.map(({ key }) => key),
      inside,
    );
    const next = index === undefined ? undefined : waiters[index];
    if (next !== undefined) this.#waiters.delete(next);
    return next;
  }
}
