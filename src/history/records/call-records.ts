import { type JournalRecord } from '../journal/journal-record.js';
import { type CriCall, criCallEnded } from '#base/channels/channels.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type RecordMaker } from './sync-records.js';

/** Options of {@link CallRecords}. */
export interface CallRecordsOptions extends RecordMaker {
  readonly callsInFlight: () => readonly CriCall[];
  /** The timeout of a call beyond the time that the call itself requests, in milliseconds. */
  readonly requestTimeoutMs: number;
}

/** Both limits exclude the time that a call requests itself, such as a stop's grace period. */
const SLOW_MS = 1_000;
const HANGS_MS = 10_000;
/** How many hanging calls are tracked at a time; others are recorded when they end. */
const MAX_HANGING = 1_000;

/** Records calls of the runtime that hang, while they do, and each slow call when it ends. */
export class CallRecords implements Disposable {
  readonly #options: CallRecordsOptions;
  readonly #hanging = new Set<number>();
  readonly #leave: () => void;

  constructor(options: CallRecordsOptions) {
    this.#options = options;
    this.#leave = options.channels.subscribe(criCallEnded, ({ call, durationMs, outcome }) => {
      const hung = this.#hanging.delete(call.id);
      if (!hung && durationMs < this.#ownMs(call) + SLOW_MS) return;
      const message = `took ${rounded(durationMs)}${outcome === 'ok' ? '' : ` and ended with ${outcome}`}`;
      const type = outcome === 'ok' ? 'Normal' : 'Warning';
      const facts = { durationMs: Math.round(durationMs), outcome };
      const { append, repeats } = this.#options;
      if (hung) {
        append(this.#toRecord(call, { type, reason: 'CallReturned', message }, facts));
        return;
      }
      const record = this.#toRecord(call, { type, reason: 'SlowCall', message }, facts);
      repeats.fold(`slow ${call.method} ${call.pod?.uid ?? ''} ${outcome}`, record, { durationMs });
    });
  }

  /** Checks which calls hang now. */
  look(): void {
    const { callsInFlight, clock, append } = this.#options;
    for (const call of callsInFlight()) {
      const forMs = clock.monotonicMs() - call.startedAtMonotonicMs;
      if (this.#hanging.has(call.id) || forMs < this.#ownMs(call) + HANGS_MS) continue;
      if (this.#hanging.size >= MAX_HANGING) return;
      this.#hanging.add(call.id);
      const message = `is not answered for ${rounded(forMs)}`;
      const words = { type: 'Warning', reason: 'CallHangs', message } as const;
      append(this.#toRecord(call, words, { forMs: Math.round(forMs) }));
    }
  }

  [Symbol.dispose](): void {
    this.#leave();
  }

  /** A call without a deadline may take any time: a stream, the pull of an image. */
  #ownMs({ streaming, deadlineMs }: CriCall): number {
    if (streaming || deadlineMs === undefined) return Infinity;
    return Math.max(0, deadlineMs - this.#options.requestTimeoutMs);
  }

  #toRecord(
    { method, pod, containerId, sandboxId }: CriCall,
    { message, ...words }: Pick<JournalRecord, 'type' | 'reason' | 'message'>,
    facts: JournalRecord['details'],
  ): JournalRecord {
    return {
      ...{ atMs: this.#options.clock.now(), kind: 'call', message: `${method} ${message}`, ...words },
      ...(pod === undefined ? {} : { pod }),
      details: { method, containerId, sandboxId, ...facts },
    };
  }
}

function rounded(durationMs: number): string {
  return formatGoDuration(
    durationMs < 10_000 ? Math.round(durationMs) : Math.round(durationMs / 1_000) * 1_000,
  );
}
