/**
 * The kinds of volumes whose files the agent writes: configMap, secret, downwardAPI, projected.
 *
 * In: a pod, and the present objects that it refers to. Out: a folder with exactly that. It assumes a call at
 * every sync of the pod, which comes once a minute and whenever such an object has changed.
 *
 * Secrets, and volumes that may contain some, are in memory if the agent may mount; otherwise they are below
 * a folder that only the agent can enter.
 *
 * Source: https://kubernetes.io/docs/concepts/storage/projected-volumes/
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type Stats } from 'node:fs';
import { chmod, lchown, lstat, mkdir } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type DownwardFieldFacts } from '#kube/objects/downward-field.js';
import { type DownwardResourceFacts } from '#kube/objects/downward-resource.js';
import { type PodObjects } from '#kube/objects/config-object.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ServiceAccountTokenProjection, type Volume } from '#kube/pod/volume.js';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Mounter } from '../mounter.js';
import { type PodVolume, type VolumeKind, type VolumeKinds } from '../volume-kind.js';
import { AtomicWriter, DEFINITION_DIGITS } from './atomic-writer.js';
import { findFacts } from './content-file-system.js';
import {
  collectConfigMap,
  collectDownward,
  collectProjected,
  collectSecret,
  type FileFacts,
} from './collect-files.js';
import { type ContentPayload } from './content-payload.js';
import { VerifiedVolumes } from './verified-volumes.js';

/** Options of content volumes. */
export interface ContentVolumesOptions {
  readonly objects: PodObjects;
  /** The downward API's facts about a pod and the node; read for each volume. */
  readonly downwardFacts: (pod: NodePod) => DownwardFieldFacts & DownwardResourceFacts;
  readonly mounter: Pick<Mounter, 'mountTmpfs'>;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger?: Logger;
  /** For pods of an API server (default: there are no tokens). */
  readonly tokens?: ServiceAccountTokenSource;
}

/** Issues tokens of service accounts. */
export interface ServiceAccountTokenSource {
  /** A valid token, bound to the pod. Rejects in the kubelet's words when it is not available. */
  getToken(
    pod: NodePod,
    spec: Pick<ServiceAccountTokenProjection, 'audience' | 'expirationSeconds'>,
  ): Promise<string>;
}

interface ContentKind {
  readonly folderName: string;
  /** Whether it may contain secrets. */
  readonly isSecret: boolean;
  readonly collect: (volume: Volume, facts: FileFacts) => ContentPayload;
}

const CONTENT_KINDS = {
  configMap: {
    folderName: 'kubernetes.io~configmap',
    isSecret: false,
    collect: ({ configMap }, facts) => collectConfigMap(configMap!, facts),
  },
  secret: {
    folderName: 'kubernetes.io~secret',
    isSecret: true,
    collect: ({ secret }, facts) => collectSecret(secret!, facts),
  },
  downwardAPI: {
    folderName: 'kubernetes.io~downward-api',
    isSecret: false,
    collect: ({ downwardAPI }, facts) => collectDownward(downwardAPI!.items, downwardAPI!.defaultMode, facts),
  },
  projected: {
    folderName: 'kubernetes.io~projected',
    // Regardless of its present contents: an edit may add a Secret to an existing volume.
    isSecret: true,
    collect: ({ projected }, facts) => collectProjected(projected!, facts),
  },
} as const satisfies VolumeKindsOfContent;

type VolumeKindsOfContent = Readonly<Record<string, ContentKind>>;

/**
 * Like a kubelet's: any user of a container may list the folder; the modes of the files decide what may be
 * read.
 */
const FOLDER_MODE = 0o777;
/** The mode of a tmpfs, as kubelets leave it. */
const TMPFS_MODE = 0o1777;
const SETGID = 0o2000;

/** mount(8)'s messages when the kernel does not allow mounting. */
const MAY_NOT_MOUNT = /must be superuser|permission denied|not permitted/i;

/** All kinds of content volumes, by the field that names them. */
export function contentVolumeKinds(options: ContentVolumesOptions): VolumeKinds {
  const verified = new VerifiedVolumes(options);
  const entries = Object.entries(CONTENT_KINDS).map(([source, kind]) => [
    source,
    new ContentVolume(kind, options, verified),
  ]);
  return Object.fromEntries(entries) as VolumeKinds;
}

class ContentVolume implements VolumeKind {
  readonly isReadOnly = true;
  readonly #kind: ContentKind;
  readonly #options: ContentVolumesOptions;
  readonly #verified: VerifiedVolumes;
  readonly #logger: Logger;

  constructor(kind: ContentKind, options: ContentVolumesOptions, verified: VerifiedVolumes) {
    this.#kind = kind;
    this.#verified = verified;
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  get folderName(): string {
    return this.#kind.folderName;
  }

  async setUp(work: PodVolume, signal: AbortSignal): Promise<void> {
    const { objects, downwardFacts } = this.#options;
    const { pod, volume } = work;
    // First, so that nothing is created if there is nothing to write.
    const tokens = await abortable(this.#getTokens(work), signal);
    const payload = this.#kind.collect(volume, { pod, objects, downward: downwardFacts(pod), tokens });
    const writer = this.#writerOf(work);
    await this.#makeFolder(work, writer, signal);
    signal.throwIfAborted();
    await writer.write(payload);
  }

  async isReady(work: PodVolume): Promise<boolean> {
    // An edit may have turned it into another volume, under the same name.
    return (await this.#writerOf(work).findDefinition()) === definitionOf(work.volume);
  }

  hostPathOf({ folder }: PodVolume): string {
    return folder;
  }

  async #getTokens({ pod, volume }: PodVolume): Promise<ReadonlyMap<ServiceAccountTokenProjection, string>> {
    const { tokens } = this.#options;
    const wanted = (volume.projected?.sources ?? []).flatMap(
      ({ serviceAccountToken }) => serviceAccountToken ?? [],
    );
    if (tokens === undefined) return new Map();
    const given = wanted.map(
      async (projection) => [projection, await tokens.getToken(pod, projection)] as const,
    );
    return new Map(await Promise.all(given));
  }

  async #makeFolder({ pod, folder }: PodVolume, writer: AtomicWriter, signal: AbortSignal): Promise<void> {
    const group = pod.spec.securityContext?.fsGroup;
    const before = (await findFacts({ lstat }, folder)) ?? (await makeNew(folder));
    const isMemory = this.#kind.isSecret && (await this.#keepSecret({ folder, before, writer, signal }));
    const mode = isMemory ? TMPFS_MODE : FOLDER_MODE;
    const wanted = group === undefined ? mode : mode | SETGID;
    const facts = await lstat(folder);
    if (!facts.isDirectory()) throw new Error(`${folder} is not a directory`);
    if (facts.gid !== (group ?? process.getegid!())) {
      await lchown(folder, process.geteuid!(), group ?? process.getegid!());
    } else if ((facts.mode & 0o7777) === wanted) return;
    // After the change of the group, which removes bits.
    await chmod(folder, wanted);
  }

  /** Protects a secret volume from others, in memory if possible; true when it is in memory. */
  async #keepSecret(given: {
    readonly folder: string;
    readonly before: Stats;
    readonly writer: AtomicWriter;
    readonly signal: AbortSignal;
  }): Promise<boolean> {
    const { folder, before, writer, signal } = given;
    const above = await lstat(dirname(folder));
    // Whoever may enter the folder above may read a file that everybody in a container may read.
    if ((above.mode & 0o7777) !== 0o700) await chmod(dirname(folder), 0o700);
    // A mount point.
    if (before.dev !== above.dev) return true;
    // Containers see the files of an agent that could not mount; they would never see a mount on top of them.
    if ((await writer.findDefinition()) !== undefined) return false;
    try {
      await this.#options.mounter.mountTmpfs({ folder, mode: TMPFS_MODE }, signal);
      return true;
    } catch (error) {
      if (!MAY_NOT_MOUNT.test(messageOf(error))) throw error;
      const why = { volume: folder, error: messageOf(error) };
      this.#logger.warn(
        'Secrets are written to the disk, where only this user can read them: nothing can be mounted',
        why,
      );
      return false;
    }
  }

  #writerOf({ pod, volume, folder }: PodVolume): AtomicWriter {
    const group = pod.spec.securityContext?.fsGroup;
    const { clock } = this.#options;
    return new AtomicWriter({
      ...{ folder, group, clock, verified: this.#verified },
      definition: definitionOf(volume),
    });
  }
}

/**
 * A number for the volume's definition: it changes with an edit that gives other files from the same objects.
 */
function definitionOf(volume: Volume): string {
  const hash = createHash('sha256').update(JSON.stringify(volume)).digest('hex');
  return String(Number.parseInt(hash.slice(0, 12), 16)).padStart(DEFINITION_DIGITS, '0');
}

async function makeNew(folder: string): Promise<Stats> {
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (systemCodeOf(error) !== 'EEXIST') throw error;
  });
  return await lstat(folder);
}
