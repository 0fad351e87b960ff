import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type JournalEntry } from './journal-record.js';

/** Selects records; pods are selected by their names on this node. */
export interface JournalFilter extends Omit<HistoryFilter, 'pod'> {
  /** The possible names of the pod. */
  readonly pods?: readonly string[] | undefined;
}

/** Which part of a history to read. */
export interface JournalQuery {
  readonly filter?: JournalFilter;
  /** Continues after the record with this id. */
  readonly afterId?: string | undefined;
  /** Waits for further records after the last one, as long as they may match. */
  readonly follow?: boolean;
}

/** Whether a record matches the filter. */
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
