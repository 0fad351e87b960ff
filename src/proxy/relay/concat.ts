/** Both, one behind the other; no copy when one is empty. */
export function concat(first: Buffer, second: Buffer): Buffer {
  if (first.length === 0) return second;
  return second.length === 0 ? first : Buffer.concat([first, second]);
}
