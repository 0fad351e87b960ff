/** A range of a text (`end` is exclusive) and its replacement. */
export interface Replacement {
  readonly start: number;
  readonly end: number;
  readonly shown: string;
}

/** Levels of quoting: a runtime quotes the error of its helper, which quotes a command. */
const DEEPEST_QUOTE = 3;

/**
 * Replaces matches in a text, also where the text quotes them.
 *
 * A match may be there as it is, with escapes of Go and JSON, or with its tabs and line ends as spaces. Pure.
 *
 * @param find is called with each reading of the text, after {@link withPlainSpace}.
 */
export function replaceQuoted(text: string, find: (plain: string) => readonly Replacement[]): string {
  const found = [...find(withPlainSpace(text))];
  let places: Uint32Array | undefined;
  for (let [depth, quoted] = [0, text]; depth < DEEPEST_QUOTE; depth++) {
    const inner = unescapeText(quoted);
    if (inner === undefined) break;
    const outer = places;
    const own = outer === undefined ? inner.places : inner.places.map((at) => outer[at]!);
    [places, quoted] = [own, inner.text];
    for (const { start, end, shown } of find(withPlainSpace(quoted)))
      found.push({ start: own[start]!, end: own[end]!, shown });
  }
  // Matches may overlap or contain one another; the longer one comes first.
  found.sort((one, other) => one.start - other.start || other.end - one.end);
  let replaced = '';
  let from = 0;
  for (const { start, end, shown } of found) {
    if (start >= from) replaced += text.slice(from, start) + shown;
    from = Math.max(from, end);
  }
  return from === 0 ? text : replaced + text.slice(from);
}

/** The text with a space for each invisible character, as runtimes put their messages on one line. Pure. */
export function withPlainSpace(text: string): string {
  return text.replaceAll(/[\s\p{Cc}]/gu, ' ');
}

/** A text without its escapes, and the original position of each character. */
interface UnescapedText {
  readonly text: string;
  /** For each character, and for the end, the position in the escaped text. */
  readonly places: Uint32Array;
}

/** As written by Go's %q and by JSON. */
const LETTERS: Readonly<Record<string, string>> = {
  ...{ a: '\x07', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v' },
  ...{ '"': '"', "'": "'", '/': '/', '\\': '\\' },
};
/** The last alternative is an escape that the end has cut off. */
const ESCAPE =
  /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|U([\da-fA-F]{8})|([abfnrtv"'/\\])|(?:[xuU][\da-fA-F]{0,7})?$)/g;
const LAST_CODE_POINT = 0x10ffff;

/**
 * Decodes the escapes in a text that quotes another one; undefined if there are none. Pure.
 *
 * Everything else stays as it is: such texts quote parts, and are not literals from end to end.
 */
function unescapeText(escaped: string): UnescapedText | undefined {
  if (!escaped.includes('\\')) return undefined;
  const places: number[] = [];
  let text = '';
  let from = 0;
  const copyTo = (end: number): void => {
    text += escaped.slice(from, end);
    for (let at = from; at < end; at++) places.push(at);
  };
  for (const match of escaped.matchAll(ESCAPE)) {
    const read = readEscape(match);
    if (read === undefined) continue;
    copyTo(match.index);
    text += read;
    for (let unit = 0; unit < read.length; unit++) places.push(match.index);
    from = match.index + match[0].length;
  }
  if (from === 0) return undefined;
  copyTo(escaped.length);
  return { text, places: Uint32Array.from([...places, escaped.length]) };
}

function readEscape([, byte, unit, point, letter]: RegExpExecArray): string | undefined {
  if (letter !== undefined) return LETTERS[letter];
  const digits = byte ?? unit ?? point;
  if (digits === undefined) return '';
  const code = Number.parseInt(digits, 16);
  return code <= LAST_CODE_POINT ? String.fromCodePoint(code) : undefined;
}
