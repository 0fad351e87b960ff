/**
 * Repairs texts that Kubernetes' parser reads as YAML but ours rejects, where only one meaning is possible.
 *
 * In: a text and the first error in each document of it. Out: the same text in a form that both parsers read,
 * with a mapping back to the original positions. Nothing is guessed: an error without a repair here stays an
 * error.
 *
 * @module
 */
import { isCollection, isPair, isScalar, type Node, type ParsedNode, type YAMLError } from 'yaml';

/** A replacement of characters in a text. */
export interface TextEdit {
  /** The offset in the text before the edit. */
  readonly at: number;
  readonly removed: number;
  readonly inserted: string;
}

/** A document as far as it could be parsed. */
export interface BrokenDocument {
  readonly contents: ParsedNode | null;
  readonly errors: readonly YAMLError[];
}

/** The edits that repair the documents of a text, in order; none if nothing can be repaired. */
export function findRepairs(text: string, documents: readonly BrokenDocument[]): TextEdit[] {
  const edits = documents.flatMap((document) => repairsOf(text, document));
  edits.sort((one, other) => one.at - other.at);
  // If two overlap, the first one may have repaired the other's position, too.
  return edits.filter((edit, index) => {
    const before = edits[index - 1];
    return before === undefined || before.at + before.removed <= edit.at;
  });
}

/** The text with all edits applied. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  const parts: string[] = [];
  let from = 0;
  for (const { at, removed, inserted } of edits) {
    parts.push(text.slice(from, at), inserted);
    from = at + removed;
  }
  return [...parts, text.slice(from)].join('');
}

/** The offset before the edits of an offset after them. */
export function placeBefore(offset: number, edits: readonly TextEdit[]): number {
  let shift = 0;
  for (const { at, removed, inserted } of edits) {
    const start = at + shift;
    if (offset < start) break;
    if (offset < start + inserted.length) return at;
    shift += inserted.length - removed;
  }
  return offset - shift;
}

function repairsOf(text: string, { contents, errors }: BrokenDocument): TextEdit[] {
  const [first] = errors;
  if (first === undefined) return [];
  const escapes = errors
    .filter(({ code, pos }) => code === 'BAD_DQ_ESCAPE' && text.startsWith("\\'", pos[0]))
    .map(({ pos }): TextEdit => ({ at: pos[0], removed: 1, inserted: '' }));
  const comments = errors
    .filter(({ code, pos }) => code === 'MISSING_CHAR' && text[pos[0]] === '#')
    .map(({ pos }): TextEdit => ({ at: pos[0], removed: 0, inserted: ' ' }));
  if (escapes.length + comments.length > 0) return [...escapes, ...comments];
  const broken = findSpanning(contents, first.pos[0]);
  return broken === undefined ? [] : joinLines(text, broken);
}

/**
 * The last outermost flow collection or quoted text that begins before an error: there the parser lost its
 * way.
 */
function findSpanning(contents: ParsedNode | null, offset: number): number | undefined {
  let found: number | undefined;
  const open: (Node | null)[] = [contents];
  while (open.length > 0) {
    const node = open.pop();
    const start = node?.range?.[0];
    if (node === null || node === undefined || start === undefined || start > offset) continue;
    const isFlow = isCollection(node) && node.flow === true;
    const isQuoted = isScalar(node) && (node.type === 'QUOTE_DOUBLE' || node.type === 'QUOTE_SINGLE');
    if (isFlow || isQuoted) found = Math.max(found ?? 0, start);
    else if (isCollection(node)) {
      for (const item of node.items) {
        if (isPair(item)) open.push(item.key as Node | null, item.value as Node | null);
        else open.push(item as Node | null);
      }
    }
  }
  return found;
}

/** Joins the lines of a flow collection or quoted text, so that their indentation does not matter. */
function joinLines(text: string, start: number): TextEdit[] {
  const edits: TextEdit[] = [];
  const end = scanNode(text, start, edits);
  return end === undefined ? [] : edits;
}

const CLOSING: Readonly<Record<string, string>> = { '[': ']', '{': '}' };
/** Line ends with the blanks and comments around them. */
const BREAKS = /[ \t]*(?:(?<=[\s,[\]{}])#[^\n]*)?(?:\n[ \t]*(?:#[^\n]*(?=\n))?)+/y;

function scanNode(text: string, start: number, edits: TextEdit[]): number | undefined {
  const first = text[start]!;
  if (first === '"' || first === "'") return scanQuoted(text, start, edits);
  const open: string[] = [];
  for (let at = start; at < text.length;) {
    const sign = text[at]!;
    const isAtBlank = sign === ' ' || sign === '\t' || sign === '\n' || sign === '#';
    BREAKS.lastIndex = at;
    const breaks = isAtBlank ? BREAKS.exec(text)?.[0] : undefined;
    if (breaks !== undefined) {
      const next = at + breaks.length;
      const isBetween = /[,[{:]/.test(text[at - 1]!) || /[,\]}]/.test(text[next] ?? '');
      // Inside text, an empty line means a line end.
      if (!isBetween && breaks.split('\n').length > 2) return undefined;
      if (!isBetween && breaks.includes('#')) return undefined;
      edits.push({ at, removed: breaks.length, inserted: ' ' });
      at = next;
    } else if ((sign === '"' || sign === "'") && /[\s,[{:]/.test(text[at - 1]!)) {
      const end = scanQuoted(text, at, edits);
      if (end === undefined) return undefined;
      at = end;
    } else {
      if (CLOSING[sign] !== undefined) open.push(CLOSING[sign]);
      else if (sign === ']' || sign === '}') {
        if (open.pop() !== sign) return undefined;
        if (open.length === 0) return at + 1;
      }
      at++;
    }
  }
  return undefined;
}

function scanQuoted(text: string, start: number, edits: TextEdit[]): number | undefined {
  const quote = text[start]!;
  for (let at = start + 1; at < text.length;) {
    const sign = text[at]!;
    if (sign === quote) {
      if (quote !== "'" || text[at + 1] !== "'") return at + 1;
      at += 2;
    } else if (sign === '\\' && quote === '"') {
      const escaped = /\n[ \t]*/y;
      escaped.lastIndex = at + 1;
      const folded = escaped.exec(text)?.[0];
      if (folded !== undefined) edits.push({ at, removed: 1 + folded.length, inserted: '' });
      at += folded === undefined ? 2 : 1 + folded.length;
    } else {
      const breaks = /[ \t]*\n[ \t\n]*/y;
      breaks.lastIndex = at;
      const found = breaks.exec(text)?.[0];
      if (found === undefined) {
        at++;
        continue;
      }
      const empty = found.split('\n').length - 2;
      if (empty > 0 && quote === "'") return undefined;
      edits.push({ at, removed: found.length, inserted: empty === 0 ? ' ' : '\\n'.repeat(empty) });
      at += found.length;
    }
  }
  return undefined;
}
