import { type JournalRecord, type JournalValue } from '../journal/journal-record.js';

/** Stored texts are cut at one character less; the additional one shows that there were more. */
const MAX_TEXT_LENGTH = 4_097;

/**
 * The record with `***` for each value of a Secret of its pod's namespace.
 *
 * Runtimes quote their input, and errors quote runtimes. A record about the node is not checked against any
 * Secret: `hide` gets no namespace.
 */
export function hideInRecord(
  record: JournalRecord,
  hide: (text: string, namespace: string | undefined) => string,
): JournalRecord {
  const namespace = record.pod?.namespace;
  // A runtime's text may be megabytes long, and searching it would take a while.
  const hideText = (text: string): string => hide(text.slice(0, MAX_TEXT_LENGTH), namespace);
  const hideValue = (value: JournalValue | undefined): JournalValue | undefined => {
    if (typeof value === 'string') return hideText(value);
    return Array.isArray(value) ? (value as readonly string[]).map(hideText) : value;
  };
  const { message, details } = record;
  if (details === undefined) return { ...record, message: hideText(message) };
  const hidden = Object.entries(details).map(([name, value]) => [name, hideValue(value)] as const);
  return { ...record, message: hideText(message), details: Object.fromEntries(hidden) };
}
