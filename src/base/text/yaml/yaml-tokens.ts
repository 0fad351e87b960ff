/**
 * Splits a YAML document into tokens like libyaml, from which Kubernetes' parser is derived.
 *
 * In: a text with LF as its only line end. Out: the tokens with their offsets, including those implied by
 * indentation, or the first position without a valid token. The meaning of scalars is not computed.
 *
 * A word becomes a key when its colon is found, on the same line and within 1024 characters. Until then it is
 * a candidate, one for each level of brackets, and the tokens of a key are inserted before it.
 *
 * @module
 */
/** Something that Kubernetes' parser does not read. */
export interface GrammarFault {
  readonly offset: number;
  readonly message: string;
}

/** One token. `key` and the three of blocks need not have a character of their own. */
export interface YamlToken {
  readonly type:
    | ('document start' | 'document end' | 'stream end' | 'block sequence' | 'block mapping' | 'block end')
    | ('-' | 'key' | 'value' | '[' | ']' | '{' | '}' | ',')
    | ('alias' | 'anchor' | 'tag' | 'scalar');
  readonly start: number;
  /** Only of scalars that are not block scalars. */
  readonly end?: number;
}

/** All tokens, or the reason why there are none. */
export type TokenScan =
  { readonly fault: GrammarFault } | { readonly fault?: undefined; readonly tokens: readonly YamlToken[] };

/** A token that may turn out to be a key. */
interface KeyCandidate {
  /** Its index among the tokens. */
  readonly index: number;
  readonly start: number;
  readonly line: number;
  readonly column: number;
  /** Only a key is allowed at its position. */
  readonly isRequired: boolean;
}

class ScanError extends Error {
  readonly offset: number;

  constructor(offset: number, message: string) {
    super(message);
    this.offset = offset;
  }
}

const MAX_KEY_LENGTH = 1024;
const FLOW = /[,?[\]{}]/;
const ESCAPES = /\\(?:[0abt\tnvfre "'\\N_LP]|x[\da-fA-F]{2}|u[\da-fA-F]{4}|U[\da-fA-F]{8})/y;
const ANCHOR = /[&*][\w-]+(?=[ \t\n?:,\]}%@`]|$)/y;
const TAG = /!(?:<[^\s<>]+>|[\w;/?:@&=+$,.!~*'()[\]%-]*)(?=[ \t\n]|$)/y;
const BLOCK_HEADER = /[|>](?:[-+][1-9]?|[1-9][-+]?)?[ \t]*(?:#[^\n]*)?(?=\n|$)/y;
const MARKER = /(?:---|\.\.\.)(?=[ \t\n]|$)/y;

const TAB = 'a tab may not stand here; indent with spaces';
const UNKNOWN = 'Kubernetes reads no word of YAML here; put it in quotes';
/** For text that other parsers read differently. */
export const AMBIGUOUS =
  'parsers of YAML read this in different ways; write it in a simpler way, or in quotes';
const NO_COLON = 'Kubernetes reads a key here and finds no ":" behind it, on the same line';

/** Splits one document. Use it once. */
export class YamlTokens {
  readonly #text: string;
  readonly #end: number;
  readonly #tokens: YamlToken[] = [];
  /** One for each level of brackets, the innermost last. */
  readonly #candidates: (KeyCandidate | undefined)[] = [undefined];
  readonly #indents: number[] = [];
  #at: number;
  #lineStart: number;
  #line = 0;
  #indent = -1;
  #mayBeKey = true;

  constructor(text: string, from: number, to: number) {
    this.#text = text;
    this.#end = to;
    this.#at = text[from] === '\uFEFF' ? from + 1 : from;
    this.#lineStart = this.#at;
  }

  /** See the module. Never throws. */
  scan(): TokenScan {
    try {
      while (this.#scanToken());
    } catch (error) {
      if (error instanceof ScanError) return { fault: { offset: error.offset, message: error.message } };
      throw error;
    }
    return { tokens: this.#tokens };
  }

  get #column(): number {
    return this.#at - this.#lineStart;
  }

  get #isInFlow(): boolean {
    return this.#candidates.length > 1;
  }

  /** The character at an offset; empty beyond the end. */
  #sign(offset = this.#at): string {
    return offset < this.#end ? this.#text[offset]! : '';
  }

  #isBlank(offset = this.#at): boolean {
    return /^[ \t\n]?$/.test(this.#sign(offset));
  }

  #match(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.#at;
    return pattern.exec(this.#text)?.[0];
  }

  #fail(message: string, offset = this.#at): never {
    throw new ScanError(offset, message);
  }

  #add(type: YamlToken['type'], start = this.#at, end?: number): void {
    this.#tokens.push({ type, start, ...(end === undefined ? {} : { end }) });
  }

  #newLine(): void {
    this.#at++;
    this.#lineStart = this.#at;
    this.#line++;
  }

  /** Returns false after the last one. */
  #scanToken(): boolean {
    this.#skipBlanks();
    this.#closeBlocks(this.#column);
    const sign = this.#sign();
    if (sign === '') return this.#endOfStream();
    if (this.#column === 0 && sign === '%') this.#fail('a directive is not allowed');
    if (this.#column === 0 && this.#match(MARKER) !== undefined) this.#marker();
    else if (sign === '[' || sign === '{') this.#open(sign);
    else if (sign === ']' || sign === '}') this.#close(sign);
    else if (sign === ',') this.#separator(sign);
    else if (sign === '-' && this.#isBlank(this.#at + 1)) this.#entry();
    else if (sign === '?' && (this.#isInFlow || this.#isBlank(this.#at + 1))) this.#complexKey();
    else if (sign === ':' && (this.#isInFlow || this.#isBlank(this.#at + 1))) this.#value();
    else if (sign === '*' || sign === '&') this.#node(sign === '*' ? 'alias' : 'anchor', ANCHOR);
    else if (sign === '!') this.#node('tag', TAG);
    else if ((sign === '|' || sign === '>') && !this.#isInFlow) this.#blockScalar();
    else if (sign === '"' || sign === "'") this.#quoted(sign);
    else if (/[\t|>%@`]/.test(sign)) this.#fail(sign === '\t' ? TAB : UNKNOWN);
    else this.#plain();
    return true;
  }

  /** Tabs are allowed where no key may begin, and in brackets. */
  #skipBlanks(): void {
    for (;;) {
      while (this.#sign() === ' ' || ((this.#isInFlow || !this.#mayBeKey) && this.#sign() === '\t'))
        this.#at++;
      if (this.#sign() === '#') while (!/^\n?$/.test(this.#sign())) this.#at++;
      if (this.#sign() !== '\n') return;
      this.#newLine();
      if (!this.#isInFlow) this.#mayBeKey = true;
    }
  }

  #endOfStream(): boolean {
    this.#closeBlocks(-1);
    this.#dropCandidate();
    this.#add('stream end');
    return false;
  }

  #marker(): void {
    this.#closeBlocks(-1);
    this.#dropCandidate();
    this.#mayBeKey = false;
    this.#add(this.#sign() === '-' ? 'document start' : 'document end');
    this.#at += 3;
  }

  /** Opens a block that is indented more than its surroundings. `index` is its position among the tokens. */
  #openBlock(type: 'block sequence' | 'block mapping', column: number, index = this.#tokens.length): void {
    if (this.#isInFlow || this.#indent >= column) return;
    this.#indents.push(this.#indent);
    this.#indent = column;
    this.#tokens.splice(index, 0, { type, start: this.#at });
  }

  #closeBlocks(column: number): void {
    if (this.#isInFlow) return;
    while (this.#indent > column) {
      this.#add('block end');
      this.#indent = this.#indents.pop()!;
    }
  }

  #rememberCandidate(): void {
    if (!this.#mayBeKey) return;
    this.#dropCandidate();
    this.#candidates[this.#candidates.length - 1] = {
      ...{ index: this.#tokens.length, start: this.#at, line: this.#line, column: this.#column },
      isRequired: !this.#isInFlow && this.#indent === this.#column,
    };
  }

  #dropCandidate(): void {
    const candidate = this.#candidates.at(-1);
    if (candidate?.isRequired === true) this.#fail(NO_COLON, candidate.start);
    this.#candidates[this.#candidates.length - 1] = undefined;
  }

  #open(sign: '[' | '{'): void {
    this.#rememberCandidate();
    this.#candidates.push(undefined);
    this.#mayBeKey = true;
    this.#add(sign);
    this.#at++;
  }

  #close(sign: ']' | '}'): void {
    this.#dropCandidate();
    if (this.#isInFlow) this.#candidates.pop();
    this.#mayBeKey = false;
    this.#add(sign);
    this.#at++;
  }

  #separator(sign: ',' | '-'): void {
    this.#dropCandidate();
    this.#mayBeKey = true;
    this.#add(sign);
    this.#at++;
  }

  #entry(): void {
    if (!this.#isInFlow && !this.#mayBeKey) this.#fail(UNKNOWN);
    this.#openBlock('block sequence', this.#column);
    this.#separator('-');
  }

  #complexKey(): void {
    if (!this.#isInFlow && !this.#mayBeKey) this.#fail(UNKNOWN);
    this.#openBlock('block mapping', this.#column);
    this.#dropCandidate();
    this.#mayBeKey = !this.#isInFlow;
    this.#add('key');
    this.#at++;
  }

  #value(): void {
    const candidate = this.#candidates.at(-1);
    const isNear =
      candidate !== undefined &&
      candidate.line === this.#line &&
      this.#at - candidate.start <= MAX_KEY_LENGTH;
    if (candidate !== undefined && isNear) {
      this.#tokens.splice(candidate.index, 0, { type: 'key', start: candidate.start });
      this.#openBlock('block mapping', candidate.column, candidate.index);
      this.#candidates[this.#candidates.length - 1] = undefined;
      this.#mayBeKey = false;
    } else {
      this.#dropCandidate();
      if (!this.#isInFlow && !this.#mayBeKey) this.#fail(UNKNOWN);
      this.#openBlock('block mapping', this.#column);
      this.#mayBeKey = !this.#isInFlow;
    }
    this.#add('value');
    this.#at++;
  }

  #node(type: 'alias' | 'anchor' | 'tag', pattern: RegExp): void {
    this.#rememberCandidate();
    this.#mayBeKey = false;
    const found = this.#match(pattern) ?? this.#fail(UNKNOWN);
    this.#add(type);
    this.#at += found.length;
  }

  #blockScalar(): void {
    this.#dropCandidate();
    this.#mayBeKey = true;
    this.#add('scalar');
    const header = this.#match(BLOCK_HEADER) ?? this.#fail(UNKNOWN);
    this.#at += header.length;
    if (this.#sign() === '\n') this.#newLine();
    const digit = /[1-9]/.exec(header.slice(0, 3))?.[0];
    let indent = digit === undefined ? 0 : Math.max(this.#indent, 0) + Number(digit);
    for (;;) {
      indent = this.#skipIndents(indent);
      if (this.#column !== indent || this.#sign() === '') return;
      while (!/^\n?$/.test(this.#sign())) this.#at++;
      if (this.#sign() === '\n') this.#newLine();
    }
  }

  /**
   * Skips empty lines and the indentation of the next one; returns the indentation, which is that of the
   * deepest line if 0 was given.
   */
  #skipIndents(indent: number): number {
    let deepest = 0;
    for (;;) {
      while ((indent === 0 || this.#column < indent) && this.#sign() === ' ') this.#at++;
      deepest = Math.max(deepest, this.#column);
      if ((indent === 0 || this.#column < indent) && this.#sign() === '\t') this.#fail(TAB);
      if (this.#sign() !== '\n') break;
      this.#newLine();
    }
    return indent === 0 ? Math.max(deepest, this.#indent + 1, 1) : indent;
  }

  #quoted(quote: '"' | "'"): void {
    this.#rememberCandidate();
    this.#mayBeKey = false;
    const start = this.#at++;
    for (let sign = this.#sign(); sign !== quote || this.#isDoubled(quote); sign = this.#sign()) {
      if (sign === '') this.#fail('the quote has no end', start);
      if (this.#column === 0 && this.#match(MARKER) !== undefined) this.#fail(UNKNOWN);
      if (sign === '\n') this.#newLine();
      else if (sign === quote) this.#at += 2;
      else if (sign === '\\' && quote === '"') this.#escape();
      else this.#at++;
    }
    this.#at++;
    this.#add('scalar', start, this.#at);
  }

  #isDoubled(quote: '"' | "'"): boolean {
    return quote === "'" && this.#sign(this.#at + 1) === "'";
  }

  #escape(): void {
    const start = this.#at;
    if (this.#sign(start + 1) === '\n') {
      this.#at++;
      this.#newLine();
      // Some parsers read an empty line here as a line end, others as nothing.
      if (this.#match(/[ \t]*(?=\n)/y) !== undefined) this.#fail(AMBIGUOUS);
      return;
    }
    const escape = this.#match(ESCAPES);
    if (escape === undefined) this.#fail('Invalid escape sequence, but in JSON');
    const code = /^\\[xuU]/.test(escape) ? Number.parseInt(escape.slice(2), 16) : 0;
    if ((code >= 0xd800 && code <= 0xdfff) || code > 0x10ffff) {
      this.#fail('half a character is not allowed; write all of it');
    }
    this.#at += escape.length;
  }

  #plain(): void {
    this.#rememberCandidate();
    this.#mayBeKey = false;
    const [start, indent] = [this.#at, this.#indent + 1];
    let end = this.#at;
    let isAtLineStart = false;
    while (this.#sign() !== '#' && !(this.#column === 0 && this.#match(MARKER) !== undefined)) {
      while (!this.#isBlank() && !this.#endsPlain()) {
        this.#at++;
        end = this.#at;
        isAtLineStart = false;
      }
      if (!this.#isBlank() || this.#sign() === '') break;
      while (this.#sign() !== '' && this.#isBlank()) {
        if (this.#sign() === '\n') {
          this.#newLine();
          isAtLineStart = true;
        } else {
          if (isAtLineStart && this.#sign() === '\t' && this.#column < indent) this.#fail(TAB);
          this.#at++;
        }
      }
      if (!this.#isInFlow && this.#column < indent) break;
    }
    this.#add('scalar', start, end);
    if (isAtLineStart) this.#mayBeKey = true;
  }

  #endsPlain(): boolean {
    const sign = this.#sign();
    return (sign === ':' && this.#isBlank(this.#at + 1)) || (this.#isInFlow && FLOW.test(sign));
  }
}
