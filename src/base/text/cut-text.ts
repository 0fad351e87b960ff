import { StringDecoder } from 'node:string_decoder';

/** A character of a string takes no more than so many bytes in UTF-8. */
const MOST_BYTES_OF_ONE = 3;

/**
 * The beginning of a text that takes more than `mostBytes` in UTF-8, of whole characters and with a word that it was
 * cut, all of it within that. Any other text as it is. Pure.
 */
export function cutText(text: string, mostBytes: number): string {
  // Most texts are that short, and then nothing has to be counted.
  if (text.length * MOST_BYTES_OF_ONE <= mostBytes) return text;
  const bytes = Buffer.from(text);
  if (bytes.length <= mostBytes) return text;
  const word = `… (cut, ${bytes.length} bytes in all)`;
  const room = Math.max(0, mostBytes - Buffer.byteLength(word));
  return `${new StringDecoder('utf8').write(bytes.subarray(0, room))}${word}`;
}
