/** Node's own undocumented decoder: half the cost of `toString('utf8', start, end)` for short strings. */
interface NativeDecoder {
  utf8Slice(start: number, end: number): string;
}

/**
 * The text of `bytes[start, end)`: a copy, with broken UTF-8 replaced by U+FFFD and a byte order mark
 * preserved.
 */
function decodeUtf8(bytes: Buffer, start: number, end: number): string {
  return (bytes as Buffer & NativeDecoder).utf8Slice(start, end);
}

/** Longer strings are rarely seen twice. */
export const MAX_CACHED_BYTES = 96;
// A power of two, so that the slot is a mask of the hash.
const SLOTS = 1024;

/**
 * A cache of recently read short strings, such as the label keys that every container of every list repeats.
 *
 * Each string has one slot, by a hash of some of its bytes, which holds the last string read there. Only
 * ASCII is cached.
 */
export class StringCache {
  readonly #slots = new Array<string>(SLOTS).fill('');

  /** The text of `bytes[start, end)`, UTF-8. Never refers to `bytes` afterwards. */
  read(bytes: Buffer, start: number, end: number): string {
    const length = end - start;
    if (length === 0) return '';
    if (length > MAX_CACHED_BYTES) return decodeUtf8(bytes, start, end);
    const slot = hashOf(bytes, start, end) & (SLOTS - 1);
    const cached = this.#slots[slot]!;
    if (cached.length === length && isAsciiOf(cached, bytes, start)) return cached;
    const text = decodeUtf8(bytes, start, end);
    // One UTF-16 unit for each byte means ASCII, or broken bytes, whose replacement never compares equal to a
    // byte.
    if (text.length === length) this.#slots[slot] = text;
    return text;
  }
}

function isAsciiOf(text: string, bytes: Buffer, start: number): boolean {
  for (let index = text.length - 1; index >= 0; index--) {
    if (text.charCodeAt(index) !== bytes[start + index]) return false;
  }
  return true;
}

/** Mixes eight bytes spread over the string, the last ones first, as keys differ at their ends. */
function hashOf(bytes: Buffer, start: number, end: number): number {
  const length = end - start;
  const step = length <= 8 ? 1 : (length >>> 3) + 1;
  let hash = length;
  for (let index = end - 1; index >= start; index -= step) hash = (Math.imul(hash, 31) + bytes[index]!) | 0;
  return hash ^ (hash >>> 10);
}
