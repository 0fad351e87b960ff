/**
 * What podloop does with a field:
 *
 * - `supported`: honoured
 * - `planned`: read and validated by this code, and still refused by name ("not supported yet")
 * - `refused`: valid in Kubernetes; refused by name, with what to do instead
 * - `ignored`: accepted without effect, for a reason (a scheduler reads it, an API server writes it)
 */
export type Support = 'supported' | 'planned' | 'refused' | 'ignored';

/** The type of a field. `object` is the name of another table of fields; `any` is looked into no further. */
export type FieldType =
  | { readonly kind: 'string' | 'boolean' | 'int32' | 'int64' | 'quantity' | 'intOrString' | 'any' }
  | { readonly kind: 'enum'; readonly words: readonly string[] }
  | { readonly kind: 'list' | 'map'; readonly of: FieldType }
  | { readonly kind: 'object'; readonly name: string };

/** A value that stands in a manifest once. */
export type FieldDefault = string | number | boolean;

/** All that is known of one field of v1 Pod: strictness, refusal, defaults and documentation follow from it. */
export interface FieldFacts {
  readonly type: FieldType;
  readonly support: Support;
  /** Why it is ignored, or what to do instead when it is refused. Empty where neither applies. */
  readonly note: string;
  readonly required: boolean;
  /** Kubernetes' default, where it depends on nothing else. */
  readonly default?: FieldDefault;
  /** Kubernetes takes 0 for "not set". */
  readonly zeroIsAbsent: boolean;
  /** Empty text is a value, and a wrong one, where Kubernetes tells it from a field that is not there. */
  readonly emptyIsValue: boolean;
  /** The values that are taken; for others `otherwise` says what to do. */
  readonly only?: readonly FieldDefault[];
  readonly otherwise: string;
  /** Values that say no more than leaving the field out, the default aside: never refused. */
  readonly neutral: readonly FieldDefault[];
  /** What is in it is in no message. */
  readonly isSecret?: boolean;
  /** What holds for pods of an API server, where it is something else than for manifests. */
  readonly inCluster?: FieldFacts;
}

/** The fields of one type, by name. */
export type FieldTable = Readonly<Record<string, FieldFacts>>;

/** A table that knows every field of the interface `T`, and perhaps more: those that are not supported. */
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

/** A field that is honoured. For `type` see {@link parseFieldType}. */
export function supported(type: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'supported', extras);
}

/** A field that will be honoured; there is none at the moment. @public */
export function planned(type: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'planned', extras);
}

/**
 * A field that is refused; `instead` says what to do. Empty text, lists and maps ask for nothing and are let pass, so that
 * those fields name their type; an object that is empty, such as `csi: {}`, is asked for like any other.
 */
export function refused(instead: string, type = 'any'): FieldFacts {
  return makeFacts(type, 'refused', { note: instead });
}

/** A field that is accepted without effect. */
export function ignored(type: string, reason: string, extras: Extras = {}): FieldFacts {
  return makeFacts(type, 'ignored', { note: reason, ...extras });
}

/** A field of manifests that is another matter for pods of an API server. */
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
 * Reads a type as the tables write it: `string`, `int32`, `[]Container`, `map[string]quantity`, and `A|B` for one of
 * a few words. A name with a capital is another table.
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

/** The same in words: `list of Container`, `map of quantity`. */
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
