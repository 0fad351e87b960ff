/** A text without its escapes, and the original position of each character. */
export interface UnescapedText {
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
export function unescapeText(escaped: string): UnescapedText | undefined {
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
