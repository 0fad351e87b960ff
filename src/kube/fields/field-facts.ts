/**
 * How podloop treats a field.
 *
 * - `supported`: has its effect
 * - `planned`: read and validated by this code, but still refused by name ("not supported yet")
 * - `refused`: valid in Kubernetes; refused by name, with what to do instead
 * - `ignored`: accepted without effect, for a reason (a scheduler reads it, an API server writes it)
 */
export type Support = 'supported' | 'planned' | 'refused' | 'ignored';

/** The type of a field. `object` has the name of another table of fields; `any` is not inspected further. */
export type FieldType =
  | { readonly kind: 'string' | 'boolean' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'any' }
  | { readonly kind: 'enum'; readonly words: readonly string[] }
  | { readonly kind: 'list' | 'map'; readonly of: FieldType }
  | { readonly kind: 'object'; readonly name: string };

/** A scalar value in a manifest. */
export type FieldDefault = string | number | boolean;

/** The facts about one field of v1 Pod, which determine strictness, refusal, defaults and documentation. */
export interface FieldFacts {
  readonly type: FieldType;
  readonly support: Support;
  /** Why it is ignored, or what to do instead if it is refused. Otherwise empty. */
  readonly note: string;
  readonly required: boolean;
  /** Kubernetes' default, if it is a constant. */
  readonly default?: FieldDefault;
  /** Kubernetes treats 0 as "not set". */
  readonly zeroIsAbsent: boolean;
  /** Empty text is an invalid value, because Kubernetes distinguishes it from a missing field. */
  readonly emptyIsValue: boolean;
  /** The accepted values; for others `otherwise` says what to do. */
  readonly only?: readonly FieldDefault[];
  readonly otherwise: string;
  /** Values equivalent to leaving the field out, besides the default: never refused. */
  readonly neutral: readonly FieldDefault[];
  /** Its content must not appear in any message. */
  readonly isSecret?: boolean;
  /** The facts for pods of an API server, if they differ from those for manifests. */
  readonly inCluster?: FieldFacts;
}

/** The fields of one type, by name. */
export type FieldTable = Readonly<Record<string, FieldFacts>>;

/** A table with every field of the interface `T`, and possibly more: those that are not supported. */
export type TableOf<T> = { readonly [Name in keyof T]-?: FieldFacts } & FieldTable;

type Extras = Partial<
  Pick<
    FieldFacts,
    | 'required'
    | 'default'
    | 'zeroIsAbsent'
    | 'emptyIsValue'
    | 'only'
    | 'otherwise'
    | 'neutral'
    | 'note'
    | 'isSecret'
  >
>;

/** A field that is supported. For `type` see {@link parseFieldType}. */
export function supported(type: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'supported', extras);
}

/** A field that will be supported; there is none at the moment. @public */
export function planned(type: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'planned', extras);
}

/**
 * A field that is refused; `instead` says what to do.
 *
 * Empty text, lists and maps have no effect and are accepted, so such fields state their type. An empty
 * object, such as `csi: {}`, counts as a request like any other.
 */
export function refused(instead: string, type = 'any'): FieldFacts {
  return makeFacts(type, 'refused', { note: instead });
}

/** A field that is accepted without effect. */
export function ignored(type: string, reason: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'ignored', { note: reason, ...extras });
}

/** A field of manifests that differs for pods of an API server. */
export function clustered(facts: FieldFacts, inCluster: FieldFacts): FieldFacts {
  return { ...facts, inCluster };
}

function makeFacts(type: string, support: Support, extras: Extras): FieldFacts {
  const nothing = {
    ...{ note: '', required: false, zeroIsAbsent: false, emptyIsValue: false },
    ...{ otherwise: '', neutral: [] },
  };
  return { type: parseFieldType(type), support, ...nothing, ...extras };
}

/**
 * Parses a type as written in the tables.
 *
 * These are `string`, `int32`, `[]Container`, `map[string]quantity`, and `A|B` for one of a few words. A
 * capitalized name is another table.
 */
function parseFieldType(text: string): FieldType {
  if (text.startsWith('[]')) return { kind: 'list', of: parseFieldType(text.slice(2)) };
  if (text.startsWith('map[string]')) return { kind: 'map', of: parseFieldType(text.slice(11)) };
  if (text.includes('|')) return { kind: 'enum', words: text.split('|') };
  switch (text) {
    case 'string':
    case 'boolean':
    case 'int32':
    case 'int64':
    case 'quantity':
    case 'intOrString':
    case 'any':
      return { kind: text };
    default:
      return { kind: 'object', name: text };
  }
}

/** The type in words: `list of Container`, `map of quantity`. */
export function describeFieldType(type: FieldType): string {
  switch (type.kind) {
    case 'list':
      return `list of ${describeFieldType(type.of)}`;
    case 'map':
      return `map of ${describeFieldType(type.of)}`;
    case 'enum':
      return type.words.map((word) => (word === '' ? '""' : word)).join(' or ');
    case 'object':
      return type.name;
    default:
      return type.kind;
  }
}
