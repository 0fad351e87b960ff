/**
 * Label selectors: `app=web,tier in (a, b),!canary`.
 *
 * Source: https://kubernetes.io/docs/concepts/overview/working-with-objects/labels/
 *
 * @module
 */
/** A selector that cannot be parsed, in an API server's words. */
export class SelectorError extends Error {
  override readonly name = 'SelectorError';
}

/** Whether an object's labels match. */
export type LabelMatcher = (labels: Readonly<Record<string, string>>) => boolean;

interface Token {
  readonly text: string;
  readonly kind: 'word' | 'sign' | 'end';
}

const TOKEN = /\s*(==|!=|[=!<>,()]|[^\s=!<>,()]+)/y;
const NAME = /^(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;

/** Parses a selector; an empty one matches everything. Throws {@link SelectorError}. */
export function parseLabelSelector(text: string): LabelMatcher {
  const tokens = new Tokens(text);
  const matchers: LabelMatcher[] = [];
  while (tokens.peek().kind !== 'end') {
    matchers.push(readRequirement(tokens));
    const { text: separator, kind } = tokens.next();
    if (kind === 'end') break;
    if (separator !== ',') throw tokens.unexpected(separator, "',' or the end");
    if (tokens.peek().kind === 'end') throw tokens.unexpected('', 'a key after the comma');
  }
  return (labels) => matchers.every((matches) => matches(labels));
}

function readRequirement(tokens: Tokens): LabelMatcher {
  const isAbsent = tokens.peek().text === '!';
  if (isAbsent) tokens.next();
  const key = readKey(tokens);
  const { text: operator, kind } = tokens.peek();
  if (isAbsent) return (labels) => !Object.hasOwn(labels, key);
  if (kind === 'end' || operator === ',') return (labels) => Object.hasOwn(labels, key);
  tokens.next();
  switch (operator) {
    case '=':
    case '==': {
      const value = readValue(tokens);
      return (labels) => find(labels, key) === value;
    }
    case '!=': {
      const value = readValue(tokens);
      return (labels) => find(labels, key) !== value;
    }
    case 'in': {
      const values = readValues(tokens);
      return (labels) => values.has(find(labels, key));
    }
    case 'notin': {
      const values = readValues(tokens);
      return (labels) => !values.has(find(labels, key));
    }
    case '<':
    case '>':
      return readComparison(tokens, key, operator);
    default:
      throw tokens.unexpected(operator, "one of '=', '==', '!=', 'in', 'notin', '<', '>'");
  }
}

function readComparison(tokens: Tokens, key: string, operator: '<' | '>'): LabelMatcher {
  const { text } = tokens.next();
  if (!/^-?\d+$/.test(text)) throw tokens.unexpected(text, 'a whole number');
  const limit = BigInt(text);
  return (labels) => {
    const value = find(labels, key);
    if (value === undefined || !/^-?\d+$/.test(value)) return false;
    return operator === '<' ? BigInt(value) < limit : BigInt(value) > limit;
  };
}

/** Own labels only: `constructor` is a key like any other. */
function find(labels: Readonly<Record<string, string>>, key: string): string | undefined {
  return Object.hasOwn(labels, key) ? labels[key] : undefined;
}

function readKey(tokens: Tokens): string {
  const { text: key, kind } = tokens.next();
  if (kind !== 'word') throw tokens.unexpected(key, 'a key');
  const [name = '', prefix, ...more] = key.split('/').reverse();
  const isKey = NAME.test(name) && (prefix === undefined || PREFIX.test(prefix)) && more.length === 0;
  if (isKey) return key;
  throw new SelectorError(
    `unable to parse requirement: key: Invalid value: ${JSON.stringify(key)}: must be a label key`,
  );
}

/** The value after `=`; none means the empty value. */
function readValue(tokens: Tokens): string {
  const { kind, text } = tokens.peek();
  if (kind === 'end' || text === ',' || text === ')') return '';
  if (kind !== 'word') throw tokens.unexpected(text, 'a value');
  tokens.next();
  return checkValue(text);
}

function readValues(tokens: Tokens): ReadonlySet<string | undefined> {
  const { text: open } = tokens.next();
  if (open !== '(') throw tokens.unexpected(open, "'('");
  const values = new Set<string>();
  for (;;) {
    values.add(readValue(tokens));
    const { text: separator } = tokens.next();
    if (separator === ')') return values;
    if (separator !== ',') throw tokens.unexpected(separator, "',' or ')'");
  }
}

function checkValue(value: string): string {
  if (NAME.test(value)) return value;
  throw new SelectorError(
    `unable to parse requirement: values: Invalid value: ${JSON.stringify(value)}: must be a label value`,
  );
}

class Tokens {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  peek(): Token {
    const before = this.#at;
    const token = this.next();
    this.#at = before;
    return token;
  }

  next(): Token {
    TOKEN.lastIndex = this.#at;
    const found = TOKEN.exec(this.#text);
    if (found === null) return { text: '', kind: 'end' };
    this.#at = TOKEN.lastIndex;
    const text = found[1]!;
    return { text, kind: /^[=!<>,()]/.test(text) ? 'sign' : 'word' };
  }

  unexpected(found: string, expected: string): Error {
    const what = found === '' ? 'the end' : `'${found}'`;
    return new SelectorError(
      `unable to parse ${JSON.stringify(this.#text)} as a label selector: found ${what}, expected ${expected}`,
    );
  }
}
