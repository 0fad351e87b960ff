/**
 * Reads the manifests of a file: YAML or JSON, one or many documents, Lists.
 *
 * In: the bytes of a file. Out: every runnable pod as written, every other object, and every problem of the
 * others with its line, column and path. One bad object does not affect others. kube/pod/static-pod.ts
 * turns the pods into pods of a node. What a missing file or a problem means for a running pod is up to the
 * caller that reads repeatedly. No problem contains a value of a Secret.
 *
 * @module
 */
import { type ConfigObject } from '#kube/objects/config-object.js';
import { type SupportRule } from '#kube/fields/decode-object.js';
import { type FieldPath, formatFieldPath, toPlainPath } from '#kube/fields/field-path.js';
import { describeValue } from '#kube/fields/field-problem.js';
import { type Pod } from '#kube/pod/pod.js';
import { readConfigObject } from '#kube/objects/read-config-object.js';
import { readWorkload } from '#kube/workloads/read-workload.js';
import { isWorkloadKind, type Workload } from '#kube/workloads/workload.js';
import { readPod } from '#kube/pod/read-pod.js';
import { checkStaticPod } from '#kube/pod/static-pod.js';
import { validateNewPod } from '#kube/validation/validate-new-pod.js';
import { isRecord } from '#base/text/is-record.js';
import { parseYamlDocuments, type YamlDocument } from '#base/text/yaml/yaml-document.js';
import { toWrittenPod } from './cluster-dump.js';
import { withJobName } from './generated-job-name.js';
import { findObjects, type FoundKind, type FoundObject } from './list-objects.js';
import { type ManifestPlace, type ManifestProblem, type ManifestProblemKind } from './manifest-problem.js';

/** An API server's limit for one object, rounded down; a file is read in one go. */
export const LARGEST_MANIFEST_BYTES = 1024 * 1024;

/** How to read manifests. */
export interface ManifestOptions {
  /** For messages. */
  readonly file: string;
  /** The node of the pods, if known: its name is the suffix of theirs. */
  readonly nodeName?: string;
  /** Default: what is supported today. */
  readonly isSupported?: SupportRule;
  /**
   * Its pods may exist already: the caller checks that, and refuses what new ones may not have (default:
   * every pod is new).
   */
  readonly mayEdit?: boolean;
}

/** A runnable pod, and where it is written. */
export interface ManifestPod {
  /** Without defaults. */
  readonly pod: Pod;
  readonly place: ManifestPlace;
  /** The position of a value in it, or of the nearest one around it. */
  readonly placeOf: (path: FieldPath) => ManifestPlace;
  /** Problems of fields that an existing pod may have, but a new one may not. */
  readonly findProblemsOfNew: () => readonly ManifestProblem[];
  /** Fields that a cluster or an agent had added, and that the pod does not have. */
  readonly leftOut: readonly string[];
}

/** Any object but a pod. */
export type WrittenObject = ConfigObject | Workload;

/** Such an object, and where it is written. */
export interface ManifestObject<Each extends WrittenObject = WrittenObject> {
  readonly object: Each;
  readonly place: ManifestPlace;
  /** The position of a value in it, or of the nearest one around it. */
  readonly placeOf: (path: FieldPath) => ManifestPlace;
}

/** Everything in one file. */
export interface ManifestReading {
  /** In the order in which they are written. */
  readonly pods: readonly ManifestPod[];
  /** In the order in which they are written. */
  readonly objects: readonly ManifestObject[];
  /** In the order in which they stand. */
  readonly problems: readonly ManifestProblem[];
  /** True when nothing at all is written in it; an empty List is a statement. */
  readonly isEmpty: boolean;
}

/**
 * Reads a file's bytes or text. Never throws; a file without objects has neither pods nor objects nor
 * problems.
 */
export function readManifests(source: Uint8Array | string, options: ManifestOptions): ManifestReading {
  const { file } = options;
  const text = toText(source);
  if (typeof text !== 'string') {
    return { pods: [], objects: [], problems: [aboutFile(file, text.why)], isEmpty: false };
  }
  // If the text cannot be parsed, neither its kind nor the kind's spelling is known.
  const isConfidential = /secr|stringdata/i.test(text);
  const pods: ManifestPod[] = [];
  const objects: ManifestObject[] = [];
  const problems: ManifestProblem[] = [];
  const documents = parseYamlDocuments(text);
  for (const document of documents) {
    for (const { path, place, message, plain } of document.problems) {
      const at = formatFieldPath(path);
      const said = isConfidential ? plain : message;
      problems.push({ file, ...place, kind: 'syntax', path: at, message: said, pod: '', namespace: '' });
    }
    // What remains of an unreadable document is not what its author meant.
    if (document.problems.length > 0) continue;
    for (const found of findObjects(document.value)) {
      const reading = new ObjectReader(found, document, options).read(isConfidential);
      if (reading.pod !== undefined) pods.push(reading.pod);
      if (reading.object !== undefined) objects.push(reading.object);
      problems.push(...withoutName(reading.problems));
    }
  }
  problems.sort((one, other) => one.line - other.line || one.column - other.column);
  return { pods, objects, problems, isEmpty: documents.length === 0 };
}

/** Where a name is to be generated, that is what is refused, and not that there is none. */
function withoutName(problems: readonly ManifestProblem[]): readonly ManifestProblem[] {
  const isGenerated = problems.some(
    ({ kind, path }) => kind === 'refused' && path === 'metadata.generateName',
  );
  return isGenerated
    ? problems.filter(({ kind, path }) => kind !== 'required' || path !== 'metadata.name')
    : problems;
}

interface ObjectReading {
  readonly pod?: ManifestPod;
  readonly object?: ManifestObject;
  readonly problems: readonly ManifestProblem[];
}

/** Reads one object of a document. */
class ObjectReader {
  readonly #found: FoundObject;
  readonly #document: YamlDocument;
  readonly #options: ManifestOptions;

  constructor(found: FoundObject, document: YamlDocument, options: ManifestOptions) {
    this.#found = found;
    this.#document = document;
    this.#options = options;
  }

  /** `isConfidential`: it may be a Secret, whatever its kind says. */
  read(isConfidential: boolean): ObjectReading {
    const found = this.#found;
    if (found.kind === 'other') return { problems: found.problems.map((each) => this.#problem(each)) };
    if (isWorkloadKind(found.kind)) return this.#readWorkload(found.value, found.kind);
    if (found.kind !== 'Pod') return this.#readConfigObject(found.value, found.kind);
    if (isConfidential && !isRecord(found.value)) {
      const message = `must be a mapping, not ${describeValue(found.value)}`;
      return { problems: [this.#problem({ kind: 'type', path: [], message })] };
    }
    return this.#readPod(found);
  }

  #readPod({ value }: FoundKind): ObjectReading {
    const { nodeName, isSupported, mayEdit = false } = this.#options;
    const { value: written, leftOut } = toWrittenPod(value, nodeName);
    const { pod, name, namespace, problems } = readPod(written, isSupported);
    const ofNode = pod === undefined || nodeName === undefined ? [] : checkStaticPod(pod, nodeName);
    const ofNew = pod === undefined || mayEdit ? [] : validateNewPod(pod);
    const toProblem = (each: (typeof problems)[number]) => this.#problem(each, name, namespace);
    const all = [...problems, ...ofNode, ...ofNew].map(toProblem);
    if (all.length > 0 || pod === undefined) return { problems: all };
    const findProblemsOfNew = () => validateNewPod(pod).map(toProblem);
    const placeOf = (path: FieldPath) => this.#place(path);
    return { pod: { pod, place: this.#place([]), placeOf, findProblemsOfNew, leftOut }, problems: [] };
  }

  #readConfigObject(value: unknown, kind: ConfigObject['kind']): ObjectReading {
    const { object, problems } = readConfigObject(value, kind);
    return object === undefined
      ? { problems: problems.map((each) => this.#problem(each)) }
      : { object: this.#toObject(object), problems: [] };
  }

  #readWorkload(value: unknown, kind: Workload['kind']): ObjectReading {
    const { nodeName, isSupported } = this.#options;
    const toWritten = (pod: unknown): unknown => toWrittenPod(pod, nodeName).value;
    const named = kind === 'Job' ? withJobName(value) : value;
    const { object, problems } = readWorkload(named, kind, { toWritten, isSupported });
    return object === undefined
      ? { problems: problems.map((each) => this.#problem(each)) }
      : { object: this.#toObject(object), problems: [] };
  }

  #toObject(object: WrittenObject): ManifestObject {
    return { object, place: this.#place([]), placeOf: (path) => this.#place(path) };
  }

  #place(path: FieldPath, of: 'key' | 'value' = 'value'): ManifestPlace {
    const steps = [...this.#found.path, ...toPlainPath(path)];
    return { file: this.#options.file, ...this.#document.placeOf(steps, of) };
  }

  #problem(
    { kind, path, message }: { kind: ManifestProblemKind; path: FieldPath; message: string },
    pod = '',
    namespace = '',
  ): ManifestProblem {
    const isAboutName = kind === 'unknown' || kind === 'refused' || kind === 'forbidden';
    const at = this.#place(path, isAboutName ? 'key' : 'value');
    // Paths are relative to the object; for a list itself they begin with its items.
    const full = this.#found.kind === 'other' ? [...this.#found.path, ...path] : path;
    return { ...at, kind, path: formatFieldPath(full), message, pod, namespace };
  }
}

function toText(source: Uint8Array | string): string | { readonly why: string } {
  const size = typeof source === 'string' ? Buffer.byteLength(source) : source.byteLength;
  if (size > LARGEST_MANIFEST_BYTES) {
    return { why: `has more than ${LARGEST_MANIFEST_BYTES} bytes; split it` };
  }
  if (typeof source === 'string') return source;
  const [first, second] = source;
  if ((first === 0xff && second === 0xfe) || (first === 0xfe && second === 0xff)) {
    return { why: 'is UTF-16 text, as PowerShell writes it; save it as UTF-8' };
  }
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
