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

/** What stands between the parts of a title. */
const GAP = '   ';

/** A title in lines of at most so many cells, with its parts as whole as that allows; at least one. */
export function wrapParts(title: string, cells: number): string[] {
  const lines: string[] = [];
  for (const part of title.split(GAP)) {
    const line = [...lines.slice(-1), part].join(GAP);
    if (lines.length > 0 && cellWidth(line) <= cells) lines.splice(-1, 1, line);
    else lines.push(...wrapWords(part, cells));
  }
  return lines;
}

/**
 * Text in lines of at most so many cells each, broken between words, or behind a slash of one that is too long; at
 * least one. All but the first begin with `indent` spaces, or fewer where these would take more than half of a line.
 */
export function wrapWords(text: string, cells: number, indent = 0): string[] {
  const inset = ' '.repeat(indent <= cells / 2 ? indent : Math.min(2, Math.floor(cells / 2)));
  const lines: string[] = [];
  let rest = text;
  while (cellWidth(rest) > cells) {
    const { length } = measure(rest, cells);
    const begin = rest.length - rest.trimStart().length;
    if (begin > 0 && length <= begin) {
      // There is room for the spaces alone, and none for a wide character behind them.
      rest = rest.trimStart();
      continue;
    }
    // A space behind the last character that fits is a break, too.
    const breaks = [rest.lastIndexOf(' ', length), rest.lastIndexOf('/', length - 1) + 1];
    const end = breaks.find((at) => at > begin) ?? Math.max(length, Array.from(rest)[0]!.length);
    lines.push(rest.slice(0, end).trimEnd());
    rest = inset + rest.slice(end).trimStart();
    if (rest.trim() === '') return lines;
  }
  return [...lines, rest];
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
