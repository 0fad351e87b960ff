import { type Path, PathError, type PathNode } from './path-node.js';

/** What stands between two braces: a word such as `range`, if it begins with one, and a path. */
export interface Action {
  readonly words: readonly string[];
  readonly path: Path;
}

const TERMINATORS = new Set([' ', '\t', '\r', '\n', '.', ',', '[', ']', '$', '@', '{', '}']);

/**
 * Reads one action of a template, from behind its `{`, in kubectl's dialect of JSONPath.
 *
 * Throws {@link PathError}.
 */
export class PathReader {
  readonly #text: string;
  #at: number;
  readonly #nodes: PathNode[] = [];
  readonly #words: string[] = [];

  constructor(text: string, at = 0) {
    this.#text = text;
    this.#at = at;
  }

  /** The action, and where what follows its `}` begins. */
  read(): Action & { readonly end: number } {
    for (;;) {
      if (this.#skip('}')) return { words: this.#words, path: this.#nodes, end: this.#at };
      if (this.#skip('[?(')) this.#readFilter();
      else if (this.#skip('..')) this.#readRecursive();
      else this.#readStep();
    }
  }

  #readStep(): void {
    const next = this.#text[this.#at];
    if (next === undefined || next === '\n' || next === '\r') throw new PathError('unclosed action');
    if (next === ' ' || next === '@' || next === '$') this.#at++;
    else if (next === '[') this.#readBrackets();
    else if (next === '"' || next === "'") this.#readQuote(next);
    else if (next === '.') {
      this.#at++;
      this.#readField();
    } else if (/[-+\d]/.test(next)) this.#readNumber();
    else if (/[\p{L}_]/u.test(next)) this.#readWord();
    else throw new PathError(`unrecognized character in action: ${describeCharacter(this.#text, this.#at)}`);
  }

  #readField(): void {
    const name = this.#readName();
    if (name === '*') this.#nodes.push({ kind: 'wildcard' });
    else this.#nodes.push({ kind: 'field', name: name.replaceAll('\\', '') });
  }

  #readName(): string {
    const begin = this.#at;
    for (; this.#at < this.#text.length && !TERMINATORS.has(this.#text[this.#at]!); this.#at++) {
      // What is escaped ends no name: {.metadata.labels.app\.kubernetes\.io/name}.
      if (this.#text[this.#at] === '\\') this.#at++;
    }
    this.#at = Math.min(this.#at, this.#text.length);
    return this.#text.slice(begin, this.#at);
  }

  #readWord(): void {
    const word = this.#readName();
    if (word === 'true' || word === 'false') this.#nodes.push({ kind: 'value', value: word === 'true' });
    else this.#words.push(word);
  }

  #readNumber(): void {
    const [text = ''] = /^[-+]?[\d.]*/.exec(this.#text.slice(this.#at)) ?? [];
    this.#at += text.length;
    if (!/^[-+]?(\d+\.?\d*|\.\d+)$/.test(text)) throw new PathError(`cannot parse number ${text}`);
    this.#nodes.push({ kind: 'value', value: Number(text) });
  }

  #readQuote(quote: string): void {
    const begin = this.#at;
    const end = this.#findQuote(quote, begin + 1);
    if (end === undefined) throw new PathError('unterminated quoted string');
    this.#at = end + 1;
    this.#nodes.push({ kind: 'text', text: unquote(this.#text.slice(begin, this.#at)) });
  }

  /** Where the quote ends, within the line. */
  #findQuote(quote: string, from: number): number | undefined {
    for (let at = from; at < this.#text.length && this.#text[at] !== '\n'; at++) {
      if (this.#text[at] === '\\') at++;
      else if (this.#text[at] === quote) return at;
    }
    return undefined;
  }

  #readRecursive(): void {
    if (this.#nodes.at(-1)?.kind === 'recursive') throw new PathError('invalid multiple recursive descent');
    this.#nodes.push({ kind: 'recursive' });
    if (/[\p{L}\d_]/u.test(this.#text[this.#at] ?? '')) this.#readField();
  }

  #readBrackets(): void {
    const end = this.#findBracket(this.#at + 1);
    if (end === undefined) throw new PathError('unterminated array');
    const inside = this.#text.slice(this.#at + 1, end);
    this.#at = end + 1;
    const parts = splitUnion(inside);
    if (parts.length === 1) this.#nodes.push(...readSelector(inside));
    else this.#nodes.push({ kind: 'union', paths: parts.map((part) => readSelector(part.trim())) });
  }

  #findBracket(from: number): number | undefined {
    for (let at = from; at < this.#text.length && this.#text[at] !== '\n'; at++) {
      const next = this.#text[at]!;
      if (next === ']') return at;
      if (next !== "'" && next !== '"') continue;
      const end = this.#findQuote(next, at + 1);
      if (end === undefined) return undefined;
      at = end;
    }
    return undefined;
  }

  #readFilter(): void {
    const begin = this.#at;
    for (;;) {
      const next = this.#text[this.#at];
      if (next === undefined || next === '\n') throw new PathError('unterminated filter');
      if (next === ')') break;
      if (next === '"' || next === "'") {
        const end = this.#findQuote(next, this.#at + 1);
        if (end === undefined) throw new PathError('unterminated filter');
        this.#at = end;
      }
      this.#at++;
    }
    const inside = this.#text.slice(begin, this.#at);
    this.#at++;
    if (!this.#skip(']')) throw new PathError('unclosed array expect ]');
    const [, left, operator, right] = /^([^!<>=]+)([!<>=]+)(.+?)$/s.exec(inside) ?? [];
    if (left === undefined || operator === undefined || right === undefined) {
      this.#nodes.push({ kind: 'filter', left: readPath(inside), operator: '', right: [] });
      return;
    }
    if (!OPERATORS.has(operator)) throw new PathError(`unrecognized filter operator ${operator}`);
    this.#nodes.push({ kind: 'filter', left: readPath(left), operator, right: readPath(right) });
  }

  #skip(text: string): boolean {
    if (!this.#text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }
}

const OPERATORS = new Set(['<', '>', '==', '!=', '<=', '>=']);

/** A path without braces around it. */
function readPath(text: string): Path {
  const { path, words } = new PathReader(`${text.trim()}}`).read();
  if (words.length > 0) throw new PathError(`unrecognized identifier ${words[0]!}`);
  return path;
}

/** What stands between brackets, or between two commas in them. */
function readSelector(text: string): Path {
  const [, quoted] = /^'([^']*)'$/.exec(text) ?? [];
  // A path of its own, as kubectl's page shows it: ['metadata.name'].
  if (quoted !== undefined) return readPath(`.${quoted}`);
  if (text === '*') return [{ kind: 'slice', from: undefined, to: undefined, step: undefined }];
  const [whole, from = '', to, step] = /^(-?\d*)(:-?\d*)?(:-?\d*)?$/.exec(text) ?? [];
  if (whole === undefined || whole === '') throw new PathError(`invalid array index ${text}`);
  if (to === undefined) return [{ kind: 'index', at: toBound(from)! }];
  return [
    { kind: 'slice', from: toBound(from), to: toBound(to.slice(1)), step: toBound(step?.slice(1) ?? '') },
  ];
}

function toBound(text: string): number | undefined {
  if (text === '') return undefined;
  if (text === '-') throw new PathError('array index - is not a number');
  return Number(text);
}

/** At commas that are not between quotes. */
function splitUnion(text: string): string[] {
  return text.match(/('[^']*'|[^,'])+|(?<=,)(?=,|$)/g) ?? [text];
}

function describeCharacter(text: string, at: number): string {
  const code = text.codePointAt(at)!;
  return `U+${code.toString(16).toUpperCase().padStart(4, '0')} '${String.fromCodePoint(code)}'`;
}

const ESCAPES: Readonly<Record<string, string>> = {
  ...{ a: '\u0007', b: '\b', f: '\f', n: '\n', r: '\r', t: '\t', v: '\v', '\\': '\\' },
  ...{ "'": "'", '"': '"' },
};

/** The text between quotes with Go's escapes resolved: `\n`, `\t`, `\x41`, `\u00e9`, `\101`. */
function unquote(quoted: string): string {
  const quote = quoted[0]!;
  const body = quoted.slice(1, -1);
  const pattern = /\\(x[0-9a-f]{2}|u[0-9a-f]{4}|U[0-9a-f]{8}|[0-7]{3}|.)?/gis;
  return body.replaceAll(pattern, (_, escape: string | undefined) => {
    const code = escape === undefined ? undefined : codeOf(escape);
    if (code !== undefined) return String.fromCodePoint(code);
    const plain = escape === undefined ? undefined : ESCAPES[escape];
    // Of the two quotes only the one around the text may be escaped.
    const isOther = (escape === '"' || escape === "'") && escape !== quote;
    if (plain === undefined || isOther) throw new PathError(`unquote string ${quoted} error invalid syntax`);
    return plain;
  });
}

function codeOf(escape: string): number | undefined {
  if (/^[xuU]./.test(escape)) return Number.parseInt(escape.slice(1), 16);
  return /^[0-7]{3}$/.test(escape) ? Number.parseInt(escape, 8) : undefined;
}
