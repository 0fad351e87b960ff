/**
 * Reads the manifests of a file: YAML or JSON, one or many documents, Lists.
 *
 * In: the bytes of a file. Out: every pod that can be run, as it was written, and every problem of the others with its
 * line, column and path in the object. One bad object harms no other. What makes the pods pods of a node is in
 * model/static-pod.ts; what is missing from a directory, and what a problem means for a pod that runs, is decided by
 * who reads files again and again.
 *
 * @module
 */
import { type SupportRule } from '../model/decode-object.js';
import { type FieldPath, formatFieldPath, toPlainPath } from '../model/field-path.js';
import { type FieldProblem } from '../model/field-problem.js';
import { type Pod } from '../model/pod.js';
import { readPod } from '../model/read-pod.js';
import { checkStaticPod } from '../model/static-pod.js';
import { parseYamlDocuments, type YamlDocument } from '../util/yaml-document.js';
import { findObjects, type FoundObject } from './list-objects.js';
import { type ManifestPlace, type ManifestProblem, type ManifestProblemKind } from './manifest-problem.js';

/** What an API server takes at most of one object, rounded down; a file is read in one go. */
export const LARGEST_MANIFEST_BYTES = 1024 * 1024;

/** How manifests are read. */
export interface ManifestOptions {
  /** For messages. */
  readonly file: string;
  /** The node that the pods would be of, when that is known: its name goes behind theirs. */
  readonly nodeName?: string;
  /** Unless told, what is supported today. */
  readonly isSupported?: SupportRule;
}

/** A pod that can be run, and where it is written. */
export interface ManifestPod {
  /** Without defaults. */
  readonly pod: Pod;
  readonly place: ManifestPlace;
}

/** All of one file. */
export interface ManifestReading {
  /** In the order in which they are written. */
  readonly pods: readonly ManifestPod[];
  /** In the order in which they stand. */
  readonly problems: readonly ManifestProblem[];
  /** True when nothing at all is written in it; a List without items says something. */
  readonly isEmpty: boolean;
}

/** Reads a file's bytes or text. Never throws; a file without any object has neither pods nor problems. */
export function readManifests(source: Uint8Array | string, options: ManifestOptions): ManifestReading {
  const { file } = options;
  const text = toText(source);
  if (typeof text !== 'string') {
    return { pods: [], problems: [aboutFile(file, text.why)], isEmpty: false };
  }
  const pods: ManifestPod[] = [];
  const problems: ManifestProblem[] = [];
  const documents = parseYamlDocuments(text);
  for (const document of documents) {
    for (const { path, place, message } of document.problems) {
      const at = formatFieldPath(path);
      problems.push({ file, ...place, kind: 'syntax', path: at, message, pod: '', namespace: '' });
    }
    // What is left of a document that cannot be read is not what was meant.
    if (document.problems.length > 0) continue;
    for (const found of findObjects(document.value)) {
      const reading = readObject(found, document, options);
      if (reading.pod !== undefined) pods.push(reading.pod);
      problems.push(...reading.problems);
    }
  }
  problems.sort((one, other) => one.line - other.line || one.column - other.column);
  return { pods, problems, isEmpty: documents.length === 0 };
}

interface ObjectReading {
  readonly pod?: ManifestPod;
  readonly problems: readonly ManifestProblem[];
}

function readObject(found: FoundObject, document: YamlDocument, options: ManifestOptions): ObjectReading {
  const { file, nodeName, isSupported } = options;
  const place = (path: FieldPath, of: 'key' | 'value' = 'value'): ManifestPlace => ({
    file,
    ...document.placeOf([...found.path, ...toPlainPath(path)], of),
  });
  const problem = (
    { kind, path, message }: { kind: ManifestProblemKind; path: FieldPath; message: string },
    pod = '',
    namespace = '',
  ): ManifestProblem => {
    const isAboutName = kind === 'unknown' || kind === 'refused' || kind === 'forbidden';
    const at = place(path, isAboutName ? 'key' : 'value');
    // A path is of the object; of a list itself it begins with its items.
    const full = found.isPod ? path : [...found.path, ...path];
    return { ...at, kind, path: formatFieldPath(full), message, pod, namespace };
  };
  if (!found.isPod) return { problems: found.problems.map((each) => problem(each)) };
  const { pod, name, namespace, problems } = readPod(found.value, isSupported);
  const more: readonly FieldProblem[] =
    pod === undefined || nodeName === undefined ? [] : checkStaticPod(pod, nodeName);
  const all = [...problems, ...more].map((each) => problem(each, name, namespace));
  return all.length > 0 || pod === undefined
    ? { problems: all }
    : { pod: { pod, place: place([]) }, problems: [] };
}

function toText(source: Uint8Array | string): string | { readonly why: string } {
  const size = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength;
  if (size > LARGEST_MANIFEST_BYTES) {
    return { why: `has more than ${LARGEST_MANIFEST_BYTES} bytes; split it` };
  }
  if (typeof source === 'string') return source;
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(source);
  } catch {
    return { why: 'is not UTF-8 text' };
  }
}

/** A problem of a file as a whole. */
export function aboutFile(file: string, message: string): ManifestProblem {
  return { file, line: 1, column: 1, kind: 'syntax', path: '', message, pod: '', namespace: '' };
}
