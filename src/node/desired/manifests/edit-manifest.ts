/**
 * Changes the text of a manifest only where an object changes, so that all else stays as it was written, with its
 * comments.
 *
 * In: a text with one document, how its object was and how it is to be. Out: the changed text, or undefined where the
 * text cannot be changed so (anchors, several documents, other ends of lines); whoever calls this reads the result
 * again, and writes the object as a whole where that is not what was meant.
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import {
  isMap,
  isNode,
  isScalar,
  isSeq,
  type Node,
  Pair,
  type ParsedNode,
  parseAllDocuments,
  parseDocument,
  stringify,
  visit,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { isRecord } from '#base/text/is-record.js';

/** What is to become of an object. */
export interface ManifestEdit {
  /** Its place in the items of a List; undefined where the document is the object. */
  readonly item: number | undefined;
  /** As it is, with all defaults: what is the same in `after` is not touched, written or not. */
  readonly before: unknown;
  /** Undefined to take it out of its List. */
  readonly after: unknown;
}

/** See the module's description. Pure. */
export function editManifest(text: string, { item, before, after }: ManifestEdit): string | undefined {
  if (/^\s*[{[]/.test(text)) return editJson(text, item, after);
  if (text.includes('\r')) return undefined;
  // Whatever a plain word means, it stays the same word.
  const [document, ...others] = parseAllDocuments<Node>(text, { schema: 'failsafe', logLevel: 'silent' });
  if (document === undefined || others.length > 0 || document.errors.length > 0) return undefined;
  const aliases: unknown[] = [];
  visit(document, { Alias: (_, alias) => void aliases.push(alias) });
  const list = isMap(document.contents) ? document.contents.get('items') : undefined;
  const { contents } = document;
  // What has the form of JSON is as well written as a whole.
  if (aliases.length > 0 || contents === null || (isMap(contents) && contents.flow === true))
    return undefined;
  if (item === undefined) document.contents = change(document.contents, before, after) as ParsedNode;
  else if (!isSeq(list)) return undefined;
  else if (after === undefined) list.items.splice(item, 1);
  else list.items[item] = change(list.items[item], before, after);
  const hasFlushLists = /^( *)[^\s#-][^\n]*:[ \t]*\n\1- /m.test(text);
  return document.toString({ lineWidth: 0, indentSeq: !hasFlushLists });
}

/** JSON has no comments to lose. */
function editJson(text: string, item: number | undefined, after: unknown): string | undefined {
  if (item === undefined) return undefined;
  try {
    const list = JSON.parse(text) as { readonly items: unknown[] };
    list.items.splice(item, 1, ...(after === undefined ? [] : [after]));
    return `${JSON.stringify(list, null, 2)}\n`;
  } catch {
    return undefined;
  }
}

/** The node with what has changed between two values, themselves or in a node of its own. */
function change(node: unknown, before: unknown, after: unknown): unknown {
  if (isDeepStrictEqual(before, after)) return node;
  if (isMap(node) && isRecord(before) && isRecord(after)) return changeMap(node, before, after);
  if (isSeq(node) && Array.isArray(before) && Array.isArray(after) && node.items.length === before.length)
    return changeList(node, before, after);
  return replace(node, after);
}

type Fields = Readonly<Record<string, unknown>>;

function changeMap(node: YAMLMap, before: Fields, after: Fields): YAMLMap {
  for (const key of Object.keys(before)) if (!Object.hasOwn(after, key)) node.delete(key);
  for (const [key, value] of Object.entries(after)) {
    const known = Object.hasOwn(before, key) ? before[key] : undefined;
    if (isDeepStrictEqual(known, value)) continue;
    const pair = node.items.find((each) => isScalar(each.key) && each.key.value === key);
    if (pair !== undefined) pair.value = change(pair.value, known, value);
    else node.add(new Pair(toNode(key), toNode(value)));
  }
  return node;
}

/** Items of lists of objects are those of the same name, wherever they are; of others the ones at the same place. */
function changeList(node: YAMLSeq, before: readonly unknown[], after: readonly unknown[]): YAMLSeq {
  const [old, next] = [before, after].map((list) => list.map(nameOf));
  const areNamed = [old!, next!].every(
    (names) => !names.includes(undefined) && new Set(names).size === names.length,
  );
  const { items } = node;
  node.items = after.map((value, at) => {
    const from = areNamed ? old!.indexOf(next![at]) : at;
    return from >= 0 && from < before.length ? change(items[from], before[from], value) : toNode(value);
  });
  return node;
}

function nameOf(value: unknown): string | undefined {
  const name = isRecord(value) ? value['name'] : undefined;
  return typeof name === 'string' ? name : undefined;
}

/** Comments beside a value are about its key. */
function replace(node: unknown, value: unknown): Node {
  const made = toNode(value);
  if (isNode(node)) {
    const { comment, commentBefore, spaceBefore } = node;
    Object.assign(made, { comment, commentBefore, spaceBefore });
  }
  return made;
}

/** Written so that it means the same to a reader of YAML 1.1. */
function toNode(value: unknown): Node {
  const text = stringify(value, { schema: 'yaml-1.1', lineWidth: 0 });
  return parseDocument<Node>(text, { schema: 'failsafe' }).contents!;
}
