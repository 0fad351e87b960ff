/**
 * PromQL as far as our examples use it: read into a tree.
 *
 * Source: https://prometheus.io/docs/prometheus/latest/querying/basics/
 *
 * @module
 */

/** A label and what it has to be. */
export interface LabelMatcher {
  readonly label: string;
  readonly op: '=' | '!=' | '=~' | '!~';
  readonly value: string;
}

/** Series by name and labels, as of now or over the time before. */
export interface Selector {
  readonly kind: 'selector';
  readonly name: string;
  readonly matchers: readonly LabelMatcher[];
  readonly rangeMs?: number;
}

/** How the two sides of an operator find one another. */
export interface Matching {
  readonly on?: readonly string[];
  readonly ignoring?: readonly string[];
  readonly isManyToOne: boolean;
}

/** An expression. */
export type Expression =
  | Selector
  | { readonly kind: 'number'; readonly value: number }
  | { readonly kind: 'call'; readonly name: string; readonly args: readonly Expression[] }
  | {
      readonly kind: 'aggregation';
      readonly op: string;
      readonly by?: readonly string[];
      readonly without?: readonly string[];
      readonly of: Expression;
    }
  | {
      readonly kind: 'binary';
      readonly op: string;
      readonly left: Expression;
      readonly right: Expression;
      readonly isBool: boolean;
      readonly matching: Matching;
    };

const TOKEN =
  /\s*(?:(\[[^\]]*\])|("(?:[^"\\]|\\.)*")|(\d+(?:\.\d+)?(?:e[+-]?\d+)?)|([a-zA-Z_:][a-zA-Z0-9_:]*)|(==|!=|>=|<=|=~|!~|[-+*/%^(){},=<>]))/y;
const LEVELS = [['or'], ['and', 'unless'], ['==', '!=', '>', '<', '>=', '<='], ['+', '-'], ['*', '/', '%']];
const AGGREGATIONS = ['sum', 'max', 'min', 'avg', 'count'];
const UNITS_MS: Readonly<Record<string, number>> = { ms: 1, s: 1e3, m: 60e3, h: 3600e3, d: 86_400e3 };

/** `1h30m` in milliseconds. */
export function parsePromDuration(text: string): number {
  if (!/^(\d+(ms|[smhd]))+$/.test(text)) throw new Error(`no duration: ${text}`);
  let ms = 0;
  for (const [, count, unit = ''] of text.matchAll(/(\d+)(ms|[smhd])/g))
    ms += Number(count) * UNITS_MS[unit]!;
  return ms;
}

/** Reads an expression; throws for what it does not understand. */
export function parseExpression(text: string): Expression {
  const parser = new Parser(text);
  const expression = parser.binary(0);
  parser.end();
  return expression;
}

/** Every selector in an expression. */
export function selectorsOf(expression: Expression): Selector[] {
  switch (expression.kind) {
    case 'number':
      return [];
    case 'selector':
      return [expression];
    case 'call':
      return expression.args.flatMap(selectorsOf);
    case 'aggregation':
      return selectorsOf(expression.of);
    case 'binary':
      return [...selectorsOf(expression.left), ...selectorsOf(expression.right)];
  }
}

class Parser {
  readonly #text: string;
  readonly #tokens: string[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
    let at = 0;
    const source = text.trim();
    while (at < source.length) {
      TOKEN.lastIndex = at;
      const match = TOKEN.exec(source);
      if (match === null) throw new Error(`cannot read ${JSON.stringify(source.slice(at))} in ${text}`);
      this.#tokens.push(match[0].trim());
      at = TOKEN.lastIndex;
    }
  }

  end(): void {
    if (this.#at < this.#tokens.length)
      throw new Error(`unexpected ${this.#tokens[this.#at]} in ${this.#text}`);
  }

  binary(level: number): Expression {
    const operators = LEVELS[level];
    if (operators === undefined) return this.#unary();
    let left = this.binary(level + 1);
    for (;;) {
      const op = this.#peek();
      if (op === undefined || !operators.includes(op)) return left;
      this.#at++;
      const isBool = this.#take('bool');
      const matching = this.#matching();
      left = { kind: 'binary', op, left, right: this.binary(level + 1), isBool, matching };
    }
  }

  #matching(): Matching {
    const [word] = ['on', 'ignoring'].filter((each) => this.#take(each));
    const labels = word === undefined ? {} : { [word]: this.#labels() };
    const isManyToOne = this.#take('group_left');
    if (isManyToOne && this.#peek() === '(') this.#labels();
    return { ...labels, isManyToOne };
  }

  #unary(): Expression {
    if (!this.#take('-')) return this.#primary();
    const of = this.#primary();
    const minusOne: Expression = { kind: 'number', value: -1 };
    return {
      kind: 'binary',
      op: '*',
      left: minusOne,
      right: of,
      isBool: false,
      matching: { isManyToOne: false },
    };
  }

  #primary(): Expression {
    const token = this.#next();
    if (token === '(') {
      const inner = this.binary(0);
      this.#expect(')');
      return inner;
    }
    if (/^\d/.test(token)) return { kind: 'number', value: Number(token) };
    if (!/^[a-zA-Z_:]/.test(token)) throw new Error(`unexpected ${token} in ${this.#text}`);
    if (AGGREGATIONS.includes(token)) return this.#aggregation(token);
    if (this.#take('(')) return { kind: 'call', name: token, args: this.#args() };
    return this.#selector(token);
  }

  #aggregation(op: string): Expression {
    let grouping = this.#grouping();
    this.#expect('(');
    const of = this.binary(0);
    this.#expect(')');
    grouping ??= this.#grouping();
    return { kind: 'aggregation', op, of, ...grouping };
  }

  #grouping(): { by: string[] } | { without: string[] } | undefined {
    if (this.#take('by')) return { by: this.#labels() };
    if (this.#take('without')) return { without: this.#labels() };
    return undefined;
  }

  #selector(name: string): Selector {
    const matchers: LabelMatcher[] = [];
    if (this.#take('{')) {
      while (!this.#take('}')) {
        const label = this.#next();
        const op = this.#next();
        if (op !== '=' && op !== '!=' && op !== '=~' && op !== '!~')
          throw new Error(`no matcher: ${op} in ${this.#text}`);
        matchers.push({ label, op, value: JSON.parse(this.#next()) as string });
        this.#take(',');
      }
    }
    const range = /^\[(.*)\]$/.exec(this.#peek() ?? '')?.[1];
    if (range === undefined) return { kind: 'selector', name, matchers };
    this.#at++;
    return { kind: 'selector', name, matchers, rangeMs: parsePromDuration(range) };
  }

  #args(): Expression[] {
    const args: Expression[] = [];
    while (!this.#take(')')) {
      args.push(this.binary(0));
      this.#take(',');
    }
    return args;
  }

  #labels(): string[] {
    const labels: string[] = [];
    this.#expect('(');
    while (!this.#take(')')) {
      labels.push(this.#next());
      this.#take(',');
    }
    return labels;
  }

  #peek(): string | undefined {
    return this.#tokens[this.#at];
  }

  #next(): string {
    const token = this.#tokens[this.#at++];
    if (token === undefined) throw new Error(`${this.#text} ends too early`);
    return token;
  }

  #take(token: string): boolean {
    if (this.#peek() !== token) return false;
    this.#at++;
    return true;
  }

  #expect(token: string): void {
    const found = this.#next();
    if (found !== token) throw new Error(`${token} wanted instead of ${found} in ${this.#text}`);
  }
}
