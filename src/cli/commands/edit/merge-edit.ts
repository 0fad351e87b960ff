import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '#base/text/is-record.js';

/**
 * What an edit makes of a value that others may have changed meanwhile: their changes stay, except where the
 * edit says something else. `undefined` is a missing field. Pure.
 *
 * Lists of named things, as containers, are merged by name; other lists are one value.
 *
 * @param before What the editor showed.
 * @param edited What was saved in it.
 * @param now What is there by now.
 */
export function mergeEdit(before: unknown, edited: unknown, now: unknown): unknown {
  if (isDeepStrictEqual(edited, before)) return now;
  if (isDeepStrictEqual(now, before)) return edited;
  const base = before ?? (isRecord(edited) ? {} : []);
  if (isRecord(base) && isRecord(edited) && isRecord(now)) {
    const keys = new Set([...Object.keys(edited), ...Object.keys(now)]);
    const merged = [...keys].map((key) => [key, mergeEdit(base[key], edited[key], now[key])] as const);
    return Object.fromEntries(merged.filter(([, value]) => value !== undefined));
  }
  const [old, mine, theirs] = [byName(base), byName(edited), byName(now)];
  if (old === undefined || mine === undefined || theirs === undefined) return edited;
  const names = new Set([...mine.keys(), ...theirs.keys()]);
  return [...names]
    .map((name) => mergeEdit(old.get(name), mine.get(name), theirs.get(name)))
    .filter((value) => value !== undefined);
}

/** The elements of a list by their names; undefined unless each has one of its own. */
function byName(list: unknown): ReadonlyMap<string, unknown> | undefined {
  if (!Array.isArray(list)) return undefined;
  const named = new Map<string, unknown>();
  for (const each of list as readonly unknown[]) {
    const name = isRecord(each) ? each['name'] : undefined;
    if (typeof name !== 'string' || named.has(name)) return undefined;
    named.set(name, each);
  }
  return named;
}
