/**
 * Which ids of the node the users and groups of a pod have that has a user namespace (`hostUsers: false`).
 *
 * In: pods that start. Out: one range for each, which overlaps with no other: id 0 in the pod is the first
 * id of the range on the node. A range is on disk before anything starts with it, in the pod's own folder,
 * and belongs to the pod as long as that folder exists.
 *
 * The file has the name and the form of the kubelet's, so that either finds what the other has given away.
 * It assumes that nobody else writes below the folder of pods. Another agent on the machine has ranges of its
 * own: those with which a sandbox runs in the same runtime are passed over, and the next one is chosen at
 * random, as a kubelet does.
 *
 * Source: https://kep.k8s.io/127
 *
 * @module
 */
import { randomInt } from 'node:crypto';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { KeyedMutex } from '#base/async/keyed-mutex.js';
import { messageOf } from '#base/errors/errors.js';
import { namesIn } from '#base/fs/names-in.js';
import { RecordFile } from '#base/fs/record-file.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type IdRange, type PodPaths } from '#watch';
import { type NodeIds } from './node-ids.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** Options of {@link PodIdRanges}. */
export interface PodIdRangesOptions {
  readonly paths: Pick<PodPaths, 'podsDir' | 'podDir' | 'idRangeFile'>;
  /** How many ids a pod gets: a multiple of 65536. */
  readonly idsPerPod: number;
  /** The ids that may be given away; asked once, when the first pod needs a range. */
  readonly readNodeIds: () => Promise<NodeIds>;
  /** The ranges with which sandboxes run in the runtime, those of other agents included (default: none). */
  readonly findPresent?: () => Iterable<IdRange>;
  /** A random whole number below the given one (default: a secure one). */
  readonly random?: (below: number) => number;
  readonly logger?: Logger;
}

const READS_AT_ONCE = 16;
const LOST =
  'user namespace: the file with the ids of the pod is lost, and the runtime does not report those of its sandbox; "podloop restart" gives it new ones';

/** See the module. */
export class PodIdRanges {
  readonly name = 'id ranges of pods';
  readonly #options: PodIdRangesOptions;
  readonly #logger: Logger;
  readonly #byUid: Map<string, IdRange>;
  /** Reads and writes of each pod. */
  readonly #turns = new KeyedMutex();
  #nodeIds: NodeIds | undefined;

  private constructor(options: PodIdRangesOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#byUid = new Map();
  }

  /**
   * Reads what earlier agents gave away. An unreadable file is logged and stays: its pod starts nothing then.
   *
   * Rejects when the folder of pods exists and cannot be read.
   */
  static async open(options: PodIdRangesOptions): Promise<PodIdRanges> {
    const ranges = new PodIdRanges(options);
    const names = await namesIn(options.paths.podsDir);
    // A name with a leading dot is being removed.
    const uids = names.filter((name) => !name.startsWith('.'));
    await forEachAtOnce(uids, READS_AT_ONCE, async (uid) => {
      await ranges.#readKnown(uid).catch((error: unknown) => {
        if (systemCodeOf(error) === 'ENOTDIR') return;
        const path = options.paths.idRangeFile(uid);
        ranges.#logger.error('Ids of a pod cannot be read', error, { podUID: uid, path });
      });
    });
    return ranges;
  }

  /**
   * The range of a pod: the one that it has, or a new one, which is on disk when this resolves.
   *
   * `present`: what the runtime reports of the pod's running sandbox, which counts where there is no file; undefined
   * where there is no sandbox. Rejects in the kubelet's words when there is none, and where only an unknown sandbox has
   * one: a new range would be written for good, and no container with it can join that sandbox.
   */
  async take(uid: string, present?: IdRange | 'unknown'): Promise<IdRange> {
    return await this.#turns.run(uid, async () => {
      const known = await this.#readKnown(uid).catch((error: unknown) => {
        throw new Error(`user namespace: ${messageOf(error)}`, { cause: error });
      });
      if (known !== undefined) return known;
      // Its folder may have been removed and made again.
      const hadBefore = this.#byUid.get(uid);
      if (hadBefore === undefined && present === 'unknown') throw new Error(LOST);
      const reported = present === 'unknown' ? undefined : present;
      try {
        const range = hadBefore ?? reported ?? this.#choose(await this.#readNodeIds());
        this.#reserve(uid, range);
        await this.#write(uid, range);
        return range;
      } catch (error) {
        if (hadBefore === undefined) this.#byUid.delete(uid);
        throw new Error(`create user namespace: ${messageOf(error)}`, { cause: error });
      }
    });
  }

  /** Gives back the ranges of pods that nobody wants and whose folder is gone. */
  async cleanUp(view: { mayRemove(podUid: string): boolean }): Promise<void> {
    for (const uid of [...this.#byUid.keys()]) {
      if (!view.mayRemove(uid)) continue;
      await this.#turns.run(uid, async () => {
        const isThere = await fileOf(this.#options, uid)
          .read()
          .then((range) => range !== undefined)
          // Whatever is there still belongs to the pod.
          .catch(() => true);
        if (!isThere && view.mayRemove(uid)) this.#byUid.delete(uid);
      });
    }
  }

  async #readKnown(uid: string): Promise<IdRange | undefined> {
    const range = await fileOf(this.#options, uid).read();
    if (range !== undefined) this.#reserve(uid, range);
    return range;
  }

  async #readNodeIds(): Promise<NodeIds> {
    const { idsPerPod, readNodeIds } = this.#options;
    if (this.#nodeIds !== undefined) return this.#nodeIds;
    const ids = await readNodeIds();
    const { first } = ids;
    if (first % idsPerPod !== 0) {
      throw new Error(`kubelet user assigned ID ${first} is not a multiple of ${idsPerPod}`);
    }
    if (first < idsPerPod) {
      // The node's own users would be in it.
      throw new Error(`kubelet user assigned ID ${first} must be greater or equal to ${idsPerPod}`);
    }
    this.#nodeIds = ids;
    return ids;
  }

  #choose({ first, count }: NodeIds): IdRange {
    const { idsPerPod: length, random = randomInt, findPresent = () => [] } = this.#options;
    const present = [...findPresent()];
    const places = Math.floor(count / length);
    const start = places === 0 ? 0 : random(places);
    for (let step = 0; step < places; step++) {
      const range = { hostId: first + ((start + step) % places) * length, length };
      const isFree = this.#findOwner(range) === undefined && !present.some((each) => overlaps(each, range));
      if (isFree) return range;
    }
    throw new Error('could not find an empty slot to allocate a user namespace');
  }

  #reserve(uid: string, range: IdRange): void {
    const owner = this.#findOwner(range);
    if (owner !== undefined && owner !== uid) {
      throw new Error(`range picked for pod "${uid}" already taken by pod "${owner}"`);
    }
    this.#byUid.set(uid, range);
  }

  #findOwner(range: IdRange): string | undefined {
    for (const [uid, taken] of this.#byUid) if (overlaps(taken, range)) return uid;
    return undefined;
  }

  async #write(uid: string, range: IdRange): Promise<void> {
    await makeFolder(this.#options.paths.podDir(uid), 0o750);
    await fileOf(this.#options, uid).write(range);
  }
}

function overlaps(one: IdRange, other: IdRange): boolean {
  return one.hostId < other.hostId + other.length && other.hostId < one.hostId + one.length;
}

function fileOf({ paths }: Pick<PodIdRangesOptions, 'paths'>, uid: string): RecordFile<IdRange> {
  return new RecordFile({
    path: paths.idRangeFile(uid),
    format: ({ hostId, length }) => {
      const mappings = [{ hostId, containerId: 0, length }];
      return { uidMappings: mappings, gidMappings: mappings };
    },
    parse: ({ uidMappings, gidMappings }) => {
      const range = toRange(uidMappings);
      const ofGroups = toRange(gidMappings);
      if (range.hostId !== ofGroups.hostId || range.length !== ofGroups.length) {
        throw new Error('invalid user namespace configuration: GID and UID mapping should be identical');
      }
      return range;
    },
  });
}

/** Throws for anything but one range that begins with the pod's root and that the kernel would map. */
function toRange(mappings: unknown): IdRange {
  const list: readonly unknown[] = Array.isArray(mappings) ? mappings : [];
  const [only] = list as readonly Partial<Record<'hostId' | 'containerId' | 'length', unknown>>[];
  if (only === undefined || list.length !== 1) {
    throw new Error('invalid user namespace configuration: no more than one mapping allowed.');
  }
  const { hostId, containerId, length } = only;
  if (containerId !== 0) throw new Error('invalid user namespace configuration: UID 0 must be mapped');
  if (!isId(hostId) || !isId(length) || length === 0 || hostId + length >= 2 ** 32) {
    throw new Error('invalid user namespace configuration: it is not what was written');
  }
  // Its root would be a user of the node.
  if (hostId === 0) throw new Error('invalid user namespace configuration: host ID 0 must not be mapped');
  return { hostId, length };
}

function isId(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
