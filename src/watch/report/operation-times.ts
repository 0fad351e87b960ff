import { type Channels } from '#base/channels/publishing-channel.js';
import { isEndless } from '../cri/index.js';
import { type ReportedOperation } from '#kube/node/pleg-report.js';
import { type CriCallEnd, criCallEnded } from '#base/channels/channels.js';
import { percentileOf } from '#base/text/percentile.js';

/** The times of this many last calls of an operation are reported. */
export const REMEMBERED_CALLS = 128;

interface Operation {
  /** Without cancelled calls. */
  count: number;
  givenUp: number;
  failed: number;
  lastFailure: string | undefined;
  /** A ring buffer; the next time goes to index `count % REMEMBERED_CALLS`. */
  readonly durationsMs: number[];
}

/** How long the calls to the runtime took, by operation; there are as many as CRI has methods. */
export class OperationTimes implements Disposable {
  readonly #operations = new Map<string, Operation>();
  readonly #forget: () => void;

  constructor(channels: Channels) {
    this.#forget = channels.subscribe(criCallEnded, (end) => {
      // A stream of events lasts as long as it is wanted.
      if (isEndless(end.call)) return;
      // Tried once per connection, to find out that this runtime's lists come in one piece.
      if (end.call.streaming && end.outcome === 'CRI_UNIMPLEMENTED') return;
      this.#add(end);
    });
  }

  /** Sorted by name. */
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
      // Its time only shows how long the caller was willing to wait.
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
