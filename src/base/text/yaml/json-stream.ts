/** One of several JSON objects in a text. */
export interface JsonPiece {
  readonly text: string;
  /** Where it begins in the whole text. */
  readonly offset: number;
}

/** A string, or the start or end of a list or an object; other characters do not change the depth. */
const TOKEN = /"(?:[^"\\]|\\.)*"|[{}[\]]/gs;

/**
 * Splits consecutive JSON objects, as `jq` prints them and kubectl accepts them.
 *
 * Undefined for any other text, including a single object.
 */
export function findJsonStream(text: string): readonly JsonPiece[] | undefined {
  if (!/^\s*\{/.test(text)) return undefined;
  const pieces: JsonPiece[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(TOKEN)) {
    if (token.startsWith('"')) continue;
    depth += token === '{' || token === '[' ? 1 : -1;
    if (depth > 0) continue;
    const piece = text.slice(start, index + 1);
    if (!isJsonObject(piece)) return undefined;
    const offset = start + piece.search(/\S/);
    pieces.push({ text: text.slice(offset, index + 1), offset });
    start = index + 1;
  }
  return pieces.length > 1 && text.slice(start).trim() === '' ? pieces : undefined;
}

function isJsonObject(text: string): boolean {
  try {
    return text.trimStart().startsWith('{') && typeof JSON.parse(text) === 'object';
  } catch {
    return false;
  }
}
