import { type JournalEntry } from '../data/journal-entry.js';
import { formatMoment, formatSpan } from '../time-text.js';
import { type Mark, type Span } from './tracks.js';

/** A span or a mark in words. */
export interface Description {
  readonly title: string;
  readonly time: string;
  readonly text: string;
}

/** What a pointer at something shows, and what a screen reader says. */
export function describeItem(item: Span | Mark, nowMs: number): Description {
  if ('atMs' in item) {
    const { reason, message, count } = item.entry;
    return { title: reason + timesOf(count), time: formatMoment(item.atMs, nowMs), text: message };
  }
  const { fromMs, toMs, label, entry, end, kind } = item;
  const begin = fromMs === -Infinity ? 'before what is shown' : formatMoment(fromMs, nowMs);
  const lasted = fromMs === -Infinity ? '' : `, ${formatSpan((toMs ?? nowMs) - fromMs)}`;
  const time =
    toMs === undefined ? `since ${begin}${lasted}` : `${begin} – ${formatMoment(toMs, nowMs)}${lasted}`;
  const words =
    kind === 'run' || kind === 'gap' ? (end?.message ?? entry?.message) : (entry?.message ?? end?.message);
  return { title: titleOf(item), time, text: words ?? label };
}

function titleOf({ kind, label, toMs }: Span): string {
  if (kind === 'run') return toMs === undefined ? 'Container is running' : `Container ended: ${label}`;
  if (kind === 'pull') return toMs === undefined ? 'Image is being pulled' : 'Image was pulled';
  if (kind === 'sync') return label === 'sandbox' ? 'Pod sandbox' : 'Pod was synced';
  if (kind === 'call') return `Slow call: ${label}`;
  return label;
}

function timesOf(count: number | undefined): string {
  return count === undefined || count <= 1 ? '' : ` ×${count}`;
}

/** The facts of a record, as pairs to print. */
export function factsOf({ details = {}, id, kind, count, firstAtMs }: JournalEntry): [string, string][] {
  const facts = Object.entries(details).filter(([, value]) => value !== undefined && value !== null);
  return [
    ['kind', kind],
    ...(count === undefined ? [] : [['count', String(count)] as [string, string]]),
    ...(firstAtMs === undefined ? [] : [['first', formatMoment(firstAtMs)] as [string, string]]),
    ...facts.map(([name, value]): [string, string] => [
      name,
      Array.isArray(value) ? value.join('\n') : String(value),
    ]),
    ['id', id],
  ];
}
