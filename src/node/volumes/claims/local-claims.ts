/**
 * Volumes of this node that are claimed by name, without a control plane.
 *
 * In: claims, as manifests declare them or as pods name them. Out: a folder for each, which outlives pods and
 * agents until somebody removes it. A claim that no manifest declares gets one, too, when a pod first needs it.
 *
 * ```
 * ROOT/claims/<namespace>_<name>.json    whose folder it is, and since when
 * ROOT/claims/<namespace>_<name>/        what pods see
 * ```
 *
 * Neither namespaces nor names have underscores. The size that was asked for is enforced where the file system can do that.
 *
 * @module
 */
import { createHash, randomUUID } from 'node:crypto';
import { chmod, mkdir, rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { KeyedMutex } from '#base/async/keyed-mutex.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { makeFolder } from '#base/fs/make-folder.js';
import { namesIn } from '#base/fs/names-in.js';
import { RecordFolder } from '#base/fs/record-folder.js';
import { removeTree } from '#base/fs/remove-tree.js';
import { syncPath } from '#base/fs/whole-file.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { getQuantity, toWholeUnits } from '#kube/fields/quantity.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { type ClaimSpec } from '#kube/workloads/workload.js';
import { type ProjectQuotas } from './project-quotas.js';
import { type ClaimedPlace, type VolumeClaimSource } from '../claimed-volumes.js';

/** Identifies a claim. */
export interface ClaimName {
  readonly namespace: string;
  readonly name: string;
}

/** A claim with a folder of this node. */
export interface LocalClaim extends ClaimName {
  readonly uid: string;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  readonly accessModes: readonly string[];
  /** The size that was asked for, as a quantity; undefined for one that no manifest declares. */
  readonly request?: string;
}

/** What became of the removal of a claim. */
export type ClaimRemoval = 'removed' | 'in use' | 'not found';

/** What {@link LocalClaims} needs. */
export interface LocalClaimsOptions {
  readonly folder: string;
  /** Whether a pod has the folder at that path among its volumes. */
  readonly isUsed: (path: string) => Promise<boolean>;
  readonly sizes: Pick<ProjectQuotas, 'limit' | 'lift'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/** Only the agent enters it. */
const FOLDER_MODE = 0o700;
/** Containers run as any user, and a claim without fsGroup is for whichever it is. */
const VOLUME_MODE = 0o777;
const DEFAULT_MODES = ['ReadWriteOnce'];
const MAX_STEM_LENGTH = 200;
const NOT_TRIED = 'no pod has needed it since the agent has started';
/** A folder that is being removed; no claim begins with a dot. */
const REMOVED = '.removed-';

/** See the module. */
export class LocalClaims implements VolumeClaimSource {
  readonly #options: LocalClaimsOptions;
  readonly #records: RecordFolder<LocalClaim>;
  readonly #byKey: Map<string, LocalClaim>;
  /** What manifests say of claims, by key. */
  readonly #declared = new Map<string, ClaimSpec>();
  /** Of claims that ask for a size, by key: the size, and why it is not enforced. */
  readonly #sizes = new Map<string, { readonly request: string; readonly whyNot: string | undefined }>();
  readonly #turns = new KeyedMutex();

  private constructor(
    options: LocalClaimsOptions,
    records: RecordFolder<LocalClaim>,
    known: Map<string, LocalClaim>,
  ) {
    this.#options = options;
    this.#records = records;
    this.#byKey = known;
  }

  /** Reads what earlier agents have made. Rejects if that cannot be read. */
  static async open(options: LocalClaimsOptions): Promise<LocalClaims> {
    const { folder, logger } = options;
    const records = new RecordFolder<LocalClaim>({ folder, parse });
    const { values, unreadable } = await records.load();
    for (const { path, error } of unreadable) {
      logger.error('Record of a claim cannot be read, its volume stays as it is', error, { path });
    }
    const claims = new LocalClaims(options, records, values);
    for (const name of await namesIn(folder)) {
      if (name.startsWith(REMOVED)) claims.#discard(join(folder, name));
    }
    return claims;
  }

  /** All of them, by namespace and name. */
  list(): LocalClaim[] {
    return [...this.#byKey.keys()].sort().map((key) => this.#byKey.get(key)!);
  }

  /** Undefined while it has no folder. */
  find(claim: ClaimName): LocalClaim | undefined {
    return this.#byKey.get(keyOf(claim));
  }

  /** Why the size that a claim asks for is not enforced; undefined where it is, or none was asked for. */
  whyNotEnforced(claim: ClaimName): string | undefined {
    const key = keyOf(claim);
    const tried = this.#sizes.get(key);
    if (tried !== undefined) return tried.whyNot;
    return this.#byKey.get(key)?.request === undefined ? undefined : NOT_TRIED;
  }

  /** The folder of a claim. */
  pathOf(claim: ClaimName): string {
    return join(this.#options.folder, keyOf(claim));
  }

  /** Makes the volume of a claim, or takes note of another size. Rejects with the system's error. */
  async declare(claim: ClaimName, spec: ClaimSpec): Promise<void> {
    this.#declared.set(keyOf(claim), spec);
    await this.#ensure(claim);
  }

  async getClaimed(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<ClaimedPlace> {
    const { namespace } = pod.metadata;
    const name = volume.persistentVolumeClaim?.claimName ?? '';
    signal.throwIfAborted();
    const { uid } = await this.#ensure({ namespace, name });
    return { name: volumeNameOf(uid), kind: 'local', path: this.pathOf({ namespace, name }), type: '' };
  }

  /**
   * Removes the volume of a claim with all that is in it, unless a pod has it. `isForGood`: what was declared of the
   * claim no longer counts.
   */
  async remove(claim: ClaimName, isForGood = false): Promise<ClaimRemoval> {
    const key = keyOf(claim);
    return this.#turns.run(key, async () => {
      const known = this.#byKey.get(key);
      if (known === undefined) return 'not found';
      const path = this.pathOf(claim);
      if (await this.#options.isUsed(path)) return 'in use';
      const aside = join(this.#options.folder, `${REMOVED}${known.uid}`);
      // Under another name first: an agent that is killed here leaves no half of a volume under its own.
      await rename(path, aside).catch(ignoreMissing);
      await this.#records.fileOf(key).remove();
      await syncPath(this.#options.folder);
      this.#byKey.delete(key);
      this.#sizes.delete(key);
      if (isForGood) this.#declared.delete(key);
      this.#discard(aside);
      return 'removed';
    });
  }

  async #ensure(claim: ClaimName): Promise<LocalClaim> {
    const key = keyOf(claim);
    return this.#turns.run(key, async () => {
      const { folder, clock, logger } = this.#options;
      const known = this.#byKey.get(key);
      const spec = this.#declared.get(key);
      const request = spec?.resources?.requests?.['storage'] ?? known?.request;
      const wanted: LocalClaim = {
        ...{ namespace: claim.namespace, name: claim.name, uid: known?.uid ?? randomUUID() },
        createdAtMs: known?.createdAtMs ?? clock.now(),
        accessModes: spec?.accessModes ?? known?.accessModes ?? DEFAULT_MODES,
        ...(request === undefined ? {} : { request }),
      };
      if (known === undefined || JSON.stringify(known) !== JSON.stringify(wanted)) {
        await makeFolder(folder, FOLDER_MODE);
        await this.#records.fileOf(key).write(wanted);
        this.#byKey.set(key, wanted);
      }
      await makeVolume(this.pathOf(claim));
      if (known === undefined) logger.info('Made the volume of a claim', { claim: wanted });
      if (request !== undefined) await this.#limit(wanted, request);
      return wanted;
    });
  }

  /** Enforces the size of a claim, once for an agent unless that fails. */
  async #limit(claim: LocalClaim, request: string): Promise<void> {
    const { sizes, logger } = this.#options;
    const key = keyOf(claim);
    const before = this.#sizes.get(key);
    if (before?.request === request && before.whyNot === undefined) return;
    const bytes = toWholeUnits(getQuantity(request));
    const whyNot = await sizes.limit(this.pathOf(claim), { uid: claim.uid, bytes });
    this.#sizes.set(key, { request, whyNot });
    if (whyNot !== undefined && before === undefined)
      logger.info('The size of a volume is not enforced', { claim, err: whyNot });
  }

  #discard(folder: string): void {
    const { sizes, logger } = this.#options;
    const uid = basename(folder).slice(REMOVED.length);
    removeTree(folder)
      .then(() => sizes.lift(dirname(folder), uid))
      .catch((error: unknown) => {
        logger.error('Removed volume is still on the disk', error, { path: folder });
      });
  }
}

/** The name of the volume behind a claim, as Kubernetes' provisioners name it. */
export function volumeNameOf(uid: string): string {
  return `pvc-${uid}`;
}

function keyOf({ namespace, name }: ClaimName): string {
  const stem = `${namespace}_${name}`;
  if (stem.length <= MAX_STEM_LENGTH) return stem;
  const digest = createHash('sha256').update(stem).digest('hex').slice(0, 16);
  return `${stem.slice(0, MAX_STEM_LENGTH)}-${digest}`;
}

async function makeVolume(path: string): Promise<void> {
  try {
    await mkdir(path);
    // Whatever the umask is.
    await chmod(path, VOLUME_MODE);
  } catch (error) {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  }
}

function ignoreMissing(error: unknown): void {
  if (systemCodeOf(error) !== 'ENOENT') throw error;
}

function parse(content: Readonly<Record<string, unknown>>): LocalClaim {
  const { namespace, name, uid, createdAtMs, accessModes, request = '' } = content;
  const isFine =
    [namespace, name, uid, request].every((each) => typeof each === 'string') &&
    typeof createdAtMs === 'number' &&
    Array.isArray(accessModes);
  if (!isFine) throw new Error('it is not what was written');
  return content as unknown as LocalClaim;
}
