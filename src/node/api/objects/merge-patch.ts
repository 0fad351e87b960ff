import { isRecord } from '#base/text/is-record.js';

/** An object of JSON. */
export type JsonObject = Readonly<Record<string, unknown>>;

/**
 * The object as the patch has it: what it names is replaced, lists whole, and what it says is null goes. Pure.
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
