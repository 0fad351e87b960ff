/**
 * Parses YAML and JSON that people wrote, into plain values with the position of every part.
 *
 * In: the text of a file. Out: one {@link YamlDocument} for each document, with its problems: syntax,
 * duplicate keys, tags, more nesting or aliases than anybody needs. Nothing is thrown and nothing is
 * converted; a document with problems does not affect others.
 *
 * @module
 */
import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  parseAllDocuments,
  type Scalar,
} from 'yaml';
import { messageOf } from '../../errors/errors.js';
import { findJsonStream } from './json-stream.js';
import { applyEdits, findRepairs, placeBefore, type TextEdit } from './repair-yaml.js';
import { type LocatedNode, YamlConverter } from './yaml-converter.js';
import { type YamlStep } from './yaml-path.js';
import { checkGrammar, type GrammarCheck, type YamlPart } from './kubernetes-grammar.js';
import { AMBIGUOUS, type GrammarFault } from './yaml-tokens.js';

/** A position in a text; both numbers count from 1. */
export interface TextPlace {
  readonly line: number;
  readonly column: number;
}

/** A problem with a document itself, whatever its content means. */
export interface YamlProblem {
  readonly path: readonly YamlStep[];
  readonly place: TextPlace;
  readonly message: string;
  /**
   * The message without any text from the file except keys, for files whose values must not appear in
   * messages.
   */
  readonly plain: string;
}

/** One document of a file. */
export interface YamlDocument {
  /** Plain JSON; undefined after a syntax error. */
  readonly value: unknown;
  readonly problems: readonly YamlProblem[];
  /** The position of a value, or of the nearest existing value around it. */
  placeOf(path: readonly YamlStep[], of?: 'value' | 'key'): TextPlace;
}

const OPTIONS = {
  // Everything is text: the converter decides what plain scalars mean. It also compares keys, because the
  // parser would compare each with each.
  schema: 'failsafe',
  uniqueKeys: false,
  logLevel: 'silent',
  prettyErrors: false,
} as const;

/** Parses every document of a text; empty ones are omitted. Never throws. */
export function parseYamlDocuments(written: string): YamlDocument[] {
  const pieces = findJsonStream(written);
  if (pieces === undefined) return parseText(written);
  return pieces.flatMap(({ text, offset }) => {
    const begin = placeIn(written, offset);
    return parseText(text).map((document) => moveDocument(document, begin));
  });
}

/** Moves a document that was parsed from a part of a text, which begins at `begin`. */
function moveDocument(document: YamlDocument, begin: TextPlace): YamlDocument {
  const move = ({ line, column }: TextPlace): TextPlace => ({
    line: begin.line + line - 1,
    column: line === 1 ? begin.column + column - 1 : column,
  });
  return {
    value: document.value,
    problems: document.problems.map((problem) => ({ ...problem, place: move(problem.place) })),
    placeOf: (path, of) => move(document.placeOf(path, of)),
  };
}

function parseText(written: string): YamlDocument[] {
  const lines = new LineCounter();
  const control = CONTROL.exec(written);
  if (control !== null)
    return [unreadable('control characters are not allowed', placeIn(written, control.index))];
  const separator = SEPARATOR.exec(written);
  if (separator !== null) {
    const code = separator[0].charCodeAt(0).toString(16).toUpperCase().padStart(4, '0');
    const message = `U+${code} ends a line for some readers and not for others; remove it, or write it as an escape`;
    return [unreadable(message, placeIn(written, separator.index))];
  }
  // A lone CR ends a line, too; the parser only knows CR and LF together, and not everywhere.
  const text = written.replace(/\r\n?/g, '\n').replace(BYTE_ORDER_MARK, '$1');
  lines.addNewLine(0);
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines.addNewLine(at + 1);
  let parsed: ParsedText;
  try {
    parsed = parseRepaired(text);
  } catch (error) {
    // The parser recurses once per level.
    const why = error instanceof RangeError ? 'it is nested too deep' : messageOf(error);
    return [unreadable(why, { line: 1, column: 1 }, 'it cannot be read')];
  }
  const linesAt = (offset: number): TextPlace => {
    const { line, col } = lines.linePos(offset);
    return { line: Math.max(1, line), column: Math.max(1, col) };
  };
  const placeInText = (offset: number): number => parsed.placeOf(offset);
  const placeAt = (offset: number): TextPlace => linesAt(placeInText(offset));
  const documents: YamlDocument[] = [];
  const converter = new YamlConverter();
  const checks = isJson(written) ? undefined : new DocumentChecks(text);
  for (const document of parsed.documents) {
    const [fault] = document.errors;
    if (fault !== undefined) {
      const [first = ''] = fault.message.split('\n');
      const message = REWORDED[first] ?? first;
      // The composer recurses once per level, too, and passes on the error.
      const isTooDeep = message.startsWith('Maximum call stack');
      const at = placeAt(fault.pos[0]);
      documents.push(
        isTooDeep ? unreadable('it is nested too deep', at) : unreadable(message, at, withoutText(message)),
      );
      continue;
    }
    const root = converter.convert(document.contents);
    const problems = root.problems.map(({ offset, ...problem }) => ({ ...problem, place: placeAt(offset) }));
    const different = problems.length > 0 ? undefined : checks?.check(document, placeInText);
    if (different !== undefined) {
      documents.push(unreadable(different.message, linesAt(different.offset)));
      continue;
    }
    if (root.value === null && problems.length === 0) continue;
    const placeOf = (path: readonly YamlStep[], of: 'value' | 'key' = 'value'): TextPlace =>
      placeAt(offsetOf(root.node, path, of));
    documents.push({ value: root.value, problems, placeOf });
  }
  if (documents.some(({ problems }) => problems.length > 0)) return documents;
  // Text that the parser does not treat as a document, such as a line that begins with a percent sign, is not
  // among them.
  const others = checks?.findOthers() ?? [];
  return [...others.map(({ message, offset }) => unreadable(message, linesAt(offset))), ...documents];
}

interface ParsedText {
  readonly documents: readonly Document.Parsed[];
  /** Converts an offset in the documents to one in the original text. */
  placeOf(offset: number): number;
}

/** Messages of the parser that do not name the mistake that people make. */
const REWORDED: Readonly<Record<string, string>> = {
  'Nested mappings are not allowed in compact mappings':
    'a value is on this line already, and the next line is indented below it: give both the same indentation, or end this line with the colon',
};

/** Each repair parses the whole text again; a text that needs more is broken in many places, or malicious. */
const MAX_REPAIRS = 16;
const MAX_REPAIRED_CHARACTERS = 4 * 1024 * 1024;

/**
 * Parses a text, repairing it as long as that leads to another error or none. A remaining error is that of
 * the original text.
 */
function parseRepaired(text: string): ParsedText {
  const first = parseAllDocuments(text, OPTIONS);
  let [documents, current] = [first, text];
  const rounds: (readonly TextEdit[])[] = [];
  const hasFault = (): boolean => documents.some(({ errors }) => errors.length > 0);
  while (hasFault() && rounds.length < MAX_REPAIRS && rounds.length * text.length < MAX_REPAIRED_CHARACTERS) {
    const edits = findRepairs(current, documents);
    if (edits.length === 0) break;
    rounds.push(edits);
    current = applyEdits(current, edits);
    documents = parseAllDocuments(current, OPTIONS);
  }
  if (rounds.length === 0 || hasFault()) return { documents: first, placeOf: (offset) => offset };
  return {
    documents,
    placeOf: (offset) => rounds.reduceRight((place, edits) => placeBefore(place, edits), offset),
  };
}

/**
 * At the beginning of a document, as in joined files that begin with one. The parser only knows the first
 * one.
 */
const BYTE_ORDER_MARK = /^(---[ \t]*\n)\ufeff/gm;
/** Unicode line ends that are line ends in YAML 1.1, but not in 1.2 and JSON. */
const SEPARATOR = /[\u0085\u2028\u2029]/;
/** YAML allows none of them, and no name or command contains one. */
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]/;

/** Kubernetes reads JSON as such, and everything else as YAML. */
function isJson(text: string): boolean {
  if (!/^[\s]*[{[]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function placeIn(text: string, offset: number): TextPlace {
  const before = text.slice(0, offset).split('\n');
  return { line: before.length, column: before.at(-1)!.length + 1 };
}

function unreadable(message: string, place: TextPlace, plain = message): YamlDocument {
  return { value: undefined, problems: [{ path: [], place, message, plain }], placeOf: () => place };
}

/** The parser's messages begin with its own words; quoted text follows one of these. */
const QUOTES = /(?:(?<=\S):|["'`](?!quote$)|[!\\]|(?<=\bcharacter )).*$/s;

function withoutText(message: string): string {
  return message.replace(QUOTES, '…').replace(/\s*…$/, ' …');
}

function offsetOf(root: LocatedNode, path: readonly YamlStep[], of: 'value' | 'key'): number {
  let node = root;
  let offset = root.offset;
  for (const step of path) {
    const child = node.children?.get(step);
    if (child === undefined) break;
    offset = of === 'key' && step === path.at(-1) ? (child.keyOffset ?? child.offset) : child.offset;
    node = child;
  }
  return offset;
}

/** A parsed document. */
type ParsedDocument = Pick<Document.Parsed, 'contents' | 'range'>;

/**
 * Checks the documents of a text, one after the other, against Kubernetes' reading of it.
 *
 * Kubernetes splits a text at its lines with `---` and parses each part by itself; parts without a document
 * are checked, too.
 */
class DocumentChecks {
  readonly #text: string;
  readonly #starts: readonly number[];
  readonly #checks: (GrammarCheck | undefined)[] = [];
  /** The part that contains the last document. */
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    this.#starts = [0, ...[...text.matchAll(/\n(?=---(?:[ \t\n]|$))/g)].map(({ index }) => index + 1)];
  }

  /**
   * Where Kubernetes would reject the next document, or read it differently. `placeOf` converts an offset in
   * the document to one in the text.
   */
  check({ contents, range }: ParsedDocument, placeOf: (offset: number) => number): GrammarFault | undefined {
    const first = placeOf(contents?.range[0] ?? range[0]);
    while ((this.#starts[this.#at + 1] ?? Infinity) <= first) this.#at++;
    const check = this.#checkPart(this.#at);
    return check.fault ?? findDifference(check.parts, partsOf(contents, placeOf), first);
  }

  /** The faults in parts without a checked document. */
  findOthers(): GrammarFault[] {
    const others = this.#starts.flatMap((_, at) => (this.#checks[at] === undefined ? [at] : []));
    return others.flatMap((at) => this.#checkPart(at).fault ?? []);
  }

  #checkPart(at: number): GrammarCheck {
    return (this.#checks[at] ??= checkGrammar(this.#text, this.#starts[at], this.#starts[at + 1]));
  }
}

function findDifference(
  theirs: readonly YamlPart[],
  ours: readonly YamlPart[],
  first: number,
): GrammarFault | undefined {
  if ([...theirs, ...ours].every(({ type }) => type === 'empty')) return undefined;
  let offset = first;
  for (let at = 0; at < Math.max(theirs.length, ours.length); at++) {
    const [one, other] = [theirs[at], ours[at]];
    offset = one?.start ?? offset;
    if (one === undefined || other === undefined || !isSame(one, other)) {
      return { offset, message: AMBIGUOUS };
    }
  }
  return undefined;
}

function isSame(one: YamlPart, other: YamlPart): boolean {
  if (one.type !== other.type || one.start !== other.start) return false;
  return one.end === undefined || other.end === undefined || one.end === other.end;
}

function partsOf(contents: unknown, placeOf: (offset: number) => number): YamlPart[] {
  const parts: YamlPart[] = [];
  const open: unknown[] = contents === null ? [] : [contents];
  while (open.length > 0) {
    const node = open.pop();
    if (node === '}' || node === ']') parts.push({ type: node });
    else if (isMap(node)) {
      parts.push({ type: '{' });
      open.push('}');
      for (const { key, value } of [...node.items].reverse()) open.push(value, key);
    } else if (isSeq(node)) {
      parts.push({ type: '[' });
      open.push(']', ...[...node.items].reverse());
    } else if (isAlias(node)) parts.push({ type: 'alias' });
    else parts.push(isScalar(node) ? scalarPart(node, placeOf) : { type: 'empty' });
  }
  return parts;
}

function scalarPart({ range, type, source }: Scalar, placeOf: (offset: number) => number): YamlPart {
  const [start, end] = range ?? [0, 0];
  if (type === 'BLOCK_LITERAL' || type === 'BLOCK_FOLDED') return { type: 'scalar', start: placeOf(start) };
  if (source === undefined || end <= start) return { type: 'empty' };
  return { type: 'scalar', start: placeOf(start), end: placeOf(end) };
}
