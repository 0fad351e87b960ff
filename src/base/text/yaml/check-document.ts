import { isAlias, isMap, isScalar, isSeq, type Document, type Scalar } from 'yaml';
import { checkGrammar, type GrammarCheck, type YamlPart } from './kubernetes-grammar.js';
import { AMBIGUOUS, type GrammarFault } from './yaml-tokens.js';

/** A parsed document. */
type ParsedDocument = Pick<Document.Parsed, 'contents' | 'range'>;

/**
 * Checks the documents of a text, one after the other, against Kubernetes' reading of it.
 *
 * Kubernetes splits a text at its lines with `---` and parses each part by itself; parts without a document
 * are checked, too.
 */
export class DocumentChecks {
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
