import { type JournalEntry } from './journal-record.js';

/** Which records somebody wants; all unless told. */
export interface JournalFilter {
  /** Records of pods of this namespace; those of the node count as of `default`, as Kubernetes has it. */
  readonly namespace?: string | undefined;
  /** Names that the pod may have. */
  readonly pods?: readonly string[] | undefined;
  /** The uid of a pod. */
  readonly uid?: string | undefined;
  readonly kinds?: readonly string[] | undefined;
  readonly types?: readonly string[] | undefined;
  /** Wall-clock milliseconds, both of them included. */
  readonly sinceMs?: number | undefined;
  readonly untilMs?: number | undefined;
}

/** What of a history is read. */
export interface JournalQuery {
  readonly filter?: JournalFilter;
  /** Goes on behind the record of this id. */
  readonly afterId?: string | undefined;
  /** Waits for records to come when all are read, for ever. */
  readonly follow?: boolean;
}

/** Whether a record is wanted. */
export function matchesFilter(entry: JournalEntry, filter: JournalFilter): boolean {
  const { namespace, pods, uid, kinds, types, sinceMs, untilMs } = filter;
  const has = (wanted: string | undefined, value: string | undefined): boolean =>
    wanted === undefined || wanted === value;
  return (
    has(namespace, entry.pod?.namespace ?? 'default') &&
    (pods?.includes(entry.pod?.name ?? '') ?? true) &&
    has(uid, entry.pod?.uid) &&
    (kinds?.includes(entry.kind) ?? true) &&
    (types?.includes(entry.type) ?? true) &&
    entry.atMs >= (sinceMs ?? 0) &&
    entry.atMs <= (untilMs ?? Infinity)
  );
}
