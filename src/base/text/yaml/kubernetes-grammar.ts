/**
 * Finds YAML that this project's parser reads, but that Kubernetes' parser rejects or splits into different
 * parts.
 *
 * In: the text of one document. Out: the first position that Kubernetes rejects, or the parts of the
 * document. Kubernetes reads YAML 1.1 like libyaml: by tokens, and with tabs, keys and anchors in fewer
 * positions than YAML 1.2 allows. Nothing is converted here; what this module accepts may still be rejected
 * elsewhere.
 *
 * @module
 */
import { type GrammarFault, YamlTokens, type YamlToken } from './yaml-tokens.js';

/**
 * A part of a document, in order: a scalar, an empty value, an alias, or the start or end of a collection.
 */
export interface YamlPart {
  readonly type: 'scalar' | 'empty' | 'alias' | '{' | '}' | '[' | ']';
  /** Only of scalars. */
  readonly start?: number;
  /** Only of scalars that are not block scalars. */
  readonly end?: number;
}

/** The result of {@link checkGrammar}. */
export type GrammarCheck =
  { readonly fault: GrammarFault } | { readonly fault?: undefined; readonly parts: readonly YamlPart[] };

/** See the module. `from` and `to` are the offsets of the document; `from` is at the beginning of a line. */
export function checkGrammar(text: string, from = 0, to = text.length): GrammarCheck {
  const scan = new YamlTokens(text, from, to).scan();
  if (scan.fault !== undefined) return { fault: scan.fault };
  const grammar = new TokenGrammar(scan.tokens);
  const offset = grammar.findFault();
  return offset === undefined ? { parts: grammar.parts } : { fault: { offset, message: UNREADABLE } };
}

const UNREADABLE = 'Kubernetes does not read this as YAML; write it in a simpler way, or in quotes';

class GrammarError extends Error {
  readonly offset: number;

  constructor(offset: number) {
    super();
    this.offset = offset;
  }
}

/** The grammar of tokens: one method for each production. */
class TokenGrammar {
  readonly parts: YamlPart[] = [];
  readonly #tokens: readonly YamlToken[];
  #at = 0;

  constructor(tokens: readonly YamlToken[]) {
    this.#tokens = tokens;
  }

  /** The offset where the text stops being valid YAML, if any. */
  findFault(): number | undefined {
    try {
      this.#document();
    } catch (error) {
      if (error instanceof GrammarError) return error.offset;
      // There is one call per level, so nesting deeper than the stack is rejected, too.
      if (error instanceof RangeError) return this.#tokens[this.#at]?.start ?? 0;
      throw error;
    }
    return undefined;
  }

  get #next(): YamlToken['type'] {
    return this.#tokens[this.#at]!.type;
  }

  #isNext(...types: readonly YamlToken['type'][]): boolean {
    return types.includes(this.#next);
  }

  #take(type: YamlToken['type']): boolean {
    if (this.#next !== type) return false;
    this.#at++;
    return true;
  }

  #expect(type: YamlToken['type']): void {
    if (!this.#take(type)) throw new GrammarError(this.#tokens[this.#at]!.start);
  }

  #document(): void {
    this.#take('document start');
    if (!this.#isNext('stream end', 'document end')) this.#node('block');
    while (this.#take('document end'));
    this.#expect('stream end');
  }

  /** `key`: in a block mapping, where a list needs no indentation of its own. */
  #node(context: 'block' | 'key' | 'flow'): void {
    if (this.#take('alias')) {
      this.parts.push({ type: 'alias' });
      return;
    }
    const hasProperties = this.#properties();
    if (context === 'key' && this.#next === '-') this.#indentlessSequence();
    else if (this.#next === 'scalar') this.#scalar();
    else if (this.#take('[')) this.#flow('[', ']');
    else if (this.#take('{')) this.#flow('{', '}');
    else if (context !== 'flow' && this.#take('block sequence')) this.#blockSequence();
    else if (context !== 'flow' && this.#take('block mapping')) this.#blockMapping();
    else if (hasProperties) this.#empty();
    else throw new GrammarError(this.#tokens[this.#at]!.start);
  }

  /** A node, or an empty one before one of these tokens. */
  #nodeUnless(context: 'block' | 'key' | 'flow', ...types: readonly YamlToken['type'][]): void {
    if (this.#isNext(...types)) this.#empty();
    else this.#node(context);
  }

  #empty(): void {
    this.parts.push({ type: 'empty' });
  }

  #scalar(): void {
    const { start, end } = this.#tokens[this.#at]!;
    this.parts.push({ type: 'scalar', start, ...(end === undefined ? {} : { end }) });
    this.#at++;
  }

  #properties(): boolean {
    if (this.#take('anchor')) {
      this.#take('tag');
      return true;
    }
    if (!this.#take('tag')) return false;
    this.#take('anchor');
    return true;
  }

  #blockSequence(): void {
    this.parts.push({ type: '[' });
    while (this.#take('-')) this.#nodeUnless('block', '-', 'block end');
    this.#expect('block end');
    this.parts.push({ type: ']' });
  }

  #indentlessSequence(): void {
    this.parts.push({ type: '[' });
    while (this.#take('-')) this.#nodeUnless('block', '-', 'key', 'value', 'block end');
    this.parts.push({ type: ']' });
  }

  #blockMapping(): void {
    this.parts.push({ type: '{' });
    while (this.#take('key')) {
      this.#nodeUnless('key', 'key', 'value', 'block end');
      if (this.#take('value')) this.#nodeUnless('key', 'key', 'value', 'block end');
      else this.#empty();
    }
    this.#expect('block end');
    this.parts.push({ type: '}' });
  }

  #flow(opening: '[' | '{', closing: ']' | '}'): void {
    this.parts.push({ type: opening });
    const isMapping = opening === '{';
    for (let isFirst = true; !this.#take(closing); isFirst = false) {
      if (!isFirst) this.#expect(',');
      if (this.#take('key')) this.#pair(closing, isMapping);
      else if (!this.#isNext(closing)) {
        this.#node('flow');
        if (isMapping) this.#empty();
      }
    }
    this.parts.push({ type: closing });
  }

  /** A pair in a list is a mapping of its own. */
  #pair(closing: ']' | '}', isInMapping: boolean): void {
    if (!isInMapping) this.parts.push({ type: '{' });
    this.#nodeUnless('flow', 'value', ',', closing);
    if (this.#take('value')) this.#nodeUnless('flow', ',', closing);
    else this.#empty();
    if (!isInMapping) this.parts.push({ type: '}' });
  }
}
