/** Something with a begin and an end, which may both come later. */
export interface Spanning {
  /** -Infinity if it began before what is known. */
  readonly fromMs: number;
  /** Undefined while it lasts. */
  readonly toMs: number | undefined;
}

/** Those of a similar length, by their begin. */
interface Group<Item> {
  readonly items: Item[];
  readonly maxMs: number;
}

const SHORTEST_MS = 1_000;
/** How much longer the spans of the next group are. */
const FACTOR = 8;

/**
 * Spans by time, so that those of a window are found by bisection and not one by one.
 *
 * Spans of a similar length are together, in the order of their begin: whatever reaches into a window begins within that
 * length before it. Those that last, or whose begin is unknown, are few, and are looked at one by one.
 */
export class SpanIndex<Item extends Spanning> {
  readonly #groups = new Map<number, Group<Item>>();
  #open: Item[] = [];

  /** Adds one; it may end later. */
  add(item: Item): void {
    this.#open.push(item);
  }

  /** Those that are within a window, or reach into it; in no order. */
  between(fromMs: number, toMs: number): Item[] {
    this.#settle();
    const found = this.#open.filter((each) => each.fromMs <= toMs && (each.toMs ?? Infinity) >= fromMs);
    for (const { items, maxMs } of this.#groups.values()) {
      for (let at = firstFrom(items, fromMs - maxMs); at < items.length; at++) {
        const item = items[at]!;
        if (item.fromMs > toMs) break;
        if (item.toMs! >= fromMs) found.push(item);
      }
    }
    return found;
  }

  /** Puts those with a begin and an end where they belong. */
  #settle(): void {
    if (!this.#open.some(isSettled)) return;
    const still: Item[] = [];
    for (const item of this.#open) {
      if (isSettled(item)) this.#place(item);
      else still.push(item);
    }
    this.#open = still;
  }

  #place(item: Item): void {
    const lengthMs = Math.max(0, item.toMs! - item.fromMs);
    const level = Math.max(0, Math.ceil(Math.log(lengthMs / SHORTEST_MS) / Math.log(FACTOR)));
    let group = this.#groups.get(level);
    if (group === undefined) {
      // One level more than that: logarithms are rounded.
      group = { items: [], maxMs: SHORTEST_MS * FACTOR ** (level + 1) };
      this.#groups.set(level, group);
    }
    const { items } = group;
    const last = items.at(-1);
    if (last === undefined || last.fromMs <= item.fromMs) items.push(item);
    else items.splice(firstFrom(items, item.fromMs), 0, item);
  }
}

function isSettled({ fromMs, toMs }: Spanning): boolean {
  return Number.isFinite(fromMs) && toMs !== undefined;
}

/** The place of the first that begins there or later. */
function firstFrom(items: readonly Spanning[], ms: number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (items[middle]!.fromMs < ms) low = middle + 1;
    else high = middle;
  }
  return low;
}
