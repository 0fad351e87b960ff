import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { type TimedValue } from './slope.js';

const MIB = 2 ** 20;

/**
 * The memory of this process over time, in MiB.
 *
 * What is resident does not tell a leak from memory that V8 or malloc hold on to because they may; what a full
 * collection leaves does. Only V8's own collections are looked at: to ask for one would shrink what is measured
 * beside it.
 */
export class MemoryOverTime {
  readonly resident: TimedValue[] = [];
  /** Of V8's heap, in use or not. */
  readonly heap: TimedValue[] = [];
  /** Buffers and what else lies outside of the heap and is known to V8. */
  readonly external: TimedValue[] = [];
  /** In use right after each full collection. */
  readonly live: TimedValue[] = [];
  readonly #beganMs = performance.now();
  readonly #observer = new PerformanceObserver((entries) => {
    const isFull = entries.getEntries().some(isFullCollection);
    if (isFull) this.live.push(this.#now(getHeapStatistics().used_heap_size));
  });

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  sample(): void {
    const { rss, heapTotal, external } = process.memoryUsage();
    this.resident.push(this.#now(rss));
    this.heap.push(this.#now(heapTotal));
    this.external.push(this.#now(external));
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
  }

  #now(bytes: number): TimedValue {
    return { atS: round((performance.now() - this.#beganMs) / 1_000), value: round(bytes / MIB) };
  }
}

/** The types of Node do not know what an entry of a collection has. */
function isFullCollection(
  entry: PerformanceEntry & { readonly detail?: { readonly kind: number } },
): boolean {
  return entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR;
}

/** More digits say nothing, and the results are kept. */
function round(value: number): number {
  return Math.round(value * 100) / 100;
}
