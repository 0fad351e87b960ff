import { StringDecoder } from 'node:string_decoder';

/** A UTF-16 unit of a string takes at most this many bytes in UTF-8. */
const MAX_BYTES_OF_ONE = 3;

/**
 * Shortens a text to `mostBytes` of UTF-8, in whole characters and including a mark that it was cut.
 *
 * Shorter texts are returned unchanged. Pure.
 */
export function cutText(text: string, mostBytes: number): string {
  // Most texts are short enough without counting.
  if (text.length * MAX_BYTES_OF_ONE <= mostBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const word = `… (cut, ${bytes.length} bytes in all)`;
  const room = Math.max(0, mostBytes - Buffer.byteLength(word));
  return `${new StringDecoder('utf8').write(bytes.subarray(0, room))}${word}`;
}
