import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type JournalEntry } from './journal-record.js';

/** Which records are read; pods by what they are called here. */
export interface JournalFilter extends Omit<HistoryFilter, 'pod'> {
  /** Names that the pod may have. */
  readonly pods?: readonly string[] | undefined;
}

/** What of a history is read. */
export interface JournalQuery {
  readonly filter?: JournalFilter;
  /** Goes on behind the record of this id. */
  readonly afterId?: string | undefined;
  /** Waits for records to come when all are read: as long as any may be wanted. */
  readonly follow?: boolean;
}

/** Whether a record is wanted. */
export function matchesFilter(entry: JournalEntry, filter: JournalFilter): boolean {
  const { namespace, pods, uid, kinds, types, sinceMs, untilMs } = filter;
  const has = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    has(namespace, entry.pod?.namespace ?? DEFAULT_NAMESPACE) &&
    (pods?.includes(entry.pod?.name ?? '') ?? true) &&
    has(uid, entry.pod?.uid) &&
    (kinds?.includes(entry.kind) ?? true) &&
    (types?.includes(entry.type) ?? true) &&
    entry.atMs >= (sinceMs ?? 0) &&
    entry.atMs <= (untilMs ?? Infinity)
  );
}
