import { isRecord } from '#base/text/is-record.js';

/** A JSON object. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * Applies a patch: it replaces what it names, including whole lists, and removes what it sets to null. Pure.
 *
 * Source: RFC 7386, JSON Merge Patch
 */
export function mergePatch(object: unknown, patch: JsonObject): JsonObject {
  // A map, as a field may have any name.
  const merged = new Map(isRecord(object) ? Object.entries(object) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) merged.delete(key);
    else merged.set(key, isRecord(value) ? mergePatch(merged.get(key), value) : value);
  }
  return Object.fromEntries(merged);
}
