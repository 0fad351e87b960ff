import { type JournalRecord, type JournalValue } from '../journal/journal-record.js';

/** Texts are cut there when they are kept; one character more tells that there were more. */
const LONGEST_TEXT = 4_097;

/**
 * The same record with `***` for each value of a Secret of its pod's namespace: runtimes quote what they were given, errors
 * quote runtimes. One about the node is held against none: `hide` is told of no namespace.
 */
export function hideInRecord(
  record: JournalRecord,
  hide: (text: string, namespace: string | undefined) => string,
): JournalRecord {
  const namespace = record.pod?.namespace;
  // A runtime may say megabytes, which would take a while to look through.
  const hideText = (text: string): string => hide(text.slice(0, LONGEST_TEXT), namespace);
  const hideValue = (value: JournalValue | undefined): JournalValue | undefined => {
    if (typeof value === 'string') return hideText(value);
    return Array.isArray(value) ? (value as readonly string[]).map(hideText) : value;
  };
  const { message, details } = record;
  if (details === undefined) return { ...record, message: hideText(message) };
  const hidden = Object.entries(details).map(([name, value]) => [name, hideValue(value)] as const);
  return { ...record, message: hideText(message), details: Object.fromEntries(hidden) };
}
