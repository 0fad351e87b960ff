import { isAlias, isMap, isScalar, isSeq, type Node, type Scalar, type YAMLMap } from 'yaml';
import { isRecord } from '../is-record.js';
import { type YamlStep } from './yaml-path.js';

/** The position of a value, and of everything in it. */
export interface LocatedNode {
  readonly offset: number;
  /** The offset of its key, if it is in a mapping. */
  readonly keyOffset?: number;
  readonly children?: ReadonlyMap<YamlStep, LocatedNode>;
}

/** A problem at an offset in the text. */
export interface OffsetProblem {
  readonly path: readonly YamlStep[];
  readonly offset: number;
  readonly message: string;
  /** The message without any text from the file except keys. */
  readonly plain: string;
}

/** A converted document. */
export interface ConvertedDocument {
  readonly value: unknown;
  readonly node: LocatedNode;
  readonly problems: readonly OffsetProblem[];
}

interface Converted {
  readonly value: unknown;
  readonly node: LocatedNode;
}

/** Deeper than anything people write. */
const DEEPEST = 64;
/**
 * Limit for a whole file, counting each use of an alias, so that aliases of aliases cannot exhaust the
 * memory.
 */
const MAX_VALUES = 200_000;
/** More problems help nobody, and each one is compared with those before. */
const MAX_PROBLEMS = 100;
const MERGE = '<<';
const INTEGER_KEY = /^[-+]?(?:0[xX][\da-fA-F_]+|0[oObB][\d_]+|[\d_]+)$/;
const TEXT_TAG = 'tag:yaml.org,2002:str';
const TAGS: ReadonlySet<string> = new Set([TEXT_TAG, 'tag:yaml.org,2002:map', 'tag:yaml.org,2002:seq']);

/** Converts parsed YAML into plain values, document after document of one file. */
export class YamlConverter {
  #valuesLeft = MAX_VALUES;
  #anchors = new Map<string, Node | 'open'>();
  #problems: OffsetProblem[] = [];

  convert(contents: Node | null): ConvertedDocument {
    this.#anchors = new Map();
    this.#problems = [];
    const { value, node } = this.#node(contents, [], 0);
    return { value, node, problems: this.#problems };
  }

  #node(node: Node | null | undefined, path: readonly YamlStep[], at: number): Converted {
    const offset = node?.range?.[0] ?? at;
    if (node === null || node === undefined) return { value: null, node: { offset } };
    this.#valuesLeft--;
    if (this.#valuesLeft < 0) return this.#overLimit(path, offset);
    if (path.length > DEEPEST) return this.#refuse(path, offset, 'it is nested too deep');
    if (isAlias(node)) return this.#alias(node.source, path, offset);
    const anchor = 'anchor' in node ? node.anchor : undefined;
    if (anchor === undefined) return this.#content(node, path, offset);
    // An alias inside its own target would have no end.
    this.#anchors.set(anchor, 'open');
    const converted = this.#content(node, path, offset);
    this.#anchors.set(anchor, node);
    return converted;
  }

  #content(node: Node, path: readonly YamlStep[], offset: number): Converted {
    if (!isTagAllowed(node)) {
      const plain = 'a tag is not allowed here; put text that begins with "!" in quotes';
      return this.#refuse(path, offset, `the tag ${node.tag ?? ''} is not allowed`, plain);
    }
    if (isMap(node)) return this.#map(node, path, offset);
    if (isSeq(node)) {
      const items = node.items.map((item, index) =>
        this.#node(item as Node | null, [...path, index], offset),
      );
      const children = new Map(items.map((item, index): [YamlStep, LocatedNode] => [index, item.node]));
      return { value: items.map((item) => item.value), node: { offset, children } };
    }
    const value = isScalar(node) ? resolveScalar(node) : null;
    if (typeof value === 'number' && !Number.isFinite(value)) {
      const name = String((node as Scalar).value);
      return this.#refuse(path, offset, `${name} is no number here; put it in quotes if it is text`);
    }
    return { value, node: { offset } };
  }

  #map(map: YAMLMap, path: readonly YamlStep[], offset: number): Converted {
    const own = new Map<string, Converted & { readonly keyOffset: number }>();
    const merged: Converted[] = [];
    for (const pair of map.items) {
      const keyNode = pair.key as Node | null;
      const keyOffset = keyNode?.range?.[0] ?? offset;
      const isMerge = isScalar(keyNode) && keyNode.type === 'PLAIN' && keyNode.value === MERGE;
      const key = this.#key(keyNode, path, keyOffset);
      if (key === undefined) continue;
      if (isMerge) {
        const parts = this.#merged(pair.value as Node | null, path, keyOffset);
        this.#checkMergeOrder(parts, { own, merged, path, offset: keyOffset });
        merged.push(...parts);
        continue;
      }
      if (own.has(key)) {
        this.#problem([...path, key], keyOffset, `the key ${JSON.stringify(key)} stands here twice`);
      }
      own.set(key, { ...this.#node(pair.value as Node | null, [...path, key], keyOffset), keyOffset });
    }
    const entries: [string, unknown][] = [];
    const children = new Map<YamlStep, LocatedNode>();
    for (const { value, node } of merged) {
      // If several are merged, the first wins; keys beside the merge key win over all.
      for (const [key, item] of Object.entries(value as object)) {
        if (own.has(key) || children.has(key)) continue;
        entries.push([key, item]);
        children.set(key, node.children?.get(key) ?? node);
      }
    }
    for (const [key, { value, node, keyOffset }] of own) {
      entries.push([key, value]);
      children.set(key, { ...node, keyOffset });
    }
    return { value: Object.fromEntries(entries), node: { offset, children } };
  }

  /**
   * Rejects a key that is both before a merge key and in what that merges.
   *
   * In Kubernetes a merge key replaces everything before it; in YAML it replaces nothing beside it.
   */
  #checkMergeOrder(
    parts: readonly Converted[],
    before: {
      readonly own: ReadonlyMap<string, unknown>;
      readonly merged: readonly Converted[];
      readonly path: readonly YamlStep[];
      readonly offset: number;
    },
  ): void {
    const { own, merged, path, offset } = before;
    for (const key of parts.flatMap(({ value }) => Object.keys(value as object))) {
      const name = JSON.stringify(key);
      const isMergedBefore = merged.some(({ value }) => Object.hasOwn(value as object, key));
      if (own.has(key)) {
        this.#problem(
          [...path, key],
          offset,
          `${MERGE} would replace the key ${name} before it; put ${MERGE} first`,
        );
      } else if (isMergedBefore) {
        this.#problem(
          [...path, key],
          offset,
          `the key ${name} is in two ${MERGE}; write one ${MERGE} with a list`,
        );
      }
    }
  }

  #key(node: Node | null, path: readonly YamlStep[], offset: number): string | undefined {
    if (!isScalar(node)) {
      this.#problem(path, offset, 'a key must be a single word');
      return undefined;
    }
    const text = String(node.value);
    const meaning = resolveScalar(node);
    if (typeof meaning === 'string') return text;
    // To Kubernetes 0x1F is the key 31.
    if (Number.isSafeInteger(meaning) && INTEGER_KEY.test(text)) return String(meaning);
    if (/^-?\d{1,6}\.\d{1,4}$/.test(text) && String(meaning) === text) return text;
    this.#problem(path, offset, `the key ${JSON.stringify(text)} means ${String(meaning)}; put it in quotes`);
    return undefined;
  }

  #merged(node: Node | null, path: readonly YamlStep[], offset: number): Converted[] {
    const isMerged = isSeq(node)
      ? node.items.every((item) => this.#isMapping(item as Node | null))
      : this.#isMapping(node);
    const { value, node: located } = this.#node(node, path, offset);
    const parts = Array.isArray(value)
      ? value.map((part: unknown, index) => ({ value: part, node: located.children?.get(index) ?? located }))
      : [{ value, node: located }];
    if (isMerged && parts.every((part) => isRecord(part.value))) return parts;
    this.#problem(path, offset, `${MERGE} takes a mapping or a list of mappings`);
    return [];
  }

  /** A list may not be merged through an alias. */
  #isMapping(node: Node | null): boolean {
    const target = isAlias(node) ? this.#anchors.get(node.source) : node;
    return target === undefined || target === 'open' || isMap(target);
  }

  #alias(name: string, path: readonly YamlStep[], offset: number): Converted {
    const target = this.#anchors.get(name);
    if (target === undefined) {
      const plain = 'there is no such anchor before this alias; put text that begins with "*" in quotes';
      return this.#refuse(path, offset, `there is no anchor &${name} before *${name}`, plain);
    }
    if (target === 'open') {
      return this.#refuse(
        path,
        offset,
        `*${name} stands inside of &${name}`,
        'an alias inside of its anchor',
      );
    }
    // The position is that of the alias, not of the anchor, as it can be repaired there.
    return { value: this.#content(target, path, offset).value, node: { offset } };
  }

  #overLimit(path: readonly YamlStep[], offset: number): Converted {
    if (this.#valuesLeft === -1)
      this.#problem(path, offset, `more than ${MAX_VALUES} values, aliases counted each time`);
    return { value: null, node: { offset } };
  }

  #refuse(path: readonly YamlStep[], offset: number, message: string, plain = message): Converted {
    this.#problem(path, offset, message, plain);
    return { value: null, node: { offset } };
  }

  #problem(path: readonly YamlStep[], offset: number, message: string, plain = message): void {
    // The target of an alias is read again at each use.
    if (this.#problems.some((other) => other.offset === offset && other.message === message)) return;
    if (this.#problems.length < MAX_PROBLEMS) this.#problems.push({ path, offset, message, plain });
  }
}

/** A tag may repeat the obvious type of a value, or mark a scalar as text. */
function isTagAllowed(node: Node): boolean {
  if (node.tag === undefined) return true;
  return TAGS.has(node.tag);
}

function resolveScalar(node: Scalar): unknown {
  const text = typeof node.value === 'string' ? node.value : '';
  return node.type === 'PLAIN' && node.tag !== TEXT_TAG ? resolvePlainScalar(text) : text;
}

/**
 * The meaning of a plain scalar in Kubernetes' YAML: 1.1 as implemented by its parser (go-yaml).
 *
 * `yes`, `on` and `n` are booleans, `0644` is octal, `1_000` a thousand, `~` is null. Dates stay text, and so
 * does a number that is too large: `9e1234` is the hash of a commit. Quoted text is never passed here.
 */
function resolvePlainScalar(text: string): string | number | boolean | null {
  const word = WORDS.get(text);
  if (word !== undefined) return word;
  // Everything else that is not text begins with one of these.
  if (!/^[-+.0-9]/.test(text)) return text;
  // Numbers may contain underscores, unless they begin with a dot.
  const plain = /^\.(?!\d+[eE])/.test(text) ? text : text.replaceAll('_', '');
  const integer = INTEGER.exec(plain);
  const whole = integer === null ? undefined : toInteger(integer);
  if (whole !== undefined) return whole;
  if (!DECIMAL.test(plain)) return text;
  const number = Number(plain);
  return Number.isFinite(number) ? number : text;
}

const WORDS: ReadonlyMap<string, number | boolean | null> = new Map<string, number | boolean | null>([
  ...['', '~', 'null', 'Null', 'NULL'].map((word) => [word, null] as const),
  ...['y', 'Y', 'yes', 'Yes', 'YES', 'true', 'True', 'TRUE', 'on', 'On', 'ON'].map(
    (word) => [word, true] as const,
  ),
  ...['n', 'N', 'no', 'No', 'NO', 'false', 'False', 'FALSE', 'off', 'Off', 'OFF'].map(
    (word) => [word, false] as const,
  ),
  ...['.nan', '.NaN', '.NAN'].map((word) => [word, NaN] as const),
  ...['', '+'].flatMap((sign) =>
    ['.inf', '.Inf', '.INF'].map((word) => [`${sign}${word}`, Infinity] as const),
  ),
  ...['-.inf', '-.Inf', '-.INF'].map((word) => [word, -Infinity] as const),
]);

const INTEGER = /^([-+]?)(?:(0[xX][0-9a-fA-F]+)|(0[bB][01]+)|0[oO]?([0-7]+)|(0|[1-9]\d*))$/;
const DECIMAL = /^[-+]?(?:\.\d+|\d+(?:\.\d*)?)(?:[eE][-+]?\d+)?$/;
const LEAST_INT64 = -(2n ** 63n);
const MAX_UINT64 = 2n ** 64n - 1n;

/** Undefined beyond 64 bits: the value is a floating-point number then, or text. */
function toInteger([, sign, hex, binary, octal, decimal]: RegExpExecArray): number | undefined {
  const size = BigInt(hex ?? binary ?? (octal === undefined ? decimal! : `0o${octal}`));
  const value = sign === '-' ? -size : size;
  return value < LEAST_INT64 || value > MAX_UINT64 ? undefined : Number(value);
}
