import { createHash } from 'node:crypto';
import { readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { type Pod } from '#kube/pod/pod.js';
import { messageOf } from '#base/errors/errors.js';
import { SliceYielder } from '#base/async/slices.js';
import { formatRecord, parseRecord, type RecordForm } from '#base/fs/record-form.js';
import { syncPath, writeWhole } from '#base/fs/whole-file.js';
import { type ManifestPlace } from '../manifests/manifest-problem.js';
import { restoreSourceObject, type SourceObject } from '../manifests/source-object.js';
import { type SourcePod, toSourcePod } from '../manifests/source-pod.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** The location and the owner of a {@link LastGoodStore}. */
export interface LastGoodStoreOptions {
  /** A folder of the agent's own; created when it is missing. */
  readonly folder: string;
  /** `file`, `http`. */
  readonly source: string;
  readonly nodeName: string;
}

/** The last good version of one file or URL. */
export interface LastGood {
  /** Folder or URL that it came from. */
  readonly origin: string;
  /** Name of the file in it; empty for a URL. */
  readonly name: string;
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  /** Names of its pods and objects that another file has; those of objects begin with the kind. */
  readonly refused?: readonly string[] | undefined;
  /** SHA-256 of the file without problems that has exactly these contents; undefined when unknown. */
  readonly digest?: string | undefined;
}

/** The result of {@link LastGoodStore.load}. */
export interface KeptVersions {
  /** Of all origins. */
  readonly versions: readonly LastGood[];
  /** Whether there may have been a version of that file that is now unreadable. */
  readonly isLost: (origin: string, name: string) => boolean;
  /** The problems of the store, in words. */
  readonly faults: readonly string[];
}

/** More do not help: the disk serializes them. */
const FILES_AT_ONCE = 8;
/** Some milliseconds. */
const PODS_PER_SLICE = 10;

/** The first line of a record. */
interface Header {
  readonly origin: string;
  readonly name: string;
  /** How many lines follow, each a place, a tab, and the pod as written. */
  readonly pods: number;
  /** How many lines follow those, each a place, a tab, and a ConfigMap or Secret (default: none). */
  readonly objects?: number;
  /** {@link LastGood.digest} */
  readonly digest?: string;
  /** {@link LastGood.refused} (default: none). */
  readonly refused?: readonly string[];
}

const HEADER: RecordForm<Header> = { parse: (content) => content as unknown as Header };
const TAB = '\t';
const ENDING = '.jsonl';

/**
 * Stores the last good version of each manifest on disk, so that a file that is broken at the agent's start
 * ends no pod.
 *
 * One record per file, written as a whole and readable only for the agent; each line of it is JSON. Pods are
 * stored as written: a newer podloop adds its own defaults, and never refuses what ran before. ConfigMaps and
 * Secrets are stored beside them, as running pods use them.
 */
export class LastGoodStore {
  readonly #options: LastGoodStoreOptions;

  constructor(options: LastGoodStoreOptions) {
    this.#options = options;
  }

  /** Reads everything stored. Never throws. */
  async load(): Promise<KeptVersions> {
    const { folder, source } = this.#options;
    const faults: string[] = [];
    const damaged = new Set<string>();
    const versions: LastGood[] = [];
    const slices = new SliceYielder({ itemsPerSlice: PODS_PER_SLICE });
    let names: string[];
    try {
      await makeFolder(folder, 0o700);
      names = await readdir(folder);
    } catch (error) {
      const fault = `last good versions cannot be read: ${messageOf(error)}`;
      return { versions, faults: [fault], isLost: () => true };
    }
    const queue = names.filter((each) => each.startsWith(`${source}-`));
    const read = async (): Promise<void> => {
      for (let name = queue.shift(); name !== undefined; name = queue.shift()) {
        const path = join(folder, name);
        try {
          if (name.endsWith(ENDING)) {
            versions.push(await this.#decode(await readFile(path, 'utf8'), name, slices));
          }
          // The power failed during the write; the complete one is beside it.
          else if (name.endsWith('.tmp')) await rm(path, { force: true });
        } catch (error) {
          damaged.add(name);
          faults.push(`the last good version in ${name} cannot be read: ${whyOf(error)}`);
        }
      }
    };
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, read));
    faults.sort();
    return { versions, faults, isLost: (origin, name) => damaged.has(this.#recordName(origin, name)) };
  }

  /** Writes versions, each as a whole; returns errors by the name of the file. Never throws. */
  async save(versions: readonly LastGood[]): Promise<ReadonlyMap<string, string>> {
    const faults = new Map<string, string>();
    const queue = [...versions];
    const write = async (): Promise<void> => {
      for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
        try {
          const path = join(this.#options.folder, this.#recordName(next.origin, next.name));
          await writeWhole(path, encode(next), { syncsFolder: false });
        } catch (error) {
          faults.set(next.name, messageOf(error));
        }
      }
    };
    await Promise.all(Array.from({ length: FILES_AT_ONCE }, write));
    // Once for all of them: hundreds may come together, and none of them starts before this.
    const failure = await syncPath(this.#options.folder).then(() => undefined, messageOf);
    if (failure !== undefined) for (const { name } of versions) faults.set(name, faults.get(name) ?? failure);
    return faults;
  }

  /**
   * Removes every record of the source except those of these files. Never throws: leftovers are removed the
   * next time.
   */
  async prune(origin: string, names: readonly string[]): Promise<void> {
    const { folder, source } = this.#options;
    const wanted = new Set(names.map((name) => this.#recordName(origin, name)));
    try {
      const found = await readdir(folder);
      const old = found.filter(
        (name) => name.startsWith(`${source}-`) && name.endsWith(ENDING) && !wanted.has(name),
      );
      for (const name of old) await rm(join(folder, name), { force: true });
      if (old.length > 0) await syncPath(folder);
    } catch {
      // A superfluous record does no harm: its file is missing, so it does not count.
    }
  }

  #recordName(origin: string, name: string): string {
    const digest = createHash('sha256')
      .update(JSON.stringify([origin, name]))
      .digest('hex');
    return `${this.#options.source}-${digest.slice(0, 32)}${ENDING}`;
  }

  async #decode(text: string, recordName: string, slices: SliceYielder): Promise<LastGood> {
    const [first = '', ...lines] = text.trimEnd().split('\n');
    const header = parseRecord(HEADER, first);
    const { origin, name } = header;
    if (this.#recordName(origin, name) !== recordName) throw new Error('it is of another file');
    if (lines.length !== header.pods + (header.objects ?? 0)) throw new Error('it is cut short');
    const { source, nodeName } = this.#options;
    const pods: SourcePod[] = [];
    const objects: SourceObject[] = [];
    for (const [index, line] of lines.entries()) {
      const tab = line.indexOf(TAB);
      const place = JSON.parse(line.slice(0, tab)) as ManifestPlace;
      const written = line.slice(tab + 1);
      if (index < header.pods) {
        pods.push(toSourcePod({ pod: JSON.parse(written) as Pod, place }, { source, nodeName }));
      } else objects.push(restoreSourceObject(written, place));
      if (slices.isFull()) await slices.nextSlice();
    }
    return { origin, name, pods, objects, digest: header.digest, refused: header.refused };
  }
}

/** JSON.parse's message quotes the text, which may be that of a Secret. */
function whyOf(error: unknown): string {
  return error instanceof SyntaxError ? 'it is damaged' : messageOf(error);
}

function encode({ origin, name, pods, objects, digest, refused = [] }: LastGood): string {
  const some = objects.length === 0 ? {} : { objects: objects.length };
  const known = digest === undefined ? {} : { digest };
  const others = refused.length === 0 ? {} : { refused };
  const header: Header = { origin, name, pods: pods.length, ...some, ...known, ...others };
  const lines = [...pods, ...objects].map(({ place, written }) => `${JSON.stringify(place)}${TAB}${written}`);
  return [formatRecord(HEADER, header), ...lines.map((line) => `${line}\n`)].join('');
}
