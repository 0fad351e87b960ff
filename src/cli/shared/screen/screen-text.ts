/**
 * Text for the rows of a screen: nothing in it moves the cursor, and nothing is longer than its place.
 *
 * @module
 */

/** How many characters there are in a row, and how many rows. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
}

/** Nothing that moves the cursor or turns the direction of writing: names and messages come from programs. */
export function printable(text: string): string {
  return text.replaceAll(/[\p{C}\u2028\u2029]+/gu, ' ');
}

/** The text in at most so many characters, with an ellipsis where it was cut. */
export function cut(text: string, length: number): string {
  const characters = Array.from(text);
  if (characters.length <= length) return text;
  return length <= 0 ? '' : `${characters.slice(0, length - 1).join('')}…`;
}

/** The text with spaces behind it, so that it takes at least so many characters. */
export function pad(text: string, length: number): string {
  return text + ' '.repeat(Math.max(0, length - textWidth(text)));
}

/** How many characters it takes: code points, as Go counts them. */
export function textWidth(text: string): number {
  return Array.from(text).length;
}
