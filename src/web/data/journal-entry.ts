import { showInvisible } from '#base/text/show-invisible.js';

/** The pod that a record is about. */
export interface EntryPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A record of the node's history, as far as the page reads it; an agent of another version may have less. */
export interface JournalEntry {
  /** Increases from record to record. */
  readonly id: string;
  readonly atMs: number;
  readonly kind: string;
  readonly type: string;
  readonly reason: string;
  readonly message: string;
  readonly pod?: EntryPod;
  /** The kind of `pod`, if it is no pod but a workload: `Deployment`. */
  readonly about?: { readonly kind: string };
  readonly container?: string;
  readonly count?: number;
  readonly firstAtMs?: number;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** The record of a line of server-sent events; undefined for other lines, and for what is no record. */
export function parseEntry(line: string): JournalEntry | undefined {
  if (!line.startsWith('data: ')) return undefined;
  try {
    const entry = JSON.parse(line.slice('data: '.length)) as Partial<JournalEntry>;
    const { id, atMs, kind, type, reason } = entry;
    const words = [id, kind, type, reason];
    if (!words.every((each) => typeof each === 'string') || typeof atMs !== 'number') return undefined;
    return { ...entry, message: showInvisible(entry.message ?? '') } as JournalEntry;
  } catch {
    return undefined;
  }
}

/** In the order of the history: ids are `<milliseconds>-<number>`. */
export function compareIds(one: string, other: string): number {
  const [oneMs = 0, oneNumber = 0] = one.split('-').map(Number);
  const [otherMs = 0, otherNumber = 0] = other.split('-').map(Number);
  return oneMs - otherMs || oneNumber - otherNumber;
}

/** A fact of a record that is a number; undefined if it is none. */
export function numberOf({ details }: JournalEntry, name: string): number | undefined {
  const value = details?.[name];
  return typeof value === 'number' ? value : undefined;
}

/** A fact of a record that is a text; undefined if it is none. */
export function textOf({ details }: JournalEntry, name: string): string | undefined {
  const value = details?.[name];
  return typeof value === 'string' ? value : undefined;
}
