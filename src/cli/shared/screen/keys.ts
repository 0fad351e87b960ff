/** A key that was pressed: a character, or the name of one that has none. */
export type Key = string;

/** What terminals send for keys without a character. */
const NAMES: ReadonlyMap<string, Key> = new Map([
  ['\x1b[A', 'up'],
  ['\x1bOA', 'up'],
  ['\x1b[B', 'down'],
  ['\x1bOB', 'down'],
  ['\x1b[C', 'right'],
  ['\x1bOC', 'right'],
  ['\x1b[D', 'left'],
  ['\x1bOD', 'left'],
  ['\x1b[5~', 'page-up'],
  ['\x1b[6~', 'page-down'],
  ['\x1b[H', 'home'],
  ['\x1bOH', 'home'],
  ['\x1b[1~', 'home'],
  ['\x1b[F', 'end'],
  ['\x1bOF', 'end'],
  ['\x1b[4~', 'end'],
  ['\x1b', 'escape'],
  ['\r', 'enter'],
  ['\n', 'enter'],
  ['\x7f', 'backspace'],
  ['\b', 'backspace'],
  ['\x03', 'interrupt'],
  ['\x04', 'interrupt'],
  ['\x0c', 'redraw'],
  ['\x15', 'erase-line'],
  ['\x1a', 'suspend'],
]);

/** A sequence that has begun, and whose rest may still be on its way. */
const BEGUN = /\x1b(?:\[[\d;?]*|O)?$/;

/** How much of the text is whole keys: what follows may be the begin of one. */
export function wholeKeysLength(text: string): number {
  return BEGUN.exec(text)?.index ?? text.length;
}

/** Takes what came from a terminal apart into keys. What is neither a character nor known is left out. */
export function decodeKeys(text: string): Key[] {
  // Sequences, keys with Alt, and single characters.
  const parts = text.match(/\x1b\[[\d;?]*[ -/]*[@-~]|\x1bO.|\x1b[^[\x1b]|\x1b|[^\x1b]/gsu) ?? [];
  return parts.flatMap((part) => {
    const name = NAMES.get(part);
    if (name !== undefined) return [name];
    return /^[^\p{C}]$/u.test(part) ? [part] : [];
  });
}
