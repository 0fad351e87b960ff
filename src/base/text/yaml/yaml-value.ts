import { isMap, isScalar, isSeq, LineCounter, type Node, parseAllDocuments, type YAMLMap } from 'yaml';
import { type ErrorCode, PodloopError } from '../../errors/errors.js';
import { findSimilarWord } from '../similar-word.js';

/** The file of a {@link YamlValue}. */
export interface YamlFile {
  /** For messages. */
  readonly name: string;
  /** The code of every error in it. */
  readonly code: ErrorCode;
  /** What to do instead of a second document. */
  readonly insteadOfSecond: string;
  /** Treats a `null` field as absent, as Go programs write them (default: an error). */
  readonly nullIsAbsent?: boolean;
}

/**
 * One value of a YAML file that people wrote, with its position.
 *
 * Strict: every reader throws the file's error code with file, line and path (`pod.yaml:12:
 * spec.containers[0].comand: unknown field, did you mean command?`) instead of converting or ignoring
 * anything.
 */
export class YamlValue {
  readonly #node: Node | undefined;
  readonly #path: string;
  readonly #file: YamlFile;
  readonly #lineOf: (node: Node | undefined) => number;

  private constructor(
    node: Node | undefined,
    path: string,
    file: YamlFile,
    lineOf: (node: Node | undefined) => number,
  ) {
    this.#node = node;
    this.#path = path;
    this.#file = file;
    this.#lineOf = lineOf;
  }

  /** Parses a file's text, which must contain one YAML (or JSON) document. */
  static parse(text: string, file: YamlFile): YamlValue {
    const lines = new LineCounter();
    const documents = parseAllDocuments(text, { lineCounter: lines });
    const lineAt = (offset: number): number => lines.linePos(offset).line;
    const invalid = (line: number, why: string): PodloopError =>
      new PodloopError(file.code, `${file.name}:${line}: ${why}`);
    const fault = documents.flatMap((document) => document.errors)[0];
    // The first line says what is wrong; the position, and a picture of it, follow and are not needed.
    if (fault) throw invalid(lineAt(fault.pos[0]), fault.message.split(/ at line |\n/)[0]!);
    const [first, second] = documents;
    if (second) throw invalid(lineAt(second.range[0]), `a second document; ${file.insteadOfSecond}`);
    const root = first?.contents;
    if (root === undefined || root === null) throw invalid(1, 'the file is empty');
    return new YamlValue(root, '', file, (node) => (node?.range ? lineAt(node.range[0]) : 1));
  }

  /** True if the field is absent; a field with the value null is not. */
  get isAbsent(): boolean {
    return this.#node === undefined;
  }

  /** The fields of a mapping, including absent ones; any other field in the file is an error. */
  fields<Name extends string>(...names: Name[]): Record<Name, YamlValue> {
    const map = this.#map();
    for (const { key } of map.items) {
      const name = String(isScalar(key) ? key.value : key);
      if (names.includes(name as Name)) continue;
      const guess = findSimilarWord(name, names);
      const hint = guess === undefined ? `there are ${names.join(', ')}` : `did you mean ${guess}?`;
      throw new YamlValue(key as Node, join(this.#path, name), this.#file, this.#lineOf).invalid(
        `unknown field, ${hint}`,
      );
    }
    return Object.fromEntries(names.map((name) => [name, this.#child(map, name)])) as Record<Name, YamlValue>;
  }

  /** One field of a mapping, ignoring others. */
  find(name: string): YamlValue {
    return this.#child(this.#map(), name);
  }

  string(fallback?: string): string {
    if (this.#isMissing(fallback)) return fallback!;
    const value = this.#scalar();
    if (typeof value !== 'string') {
      throw this.invalid(`must be a string, not ${JSON.stringify(value)}; put it in quotes`);
    }
    return value;
  }

  integer(fallback?: number): number {
    if (this.#isMissing(fallback)) return fallback!;
    const value = this.#scalar();
    if (!Number.isSafeInteger(value))
      throw this.invalid(`must be a whole number, not ${JSON.stringify(value)}`);
    return value as number;
  }

  /** A number, integer or not. */
  number(fallback?: number): number {
    if (this.#isMissing(fallback)) return fallback!;
    const value = this.#scalar();
    if (typeof value !== 'number' || !Number.isFinite(value))
      throw this.invalid(`must be a number, not ${JSON.stringify(value)}`);
    return value;
  }

  /** Any scalar value, for readers that accept more than one type. */
  scalar(): unknown {
    this.#isMissing(undefined);
    return this.#scalar();
  }

  /** One of a few words. */
  oneOf<Word extends string>(words: readonly Word[], fallback?: Word): Word {
    const value = this.string(fallback);
    if (words.includes(value as Word)) return value as Word;
    throw this.invalid(`must be ${words.join(' or ')}, not ${JSON.stringify(value)}`);
  }

  /** The items of a sequence; none if it is absent. */
  items(): YamlValue[] {
    if (this.#node === undefined) return [];
    if (!isSeq(this.#node)) throw this.invalid('must be a list');
    return this.#node.items.map(
      (item, index) => new YamlValue(item as Node, `${this.#path}[${index}]`, this.#file, this.#lineOf),
    );
  }

  /** A mapping from strings to strings; empty if it is absent. */
  stringMap(): Record<string, string> {
    return Object.fromEntries(this.entries().map(([name, value]) => [name, value.string()]));
  }

  /** The fields of a mapping with arbitrary names; none if it is absent. */
  entries(): [string, YamlValue][] {
    if (this.#node === undefined) return [];
    const map = this.#map();
    const names = map.items.map(({ key }) => String(isScalar(key) ? key.value : key));
    return names.map((name) => [name, this.#child(map, name)]);
  }

  /** Makes an error about this value. */
  invalid(why: string): PodloopError {
    const place = this.#path === '' ? '' : `${this.#path}: `;
    return new PodloopError(
      this.#file.code,
      `${this.#file.name}:${this.#lineOf(this.#node)}: ${place}${why}`,
    );
  }

  #isMissing(fallback: unknown): boolean {
    if (this.#node !== undefined) return false;
    if (fallback === undefined) throw this.invalid('is missing');
    return true;
  }

  #map(): YAMLMap {
    if (this.#node === undefined) throw this.invalid('is missing');
    if (!isMap(this.#node)) throw this.invalid('must be a mapping');
    return this.#node;
  }

  #scalar(): unknown {
    if (!isScalar(this.#node)) throw this.invalid('must be a single value');
    return this.#node.value;
  }

  #child(map: YAMLMap, name: string): YamlValue {
    const found = map.get(name, true);
    const isNull = this.#file.nullIsAbsent === true && isScalar(found) && found.value === null;
    const node = isNull ? undefined : found;
    // A missing field is reported at the mapping that should contain it.
    const lineOf = (own: Node | undefined): number => this.#lineOf(own ?? map);
    return new YamlValue(node, join(this.#path, name), this.#file, lineOf);
  }
}

function join(path: string, name: string): string {
  return path === '' ? name : `${path}.${name}`;
}
