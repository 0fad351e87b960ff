import { type HeaderField } from './header-field.js';
import { STATIC_TABLE } from './static-table.js';

/** By name and value, and by name alone: the index in the static table. */
const INDEX_OF_FIELD = new Map<string, number>();
const INDEX_OF_NAME = new Map<string, number>();
for (const [at, { name, value }] of STATIC_TABLE.entries()) {
  INDEX_OF_FIELD.set(`${name}\0${value}`, at + 1);
  if (!INDEX_OF_NAME.has(name)) INDEX_OF_NAME.set(name, at + 1);
}

/**
 * Writes a header block that neither needs the reader's table nor changes it: whatever the reader has seen before, it
 * reads this, and what it reads afterwards means the same as without it.
 *
 * `tableSizes` are limits of the table to begin with, for a reader that waits for them.
 */
export function encodeStateless(
  fields: Iterable<HeaderField | readonly [name: string, value: string]>,
  tableSizes: readonly number[] = [],
): Buffer {
  const parts: Buffer[] = tableSizes.map((bytes) => encodeInteger(bytes, 5, 0x20));
  for (const field of fields) {
    const { name, value, neverIndexed } =
      'name' in field ? field : { name: field[0], value: field[1], neverIndexed: false };
    const whole = INDEX_OF_FIELD.get(`${name}\0${value}`);
    if (whole !== undefined && !neverIndexed) {
      parts.push(encodeInteger(whole, 7, 0x80));
      continue;
    }
    const nameIndex = INDEX_OF_NAME.get(name) ?? 0;
    parts.push(encodeInteger(nameIndex, 4, neverIndexed ? 0x10 : 0x00));
    if (nameIndex === 0) parts.push(...encodeString(name));
    parts.push(...encodeString(value));
  }
  return Buffer.concat(parts);
}

function encodeString(text: string): Buffer[] {
  const bytes = Buffer.from(text, 'latin1');
  return [encodeInteger(bytes.length, 7, 0x00), bytes];
}

function encodeInteger(value: number, prefixBits: number, pattern: number): Buffer {
  const most = 2 ** prefixBits - 1;
  if (value < most) return Buffer.from([pattern | value]);
  const bytes = [pattern | most];
  let rest = value - most;
  for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) bytes.push((rest & 0x7f) | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}
