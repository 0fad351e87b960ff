import { type FieldFacts, type FieldTable, type FieldType } from './field-facts.js';
import { type FieldPath, type FieldStep } from './field-path.js';
import {
  type FieldProblem,
  type FieldProblemKind,
  describeValue,
  formatValue,
  required,
  unsupportedValue,
} from './field-problem.js';
import { findQuantity, formatQuantity } from './quantity.js';
import { isRecord } from '#base/text/is-record.js';
import { findSimilarWord } from '#base/text/similar-word.js';

/** Decides which fields of the tables a reader supports. */
export type SupportRule = (type: string, field: string, facts: FieldFacts) => boolean;

/** A decoded object and its problems. */
export interface Decoded {
  /** What could be read, without fields that have problems, are ignored or refused. */
  readonly value: unknown;
  readonly problems: readonly FieldProblem[];
}

/** Text that YAML would read as another type without quotes. */
const BARE = /^(?:true|false|[-+]?\d+)$/;
const LARGEST_INT32 = 2 ** 31 - 1;
/** Kubernetes accepts these in some fields and rejects them in others. */
const ODD_AMOUNT = /^\s*(?:\+|-?0\d)/;
/** A size as people write it elsewhere: Kubernetes has no B for bytes behind the unit, and `k` for a thousand. */
const WITH_BYTES = /^ *(\d+(?:\.\d+)?) ?([kKMGT]?i?)[bB] *$/;
/** What Kubernetes accepts around a quantity: neither line ends nor tabs. */
const BLANKS_AROUND = /^ +| +$/g;
/** The meaning of null as the value of a key in a map. */
const EMPTY: Partial<Record<FieldType['kind'], unknown>> = { string: '', quantity: '0' };

/**
 * Decodes an object by the tables: strictly, and with all problems at once.
 *
 * `value` is plain JSON. Null and, for fields of text, the empty string count as absent, as in Kubernetes.
 * Quantities are returned in canonical form. Never throws.
 *
 * `onUnknown` is called for unknown fields, and for unknown values of ignored fields, which then have no
 * effect; without it they are problems. `keepsIgnored` leaves the values of ignored fields in the result, for
 * validation.
 */
export function decodeObject(
  value: unknown,
  type: string,
  tables: Readonly<Record<string, FieldTable>>,
  isSupported: SupportRule,
  onUnknown?: (path: FieldPath) => void,
  keepsIgnored = false,
): Decoded {
  const problems: FieldProblem[] = [];
  const decoder = new Decoder({ tables, isSupported, problems, onUnknown, keepsIgnored });
  return { value: decoder.object(value, type, []), problems };
}

interface DecoderOptions {
  readonly tables: Readonly<Record<string, FieldTable>>;
  readonly isSupported: SupportRule;
  readonly problems: FieldProblem[];
  readonly onUnknown: ((path: FieldPath) => void) | undefined;
  readonly keepsIgnored: boolean;
}

class Decoder {
  readonly #tables: Readonly<Record<string, FieldTable>>;
  readonly #isSupported: SupportRule;
  readonly #problems: FieldProblem[];
  readonly #onUnknown: ((path: FieldPath) => void) | undefined;
  readonly #keepsIgnored: boolean;
  /** Set inside a field whose values must not appear in messages. */
  #isHiding = false;

  constructor({ tables, isSupported, problems, onUnknown, keepsIgnored }: DecoderOptions) {
    this.#tables = tables;
    this.#isSupported = isSupported;
    this.#problems = problems;
    this.#onUnknown = onUnknown;
    this.#keepsIgnored = keepsIgnored;
  }

  object(value: unknown, type: string, path: FieldPath): Record<string, unknown> | undefined {
    if (!isRecord(value)) {
      this.#add('type', path, `must be a mapping, not ${this.#show(value)}`);
      return undefined;
    }
    const table = this.#tables[type]!;
    this.#findUnknown(value, table, path);
    const decoded: [string, unknown][] = [];
    for (const [name, facts] of Object.entries(table)) {
      const own = Object.hasOwn(value, name) ? value[name] : undefined;
      const field = this.#field(own, type, name, facts, [...path, name]);
      const isKept = this.#keepsIgnored || facts.support !== 'ignored';
      if (field !== undefined && isKept) decoded.push([name, field]);
    }
    return Object.fromEntries(decoded);
  }

  #findUnknown(value: Record<string, unknown>, table: FieldTable, path: FieldPath): void {
    const names = Object.keys(table);
    for (const name of Object.keys(value)) {
      if (Object.hasOwn(table, name)) continue;
      if (this.#onUnknown !== undefined) {
        this.#onUnknown([...path, name]);
        continue;
      }
      const guess = findSimilarWord(name, names);
      const hint = guess === undefined ? `there are ${names.join(', ')}` : `did you mean ${guess}?`;
      this.#add('unknown', [...path, name], `unknown field, ${hint}`);
    }
  }

  #field(value: unknown, type: string, name: string, facts: FieldFacts, path: FieldPath): unknown {
    if (isAbsent(value, facts)) {
      if (facts.required) this.#problems.push(required(path));
      return undefined;
    }
    if (facts.support === 'refused' || !this.#isSupported(type, name, facts)) {
      if (!asksForNothing(value, facts)) this.#add('refused', path, refusal(facts));
      return undefined;
    }
    const before = this.#problems.length;
    const wasHiding = this.#isHiding;
    this.#isHiding ||= facts.isSecret === true;
    const decoded = this.value(value, facts.type, path);
    this.#isHiding = wasHiding;
    if (facts.support === 'ignored') this.#forgiveSince(before);
    // Whatever could be read stays, for further validation.
    if (this.#problems.length > before) return decoded;
    if (facts.only !== undefined && !facts.only.includes(decoded as string)) {
      this.#add('refused', path, `${formatValue(decoded)} is not supported: ${facts.otherwise}`);
      return undefined;
    }
    return decoded;
  }

  /**
   * Accepts problems in an ignored field, which may come from a newer peer, if unknown values are allowed.
   */
  #forgiveSince(before: number): void {
    if (this.#onUnknown === undefined) return;
    for (const { path } of this.#problems.splice(before)) this.#onUnknown(path);
  }

  value(value: unknown, type: FieldType, path: FieldPath): unknown {
    switch (type.kind) {
      case 'any':
        return value;
      case 'object':
        return this.object(value, type.name, path);
      case 'list':
        return this.#list(value, type.of, path);
      case 'map':
        return this.#map(value, type.of, path);
      case 'enum':
        if (typeof value !== 'string') return this.#string(value, path);
        if (type.words.includes(value)) return value;
        this.#problems.push(unsupportedValue(path, value, type.words.filter(Boolean)));
        return undefined;
      case 'string':
        return this.#string(value, path);
      case 'boolean':
        if (typeof value === 'boolean') return value;
        this.#wrongType(path, 'true or false', value);
        return undefined;
      case 'int32':
      case 'int64':
        return this.#integer(value, type.kind, path);
      case 'intOrString':
        if (typeof value === 'string') return value;
        return this.#integer(value, 'int32', path);
      case 'quantity':
        return this.#quantity(value, path);
    }
  }

  #list(value: unknown, of: FieldType, path: FieldPath): unknown[] | undefined {
    if (!Array.isArray(value)) {
      this.#add('type', path, `must be a list, not ${this.#show(value)}`);
      return undefined;
    }
    // An item that cannot be read leaves a gap, so that the others keep their index in messages.
    return value.map((item: unknown, index) => this.value(item, of, [...path, index]));
  }

  #map(value: unknown, of: FieldType, path: FieldPath): Record<string, unknown> | undefined {
    if (!isRecord(value)) {
      this.#add('type', path, `must be a mapping, not ${this.#show(value)}`);
      return undefined;
    }
    const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
      const step: FieldStep = { key };
      // As in Kubernetes, an entry without a value is an empty one, or 0.
      return [key, this.value(item ?? EMPTY[of.kind], of, [...path, step])];
    });
    return Object.fromEntries(entries.filter(([, item]) => item !== undefined));
  }

  #string(value: unknown, path: FieldPath): string | undefined {
    if (typeof value === 'string') return value;
    const hint = typeof value === 'object' ? '' : '; put it in quotes';
    this.#add('type', path, `must be a string, not ${this.#show(value)}${hint}`);
    return undefined;
  }

  #integer(value: unknown, kind: 'int32' | 'int64', path: FieldPath): number | undefined {
    if (typeof value !== 'number' || !Number.isInteger(value)) {
      this.#wrongType(path, 'a whole number', value);
      return undefined;
    }
    const most = kind === 'int32' ? LARGEST_INT32 : Number.MAX_SAFE_INTEGER;
    const least = kind === 'int32' ? -most - 1 : -most;
    if (value >= least && value <= most) return value === 0 ? 0 : value;
    // A larger number has already lost digits, so it is not repeated here.
    const what =
      kind === 'int32' ? `, not ${value}` : '; larger ones, which Kubernetes takes, are not supported';
    this.#add('type', path, `must be a whole number from ${least} to ${most}${what}`);
    return undefined;
  }

  #quantity(value: unknown, path: FieldPath): string | undefined {
    const isAmount = typeof value === 'number' || (typeof value === 'string' && !ODD_AMOUNT.test(value));
    const quantity = isAmount ? findQuantity(String(value).replace(BLANKS_AROUND, '')) : undefined;
    if (quantity !== undefined) return formatQuantity(quantity);
    const [, amount, unit] = typeof value === 'string' ? (WITH_BYTES.exec(value) ?? []) : [];
    const meant =
      amount === undefined ? undefined : findQuantity(`${amount}${unit === 'K' ? 'k' : (unit ?? '')}`);
    const guess = meant === undefined ? '' : `; did you mean ${formatQuantity(meant)}?`;
    this.#add('type', path, `must be a quantity such as 500m, 2 or 1.5Gi, not ${this.#show(value)}${guess}`);
    return undefined;
  }

  #wrongType(path: FieldPath, right: string, value: unknown): void {
    const hint = typeof value === 'string' && BARE.test(value) ? '; leave the quotes out' : '';
    this.#add('type', path, `must be ${right}, not ${this.#show(value)}${hint}`);
  }

  #show(value: unknown): string {
    return this.#isHiding ? describeValue(value) : formatValue(value);
  }

  #add(kind: FieldProblemKind, path: FieldPath, message: string): void {
    this.#problems.push({ kind, path, message });
  }
}

function isAbsent(value: unknown, facts: FieldFacts): boolean {
  const { type, required: isRequired, zeroIsAbsent } = facts;
  if (value === undefined || value === null) return true;
  if (value === '' && facts.emptyIsValue) return false;
  if (value === 0) return zeroIsAbsent;
  if (value === '') {
    if (type.kind === 'enum') return !type.words.includes('');
    return isRequired || (type.kind === 'string' && facts.default !== '');
  }
  return isRequired && Array.isArray(value) && value.length === 0;
}

/** Whether the value is equivalent to leaving the field out, so that there is nothing to refuse. */
export function saysNothing(value: unknown, facts: FieldFacts): boolean {
  if (value === '' || value === facts.default || facts.neutral.includes(value as string)) return true;
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/**
 * Whether nothing is lost when a field is not supported.
 *
 * Stricter than {@link saysNothing}: a volume whose only source is `csi: {}` would become an emptyDir.
 */
function asksForNothing(value: unknown, facts: FieldFacts): boolean {
  // Empty text in place of a list is equivalent to nothing, but is still not a list.
  if (value === '')
    return !facts.emptyIsValue && (facts.type.kind === 'string' || facts.type.kind === 'enum');
  if (typeof value !== 'object') return facts.type.kind !== 'any' && saysNothing(value, facts);
  return facts.type.kind === (Array.isArray(value) ? 'list' : 'map') && saysNothing(value, facts);
}

function refusal(facts: FieldFacts): string {
  if (facts.support === 'refused') return `not supported; ${facts.note}`;
  return facts.support === 'planned' ? 'not supported yet' : 'not supported here';
}
