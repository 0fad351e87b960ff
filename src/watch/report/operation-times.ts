import { isEndless } from '../cri/index.js';
import { type ReportedOperation } from '#kube/node/pleg-report.js';
import { type CriCallEnd, criCallEnded } from '#base/channels/channels.js';
import { percentileOf } from '#base/text/percentile.js';

/** Of so many of its last calls an operation's times are told. */
export const REMEMBERED_CALLS = 128;

interface Operation {
  /** Without those that were given up. */
  count: number;
  givenUp: number;
  failed: number;
  lastFailure: string | undefined;
  /** A ring; the next goes to `count % REMEMBERED_CALLS`. */
  readonly durationsMs: number[];
}

/** What the calls to the runtime took, by operation; there are as many as CRI has methods. */
export class OperationTimes implements Disposable {
  readonly #operations = new Map<string, Operation>();
  readonly #forget: () => void;

  constructor() {
    this.#forget = criCallEnded.subscribe((end) => {
      // A stream of events takes as long as it is wanted.
      if (isEndless(end.call)) return;
      // Asked for once a connection, to be told that lists come in one piece here.
      if (end.call.streaming && end.outcome === 'CRI_UNIMPLEMENTED') return;
      this.#add(end);
    });
  }

  /** In the order of their names. */
  list(): ReportedOperation[] {
    const names = [...this.#operations.keys()].sort();
    return names.map((operation) => {
      const { count, givenUp, failed, lastFailure, durationsMs } = this.#operations.get(operation)!;
      const sorted = durationsMs.toSorted((one, other) => one - other);
      return {
        ...{ operation, count, failed },
        ...(givenUp === 0 ? {} : { givenUp }),
        p50Ms: percentileOf(sorted, 0.5),
        p99Ms: percentileOf(sorted, 0.99),
        maxMs: sorted.at(-1) ?? 0,
        ...(lastFailure === undefined ? {} : { lastFailure }),
      };
    });
  }

  [Symbol.dispose](): void {
    this.#forget();
  }

  #add({ call: { operation }, durationMs, outcome }: CriCallEnd): void {
    let entry = this.#operations.get(operation);
    if (entry === undefined) {
      entry = { count: 0, givenUp: 0, failed: 0, lastFailure: undefined, durationsMs: [] };
      this.#operations.set(operation, entry);
    }
    if (outcome === 'aborted') {
      // Its time is that of whoever had enough, and says nothing of the runtime.
      entry.givenUp++;
      return;
    }
    entry.durationsMs[entry.count % REMEMBERED_CALLS] = durationMs;
    entry.count++;
    if (outcome === 'ok') return;
    entry.failed++;
    entry.lastFailure = outcome;
  }
}
