/**
 * A list of operations on an object, each at a path in it.
 *
 * ```
 * [{"op": "replace", "path": "/spec/replicas", "value": 2}]
 * [{"op": "add", "path": "/spec/template/spec/containers/-", "value": {…}}]      at the end of a list
 * [{"op": "remove", "path": "/metadata/labels/example.com~1tier"}]              `~1` is `/`, `~0` is `~`
 * ```
 *
 * In: an object and operations. Out: the changed object, which nobody has validated. One operation that fails fails all.
 *
 * Source: RFC 6902, JSON Patch; RFC 6901, JSON Pointer
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { isRecord } from '#base/text/is-record.js';
import { badRequest } from '../http/api-error.js';
import { LARGEST_BODY_BYTES } from '../http/request-body.js';
import { type JsonObject } from './merge-patch.js';

const OPERATIONS = ['add', 'remove', 'replace', 'move', 'copy', 'test'];
/** An API server takes no more, either. */
const MAX_OPERATIONS = 10_000;

/** See the module. Pure; throws an ApiError for an operation that cannot be done. */
export function jsonPatch(object: JsonObject, operations: unknown): JsonObject {
  if (!Array.isArray(operations))
    throw badRequest('a JSON patch is a list of operations, as in [{"op": "remove", "path": "/spec/x"}]');
  if (operations.length > MAX_OPERATIONS)
    throw badRequest(`a JSON patch may have at most ${MAX_OPERATIONS} operations`);
  let root: unknown = structuredClone(object);
  const budget = { left: LARGEST_BODY_BYTES };
  for (const operation of operations) root = applyOperation(root, operation, budget);
  if (!isRecord(root)) throw badRequest('the patch leaves no object');
  return root;
}

function applyOperation(root: unknown, operation: unknown, budget: { left: number }): unknown {
  const { op, path, from, value } = isRecord(operation) ? operation : {};
  if (typeof op !== 'string' || !OPERATIONS.includes(op))
    throw badRequest(`op must be one of ${OPERATIONS.join(', ')}, not ${quoted(op)}`);
  const words = readPointer(path, 'path');
  if (op === 'remove') return change(root, words, 'remove');
  if (op === 'move' || op === 'copy') {
    const source = readPointer(from, 'from');
    const found = find(root, source);
    if (op === 'copy') {
      // Copies of copies would soon fill the memory.
      budget.left -= JSON.stringify(found).length;
      if (budget.left < 0) throw badRequest(`a JSON patch may copy at most ${LARGEST_BODY_BYTES} bytes`);
      return change(root, words, 'add', structuredClone(found));
    }
    if (words.length > source.length && isDeepStrictEqual(words.slice(0, source.length), source))
      throw badRequest(`${String(from)} cannot be moved into itself`);
    return change(change(root, source, 'remove'), words, 'add', found);
  }
  if (value === undefined) throw badRequest(`${op} ${String(path)}: value is missing`);
  if (op === 'test') {
    if (!isDeepStrictEqual(find(root, words), value))
      throw badRequest(`test ${String(path)}: the value there is another one`);
    return root;
  }
  return change(root, words, op === 'add' ? 'add' : 'replace', value);
}

function readPointer(pointer: unknown, field: string): readonly string[] {
  if (typeof pointer !== 'string' || (pointer !== '' && !pointer.startsWith('/')))
    throw badRequest(`${field} must be a path such as /spec/replicas, not ${quoted(pointer)}`);
  return pointer
    .split('/')
    .slice(1)
    .map((word) => word.replaceAll('~1', '/').replaceAll('~0', '~'));
}

/** A wrong value as it is written; it may be of any type, or missing. */
function quoted(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value);
}

function find(root: unknown, words: readonly string[]): unknown {
  let at = root;
  for (const word of words) {
    if (Array.isArray(at)) at = at[placeIn(at, word, at.length - 1, words)] as unknown;
    else if (isRecord(at) && Object.hasOwn(at, word)) at = at[word];
    else throw missing(words);
  }
  return at;
}

/** Changes one place and resolves with the new root. */
function change(
  root: unknown,
  words: readonly string[],
  how: 'add' | 'replace' | 'remove',
  value?: unknown,
): unknown {
  const last = words.at(-1);
  if (last === undefined) return how === 'remove' ? undefined : value;
  const parent = find(root, words.slice(0, -1));
  if (Array.isArray(parent)) {
    const most = how === 'add' ? parent.length : parent.length - 1;
    const place = how === 'add' && last === '-' ? parent.length : placeIn(parent, last, most, words);
    if (how === 'remove') parent.splice(place, 1);
    else parent.splice(place, how === 'add' ? 0 : 1, value);
  } else if (isRecord(parent)) {
    if (how !== 'add' && !Object.hasOwn(parent, last)) throw missing(words);
    // A field may have any name, that of a setter as well.
    if (how === 'remove') Reflect.deleteProperty(parent, last);
    else Object.defineProperty(parent, last, { value, enumerable: true, configurable: true, writable: true });
  } else throw missing(words);
  return root;
}

function placeIn(list: readonly unknown[], word: string, most: number, words: readonly string[]): number {
  const place = /^(?:0|[1-9]\d{0,8})$/.test(word) ? Number(word) : -1;
  if (place < 0 || place > most)
    throw badRequest(`${pointerOf(words)}: the list has ${list.length} items, and no place ${word}`);
  return place;
}

function missing(words: readonly string[]): Error {
  return badRequest(`${pointerOf(words)}: there is nothing`);
}

function pointerOf(words: readonly string[]): string {
  return words.map((word) => `/${word.replaceAll('~', '~0').replaceAll('/', '~1')}`).join('');
}
