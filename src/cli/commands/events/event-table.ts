import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { formatHumanDuration } from '#base/time/human-duration.js';
import { RememberedWidths } from '../../shared/print/remembered-widths.js';
import { toCell } from '../../shared/print/terminal-text.js';
import { type HistoryRecord } from './history-reader.js';

/** How a table of events is shown. */
export interface EventTableOptions {
  readonly withNamespace: boolean;
  /** With kind, container and exact time. */
  readonly wide: boolean;
  readonly headers: boolean;
}

/** Records as `kubectl events` shows events; rows may be added later, the header comes with the first. */
export class EventTable {
  readonly #options: EventTableOptions;
  readonly #widths = new RememberedWidths();
  #hasBegun = false;

  constructor(options: EventTableOptions) {
    this.#options = options;
  }

  /** The lines of these records. */
  add(records: readonly HistoryRecord[], nowMs: number): string[] {
    const rows = records.map((record) => this.#row(record, nowMs));
    if (!this.#hasBegun && this.#options.headers) rows.unshift(this.#header());
    this.#hasBegun = true;
    return this.#widths.layOut(rows.map((row) => row.map((cell) => toCell(cell))));
  }

  #header(): string[] {
    const { withNamespace, wide } = this.#options;
    return [
      ...(withNamespace ? ['NAMESPACE'] : []),
      ...['LAST SEEN', 'TYPE', 'REASON', 'OBJECT'],
      ...(wide ? ['CONTAINER', 'KIND', 'TIME'] : []),
      'MESSAGE',
    ];
  }

  #row(record: HistoryRecord, nowMs: number): string[] {
    const { withNamespace, wide } = this.#options;
    const { atMs, kind, type, reason, message, pod, node = '', container = '' } = record;
    return [
      ...(withNamespace ? [pod?.namespace ?? DEFAULT_NAMESPACE] : []),
      ...[lastSeen(record, nowMs), type, reason, pod === undefined ? `Node/${node}` : `Pod/${pod.name}`],
      ...(wide ? [container, kind, new Date(atMs).toISOString()] : []),
      message.trim(),
    ];
  }
}

/** `5m`, or `10s (x12 over 5m)` for what has happened again and again. */
function lastSeen({ atMs, count = 1, firstAtMs = atMs }: HistoryRecord, nowMs: number): string {
  const age = formatHumanDuration(nowMs - atMs);
  return count > 1 ? `${age} (x${count} over ${formatHumanDuration(nowMs - firstAtMs)})` : age;
}
