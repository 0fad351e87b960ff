/**
 * Text by the cells that it takes on a screen: Chinese, Japanese and Korean characters and most pictures take two,
 * marks that are put on the character before them none.
 *
 * A picture that is joined of several is counted part by part, which is the most that a terminal takes for it: text may
 * end early, and never runs past its place.
 *
 * @module
 */
import { eastAsianWidth } from 'get-east-asian-width';

const PLAIN = /^[ -~]*$/;
const MARK = /^\p{M}$/u;
/** Asks for a picture instead of a sign, which is wider. */
const PICTURE_SELECTOR = '\ufe0f';

/** How many cells the text takes. It has to be printable. */
export function cellWidth(text: string): number {
  return PLAIN.test(text) ? text.length : measure(text, Infinity).cells;
}

/** The text in at most so many cells, with an ellipsis where it was cut. */
export function cutCells(text: string, cells: number): string {
  if (cells <= 0) return '';
  if (PLAIN.test(text)) return text.length <= cells ? text : `${text.slice(0, cells - 1)}…`;
  const whole = measure(text, cells);
  if (whole.length === text.length) return text;
  return `${text.slice(0, measure(text, cells - 1).length)}…`;
}

/** The text in exactly so many cells. */
export function fitCells(text: string, cells: number): string {
  const cut = cutCells(text, cells);
  return cut + ' '.repeat(Math.max(0, cells - cellWidth(cut)));
}

/** The text in lines of at most so many cells each; at least one. */
export function wrapCells(text: string, cells: number): string[] {
  if (PLAIN.test(text) && text.length <= cells) return [text];
  const lines: string[] = [];
  let rest = text;
  do {
    const { length } = measure(rest, cells);
    // One character that is wider than a line has to go somewhere.
    const end = length > 0 ? length : (Array.from(rest)[0]?.length ?? 0);
    lines.push(cutCells(rest.slice(0, end), cells));
    rest = rest.slice(end);
  } while (rest !== '');
  return lines;
}

/** How much of the text fits into so many cells: its length in UTF-16 units, and its cells. */
function measure(text: string, room: number): { readonly length: number; readonly cells: number } {
  let [length, cells, before] = [0, 0, 0];
  for (const character of text) {
    const width = character === PICTURE_SELECTOR && before === 1 ? 1 : widthOf(character);
    if (cells + width > room) break;
    cells += width;
    length += character.length;
    before = width;
  }
  return { length, cells };
}

function widthOf(character: string): number {
  if (MARK.test(character)) return 0;
  return eastAsianWidth(character.codePointAt(0)!);
}
