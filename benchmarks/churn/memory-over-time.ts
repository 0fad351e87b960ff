import { constants, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks';
import { getHeapStatistics } from 'node:v8';
import { OffHeapNumbers } from './off-heap-numbers.js';
import { type TimedValue } from './slope.js';

const MIB = 2 ** 20;

/**
 * The memory of this process over time, in MiB.
 *
 * What is resident does not tell a leak from memory that V8 or malloc hold on to because they may; what a full
 * collection leaves does. Only V8's own collections are looked at: to ask for one would shrink what is measured
 * beside it. The values themselves are kept outside of the heap.
 */
export class MemoryOverTime {
  readonly #resident = new OffHeapSeries();
  readonly #heap = new OffHeapSeries();
  readonly #external = new OffHeapSeries();
  readonly #live = new OffHeapSeries();
  readonly #beganMs = performance.now();
  readonly #observer = new PerformanceObserver((entries) => {
    const isFull = entries.getEntries().some(isFullCollection);
    if (isFull) this.#live.push(this.#nowS(), getHeapStatistics().used_heap_size / MIB);
  });

  constructor() {
    this.#observer.observe({ entryTypes: ['gc'] });
  }

  sample(): void {
    const { rss, heapTotal, external } = process.memoryUsage();
    const atS = this.#nowS();
    this.#resident.push(atS, rss / MIB);
    this.#heap.push(atS, heapTotal / MIB);
    this.#external.push(atS, external / MIB);
  }

  get resident(): readonly TimedValue[] {
    return this.#resident.toArray();
  }

  /** Of V8's heap, in use or not. */
  get heap(): readonly TimedValue[] {
    return this.#heap.toArray();
  }

  /** Buffers and what else lies outside of the heap and is known to V8. */
  get external(): readonly TimedValue[] {
    return this.#external.toArray();
  }

  /** In use right after each full collection. */
  get live(): readonly TimedValue[] {
    return this.#live.toArray();
  }

  [Symbol.dispose](): void {
    this.#observer.disconnect();
  }

  #nowS(): number {
    return (performance.now() - this.#beganMs) / 1_000;
  }
}

class OffHeapSeries {
  readonly #atS = new OffHeapNumbers();
  readonly #values = new OffHeapNumbers();

  push(atS: number, value: number): void {
    this.#atS.push(round(atS));
    this.#values.push(round(value));
  }

  toArray(): TimedValue[] {
    const values = this.#values.toArray();
    return this.#atS.toArray().map((atS, i) => ({ atS, value: values[i]! }));
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
