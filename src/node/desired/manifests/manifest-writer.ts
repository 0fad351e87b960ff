/**
 * Writes objects into the folder of manifests and removes them, for people who use the API instead of writing
 * files.
 *
 * In: an object as JSON, or its name. Out: a file with it, written as a whole, or no such file, or why not.
 * The object may be invalid. Of a file with several objects only the document or the item of a List is changed that it
 * is, and of that only what is different, so that comments stay; where that is not possible, the file belongs to its
 * author. Only the file is changed: the source picks that up as with any file.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { open, rm, stat } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type FieldProblem } from '#kube/fields/field-problem.js';
import { applyPodDefaults } from '#kube/pod/pod-defaults.js';
import { type Pod } from '#kube/pod/pod.js';
import { applyWorkloadDefaults } from '#kube/workloads/read-workload.js';
import { hashPod } from '#kube/pod/static-pod.js';
import { aboutFolder } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { syncPath, writeWhole } from '#base/fs/whole-file.js';
import { Mutex } from '#base/async/mutex.js';
import { isRecord } from '#base/text/is-record.js';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { editManifest } from './edit-manifest.js';
import { cutDocument, type ManifestDocument, replaceDocument, splitDocuments } from './manifest-documents.js';
import { type ManifestProblem } from './manifest-problem.js';
import {
  LARGEST_MANIFEST_BYTES,
  type ManifestReading,
  readManifests,
  type WrittenObject,
} from './manifest-reader.js';
import { isConfigObject, keepObjects, toPlainObject, toSourceObject } from './source-object.js';
import { toWrittenObject } from './written-object.js';

/** What can be applied. */
export type AppliedKind = 'Pod' | WrittenObject['kind'];

/** Identifies an object by its name as written. */
export interface AppliedObject {
  readonly kind: AppliedKind;
  readonly namespace: string;
  readonly name: string;
}

/** What a {@link ManifestWriter} needs. */
export interface ManifestWriterOptions {
  /** The folder of manifests; it exists. */
  readonly folder: string;
  readonly nodeName: string;
  /** The name of the file with an object, as of the source's last reading. */
  readonly findFile: (object: AppliedObject) => string | undefined;
  /** What the node forbids in a pod: it is not written then. */
  readonly findForbidden: (pod: Pod) => readonly FieldProblem[];
}

/** A file that belongs to its author. */
export interface Obstacle {
  readonly kind: 'in the way';
  readonly file: string;
  /** Its contents: also other objects, unreadable text, or no object at all. */
  readonly holds: 'others' | 'errors' | 'nothing';
}

/** The result of applying an object. */
export type ApplyOutcome =
  | {
      readonly kind: 'applied';
      readonly result: 'created' | 'configured' | 'unchanged';
      /** What the file contains. */
      readonly reading: ManifestReading;
    }
  | { readonly kind: 'invalid'; readonly problems: readonly ManifestProblem[] }
  | { readonly kind: 'forbidden'; readonly problems: readonly FieldProblem[] }
  /** It had to be new, and a manifest has it. */
  | { readonly kind: 'exists' }
  | Obstacle;

/** How an object is applied. */
export interface ApplyModes {
  /** Nothing is written. */
  readonly isDryRun?: boolean;
  /** It is not written if a manifest has it already. */
  readonly mustBeNew?: boolean;
}

/** The result of removing an object. */
export type RemoveOutcome =
  /** `note`: what became of a file that somebody has written or edited by hand, or what would become of it. */
  { readonly kind: 'removed'; readonly note?: string } | { readonly kind: 'not there' } | Obstacle;

const MAX_STEM_LENGTH = 200;

/** See the module. */
export class ManifestWriter {
  readonly #options: ManifestWriterOptions;
  readonly #changes = new Mutex();

  constructor(options: ManifestWriterOptions) {
    this.#options = options;
  }

  /** Writes an object, one at a time. Rejects with FOLDER_UNUSABLE if the system refuses that. */
  async apply(object: AppliedObject, value: object, modes: ApplyModes = {}): Promise<ApplyOutcome> {
    return this.#inTurn(async () => this.#apply(object, value, modes));
  }

  /** Removes the file of an object, after earlier requests. Rejects with FOLDER_UNUSABLE if the system refuses that. */
  async remove(object: AppliedObject, isDryRun: boolean): Promise<RemoveOutcome> {
    return this.#inTurn(async () => this.#remove(object, isDryRun));
  }

  async #inTurn<Outcome>(work: () => Promise<Outcome>): Promise<Outcome> {
    try {
      return await this.#changes.run(work);
    } catch (error) {
      throw aboutFolder(error, 'the folder of manifests', this.#options.folder);
    }
  }

  async #remove(object: AppliedObject, isDryRun: boolean): Promise<RemoveOutcome> {
    const { folder } = this.#options;
    // The name was not validated: it might be a path to another folder.
    if (/[/\0]/.test(`${object.namespace}${object.name}`)) return { kind: 'not there' };
    const path = join(folder, await this.#chooseFile(object));
    const text = await readText(path);
    if (text === undefined) return { kind: 'not there' };
    const place = this.#findPlace(text, object, path);
    if (place.kind === 'in the way') return place;
    const rest = this.#cut(text, place);
    if (rest === null) return othersIn(path);
    if (rest !== undefined && !this.#isOnlyChange(text, rest, path, 'removed')) return othersIn(path);
    const done = isDryRun ? 'would be' : 'was';
    const what =
      rest === undefined ? `its manifest ${path} ${done} removed` : `its manifest ${done} cut out of ${path}`;
    const isOwn = basename(path) === fileNameOf(object) && isAsWritten(text);
    const outcome: RemoveOutcome = { kind: 'removed', ...(isOwn ? {} : { note: what }) };
    if (isDryRun) return outcome;
    if (rest !== undefined) await writeWhole(path, rest, { keepsOwner: true });
    else {
      await rm(path, { force: true });
      await syncPath(folder);
    }
    return outcome;
  }

  async #apply(
    given: AppliedObject,
    value: object,
    { isDryRun, mustBeNew }: ApplyModes,
  ): Promise<ApplyOutcome> {
    const { folder, nodeName, findForbidden } = this.#options;
    const written = toWrittenObject(value, nodeName);
    const reading = this.#read(JSON.stringify(written), `${given.kind}/${given.name}`);
    if (reading.problems.length > 0) return { kind: 'invalid', problems: reading.problems };
    const pod = reading.pods[0]?.pod;
    const forbidden = pod === undefined ? [] : findForbidden(pod);
    if (forbidden.length > 0) return { kind: 'forbidden', problems: forbidden };
    // A pod that this node shows is the same pod.
    const object = pod === undefined ? given : { ...given, name: pod.metadata.name };
    const name = await this.#chooseFile(object);
    const path = join(folder, name);
    const before = await readText(path);
    if (mustBeNew === true && before !== undefined && hasObject(this.#read(before, path), object))
      return { kind: 'exists' };
    const place = before === undefined ? undefined : this.#findPlace(before, object, path);
    if (place?.kind === 'in the way') return place;
    if (place === undefined) {
      const problems = reading.pods[0]?.findProblemsOfNew() ?? [];
      if (problems.length > 0) return { kind: 'invalid', problems };
    }
    if (place !== undefined && isSame(place.reading, reading))
      return { kind: 'applied', result: 'unchanged', reading: place.reading };
    const refused = refusalsOf(place?.reading, reading);
    if (refused.length > 0) return { kind: 'invalid', problems: refused };
    const outcome = {
      kind: 'applied',
      result: place === undefined ? 'created' : 'configured',
      reading,
    } as const;
    const isAlone = place?.document === undefined && place?.item === undefined;
    if (isDryRun === true && isAlone) return outcome;
    const changed = place && this.#change(before!, place, written, reading);
    if (changed === undefined && place?.item !== undefined) return othersIn(path);
    const next = changed ?? this.#rewrite(before, place, this.#toText(written, reading, name));
    if (!isAlone && !this.#isOnlyChange(before!, next, path, 'changed')) return othersIn(path);
    if (isDryRun !== true) await writeWhole(path, next, { keepsOwner: true });
    return outcome;
  }

  /** Where in a file an object is: the whole file, or one document of it. */
  #findPlace(text: string, object: AppliedObject, path: string): ObjectPlace | Obstacle {
    const reading = this.#read(text, path);
    const obstacle = findObstacle(reading, object, path);
    // A List with this one object, too.
    const isPlain = obstacle === undefined && itemsIn(text).length === 0;
    if (isPlain) return { kind: 'found', reading, document: undefined, item: undefined };
    if (obstacle !== undefined && (obstacle.holds !== 'others' || !hasObject(reading, object)))
      return obstacle;
    const documents = splitDocuments(text) ?? [];
    for (const document of documents) {
      const content = text.slice(document.start, document.end);
      const items = itemsIn(content);
      const parts = items.length === 0 ? [content] : items;
      for (const [at, each] of parts.entries()) {
        const part = this.#read(each, path);
        if (findObstacle(part, object, path) !== undefined) continue;
        return {
          ...{ kind: 'found', reading: part },
          document: documents.length === 1 ? undefined : document,
          item: items.length === 0 ? undefined : { at, count: items.length },
        };
      }
    }
    return obstacle ?? othersIn(path);
  }

  /** The text without an object that is not alone in it; null where that is not possible. */
  #cut(text: string, { document, item, reading }: ObjectPlace): string | undefined | null {
    if (item === undefined) return document && cutDocument(text, document);
    if (item.count === 1) return document && cutDocument(text, document);
    const { start, end } = document ?? { start: 0, end: text.length };
    const edit = { item: item.at, before: toShown(reading), after: undefined };
    const edited = editManifest(text.slice(start, end), edit);
    return edited === undefined ? null : `${text.slice(0, start)}${edited}${text.slice(end)}`;
  }

  /** The text with what is different in an object, if it then says what is meant. */
  #change(
    text: string,
    { document, item, reading }: ObjectPlace,
    written: object,
    meant: ManifestReading,
  ): string | undefined {
    const { start, end } = document ?? { start: 0, end: text.length };
    const edit = { item: item?.at, before: toShown(reading), after: written };
    const edited = editManifest(text.slice(start, end), edit);
    if (edited === undefined) return undefined;
    const read = this.#read(item === undefined ? edited : (itemsIn(edited)[item.at] ?? ''), '');
    if (read.problems.length > 0 || !isSame(read, meant)) return undefined;
    return `${text.slice(0, start)}${edited}${text.slice(end)}`;
  }

  #rewrite(before: string | undefined, place: ObjectPlace | undefined, content: string): string {
    return place?.document === undefined ? content : replaceDocument(before!, place.document, content);
  }

  /** Whether all other objects of the file are as before. */
  #isOnlyChange(before: string, after: string, path: string, what: 'changed' | 'removed'): boolean {
    const [one, other] = [before, after].map((text) => this.#read(text, path));
    const [texts, rest] = [textsOf(one!), textsOf(other!)];
    const missing = texts.filter((text) => !rest.includes(text)).length;
    const isComplete = rest.length === texts.length - (what === 'removed' ? 1 : 0);
    return other!.problems.length === 0 && isComplete && missing <= 1;
  }

  /**
   * Text that parses to what is meant, whatever its strings look like: `y` is true in YAML 1.1, and JSON is
   * YAML, too.
   */
  #toText(written: object, meant: ManifestReading, name: string): string {
    const json = toJson(written);
    if (name.endsWith('.json')) return json;
    const yaml = toYaml(written);
    const read = this.#read(yaml, name);
    return read.problems.length === 0 && isSame(read, meant) ? yaml : json;
  }

  #read(text: string, file: string): ManifestReading {
    return readManifests(text, { file, nodeName: this.#options.nodeName, mayEdit: true });
  }

  /** Prefers the file of this writer: the source may not have read the folder since it was written. */
  async #chooseFile(object: AppliedObject): Promise<string> {
    const { folder, findFile } = this.#options;
    const own = fileNameOf(object);
    const isThere = await stat(join(folder, own)).then(
      () => true,
      () => false,
    );
    return isThere ? own : basename(findFile(object) ?? own);
  }
}

/** `default_web.pod.yaml`: names have no underscores, so no two objects have the same file. */
function fileNameOf({ kind, namespace, name }: AppliedObject): string {
  const stem = `${namespace}_${name}`;
  const digest = createHash('sha256').update(stem).digest('hex').slice(0, 12);
  const short = stem.length <= MAX_STEM_LENGTH ? stem : `${stem.slice(0, MAX_STEM_LENGTH)}-${digest}`;
  return `${short}.${kind.toLowerCase()}.yaml`;
}

function toJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

function toYaml(value: unknown): string {
  return stringify(value, { schema: 'yaml-1.1' });
}

/** Whether a text is one object in the form in which the writer prints it, and so has nothing else in it. */
function isAsWritten(text: string): boolean {
  const [document, ...others] = parseYamlDocuments(text);
  if (document === undefined || others.length > 0 || document.problems.length > 0) return false;
  return text === toYaml(document.value) || text === toJson(document.value);
}

/** Where an object was found, and what is read there: that object. */
interface ObjectPlace {
  readonly kind: 'found';
  readonly reading: ManifestReading;
  /** Undefined for the whole file. */
  readonly document: ManifestDocument | undefined;
  /** Which of the items of a List it is, and how many there are; undefined where it is in none. */
  readonly item: { readonly at: number; readonly count: number } | undefined;
}

/** The items of a text that is one List, each as JSON; none for any other text. */
function itemsIn(text: string): string[] {
  const [document, ...others] = parseYamlDocuments(text);
  const list = document?.problems.length === 0 && others.length === 0 ? document.value : undefined;
  if (!isRecord(list) || !/List$/.test(String(list['kind'])) || !Array.isArray(list['items'])) return [];
  const { apiVersion, kind, items } = list;
  const own = String(kind).replace(/List$/, '');
  // Items of a list of one kind need not say it.
  const type = own === '' ? {} : { apiVersion, kind: own };
  return (items as unknown[]).map((item) => JSON.stringify(isRecord(item) ? { ...type, ...item } : item));
}

/** The object of a reading as the agent shows it. */
function toShown({ pods, objects }: ManifestReading): unknown {
  const [first] = pods;
  const shown = first === undefined ? withDefaults(objects[0]!.object) : applyPodDefaults(first.pod);
  const { metadata } = shown as Pod;
  return {
    ...(shown as object),
    metadata: { ...metadata, namespace: metadata.namespace ?? DEFAULT_NAMESPACE },
  };
}

function othersIn(file: string): Obstacle {
  return { kind: 'in the way', file, holds: 'others' };
}

/** Each object of a file as a text, by which it can be compared. */
function textsOf({ pods, objects }: ManifestReading): string[] {
  return [
    ...pods.map(({ pod }) => JSON.stringify(pod)),
    ...objects.map(({ object }) => JSON.stringify(toPlainObject(object))),
  ];
}

/** Undefined for a file with only this object. An unreadable file may contain anything. */
function findObstacle(reading: ManifestReading, object: AppliedObject, file: string): Obstacle | undefined {
  const { pods, objects, problems } = reading;
  if (problems.length > 0) return { kind: 'in the way', file, holds: 'errors' };
  const count = pods.length + objects.length;
  if (count === 0) return { kind: 'in the way', file, holds: 'nothing' };
  const isAlone = count === 1 && hasObject(reading, object);
  return isAlone ? undefined : othersIn(file);
}

function hasObject({ pods, objects }: ManifestReading, { kind, namespace, name }: AppliedObject): boolean {
  const all = [...pods.map(({ pod }) => pod), ...objects.map(({ object }) => object)];
  return all.some(
    ({ kind: foundKind, metadata }) =>
      foundKind === kind && metadata.name === name && (metadata.namespace ?? DEFAULT_NAMESPACE) === namespace,
  );
}

/** The source would keep the previous version silently; the author has to know at once. */
function refusalsOf(known: ManifestReading | undefined, next: ManifestReading): readonly ManifestProblem[] {
  const before = known?.objects.map(toSourceObject) ?? [];
  return keepObjects(before, next.objects.map(toSourceObject), false).problems;
}

function isSame(one: ManifestReading, other: ManifestReading): boolean {
  const [pod, next] = [one.pods[0]?.pod, other.pods[0]?.pod];
  if (pod !== undefined && next !== undefined) {
    // What an agent shows includes defaults.
    return (
      hashPod(pod) === hashPod(next) || hashPod(applyPodDefaults(pod)) === hashPod(applyPodDefaults(next))
    );
  }
  const [object, nextObject] = [one.objects[0]?.object, other.objects[0]?.object];
  if (object === undefined || nextObject === undefined) return false;
  return isDeepStrictEqual(withDefaults(object), withDefaults(nextObject));
}

/** As an agent shows it. */
function withDefaults(object: WrittenObject): unknown {
  return toPlainObject(isConfigObject(object) ? object : applyWorkloadDefaults(object));
}

/** Undefined for a missing file. A file that is no manifest by its size or type has other contents. */
async function readText(path: string): Promise<string | undefined> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const facts = await file.stat();
    if (!facts.isFile() || facts.size > LARGEST_MANIFEST_BYTES) return '';
    return await file.readFile('utf8');
  } catch (error) {
    if (systemCodeOf(error) === 'ENOENT') return undefined;
    throw error;
  }
}
