/**
 * The images of the embedded runtime: found in image folders, unpacked, recorded.
 *
 * In: OCI image layouts in `--image-dir`, as folders or tars. Out: what CRI's ImageService shows, and a root folder for
 * each container.
 *
 * ```
 * image-finder ─► image-layout ─► image-resolver ─► chain-store ─► container-roots
 *  which files     its entries     manifest, config   the layers,     what each
 *  are layouts     and blobs       platform, digests  unpacked once   container writes
 *                                        │
 *                                        └─► image-records: which are pulled, under which names
 * ```
 *
 * A pull finds an image in an image folder, as elsewhere it is found in a registry: until it is pulled it is not in the
 * list. What is pulled stays usable without the layout. Nothing an image says is believed before its digest was checked,
 * and nothing it says leads out of the folder that its files are unpacked into.
 *
 * @module
 */
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { type Image } from '../../cri/generated/runtime/v1/cri.js';
import { type Clock } from '../../util/clock.js';
import { type Logger } from '../../util/logger.js';
import { Mutex } from '../mutex.js';
import { RpcError } from '../rpc-error.js';
import { ChainStore } from './chain-store.js';
import { ContainerRoots, type ContainerRoot } from './container-roots.js';
import { addUsage, NO_USAGE, type FolderUsage } from './folder-usage.js';
import { HOST, HOST_CONFIG, HOST_IMAGE, isHostImage } from './host-image.js';
import { toImage } from './image-message.js';
import { ImageRecords, type ImageRecord } from './image-records.js';
import { parseReference, toReferenceText, tryParseReference } from './image-reference.js';
import { type ResolvedImage } from './image-resolver.js';
import { ImageSearch, listSome } from './image-search.js';
import { isDigest } from './digest.js';
import { parseConfig, type ImageConfig } from './oci-documents.js';
import { findOverlayFault } from './overlay-probe.js';
import { Trash } from './trash.js';
import { UNPACK_LIMITS, type UnpackLimits } from './unpack-limits.js';
import { UsageMeter, type MeasuredUsage } from './usage-meter.js';

/** What {@link ImageStore.open} takes. */
export interface ImageStoreOptions {
  /** The runtime's root folder: everything lies in `images/` below it. */
  readonly rootDir: string;
  /** Where to look for image layouts, the first one first. */
  readonly imageDirs: readonly string[];
  readonly logger: Logger;
  readonly clock: Clock;
  /** Whether to unpack as root does, with owners and devices: as this process is unless told. */
  readonly privileged?: boolean;
  readonly limits?: UnpackLimits;
}

interface Parts {
  readonly logger: Logger;
  readonly search: ImageSearch;
  readonly trash: Trash;
  readonly chains: ChainStore;
  readonly records: ImageRecords;
  readonly roots: ContainerRoots;
  readonly meter: UsageMeter;
}

/** Images and the roots of containers; see the module's description. */
export class ImageStore {
  readonly #parts: Parts;
  /** Changes of records and uses, one after another; unpacking is not among them. */
  readonly #changes = new Mutex();
  readonly #configs = new Map<string, ImageConfig>();
  #overlayFault: Promise<string | undefined> | undefined;

  private constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Takes up what an earlier runtime has left, and clears away what it had not finished. */
  static async open(options: ImageStoreOptions): Promise<ImageStore> {
    const { imageDirs, logger, clock, limits = UNPACK_LIMITS } = options;
    const { privileged = process.getuid?.() === 0 } = options;
    const at = (name: string) => join(options.rootDir, 'images', name);
    const trash = await Trash.open(at('temporary'), logger);
    const chains = await ChainStore.open({ folder: at('roots'), trash, logger, privileged, limits });
    const records = await ImageRecords.open(at('records'), logger);
    const roots = await ContainerRoots.open({
      folder: at('containers'),
      trash,
      rootOf: (chainId) => chains.rootOf(chainId),
      logger,
    });
    const search = new ImageSearch({ imageDirs, logger });
    const meter = new UsageMeter({ clock });
    const store = new ImageStore({ logger, search, trash, chains, records, roots, meter });
    await store.#change(() => store.#collect());
    return store;
  }

  /** Those that are pulled, the built-in one first. */
  get images(): readonly Image[] {
    return [HOST, ...this.#pulled.map((record) => this.#toImage(record))];
  }

  /**
   * A pulled image by reference, with or without tag or digest, or by id, whole or the beginning of its digits that is
   * like no other's. Undefined for what is no reference, too.
   */
  find(reference: string): Image | undefined {
    const parsed = tryParseReference(reference);
    const name = parsed === undefined ? reference : toReferenceText(parsed);
    if (isHostImage(name) || isHostImage(reference)) return HOST;
    const record = this.#parts.records.findByReference(name) ?? this.#findById(reference);
    return record !== undefined && this.#isThere(record) ? this.#toImage(record) : undefined;
  }

  /** As {@link find}; throws NOT_FOUND. */
  get(reference: string): Image {
    const image = this.find(reference);
    if (image !== undefined) return image;
    const pulled = this.images.flatMap(({ repoTags }) => repoTags);
    const message = `image "${reference}" is not here: it was not pulled, or removed; there are ${listSome(pulled)}`;
    throw new RpcError(status.NOT_FOUND, message);
  }

  /**
   * Finds an image in the image folders and unpacks it. What is pulled already is looked for again, since its name may
   * mean another image by now; that costs no unpacking.
   *
   * Throws NOT_FOUND, which says what was searched, INVALID_ARGUMENT for what is no reference, FAILED_PRECONDITION
   * where a digest is wrong, UNIMPLEMENTED for formats that are not supported, RESOURCE_EXHAUSTED where the image is
   * too large, and UNKNOWN for a damaged one.
   */
  async pull(reference: string, signal: AbortSignal): Promise<Image> {
    const parsed = isDigest(reference) ? undefined : parseReference(reference);
    const name = parsed === undefined ? reference : toReferenceText(parsed);
    if (isHostImage(name)) return HOST;
    const digest = parsed === undefined ? reference : parsed.digest;
    const found = await this.#parts.search.find(name, digest === undefined ? { name } : { digest });
    const references = referencesFor(found, parsed?.name, parsed?.tag);
    return this.#parts.chains.hold(found.layers, signal, async (chainId) =>
      this.#change(async () => {
        const { id, size, configText } = found;
        const known = this.#parts.records.find(id)?.references ?? [];
        const record = await this.#parts.records.put({
          id,
          size,
          configText,
          chainId,
          pulled: true,
          references: [...new Set([...known, ...references])],
        });
        return this.#toImage(record);
      }),
    );
  }

  /**
   * Removes an image with all its names, whichever of them or of its ids is given: as containerd does. One that is not
   * there is no error. Containers that use it go on. Throws FAILED_PRECONDITION for the built-in one.
   */
  async remove(reference: string): Promise<void> {
    await this.#change(async () => {
      const image = this.find(reference);
      if (image === undefined) return;
      if (image === HOST)
        throw new RpcError(
          status.FAILED_PRECONDITION,
          `image ${HOST_IMAGE} is built in and cannot be removed`,
        );
      const record = this.#parts.records.find(image.id)!;
      await this.#parts.records.put({ ...record, pulled: false, references: [] });
      await this.#collect();
    });
  }

  /** How the image wants to be run; also for one that was removed and is in use. Throws NOT_FOUND. */
  configOf(imageId: string): ImageConfig {
    if (imageId === HOST.id) return HOST_CONFIG;
    const known = this.#configs.get(imageId);
    if (known !== undefined) return known;
    const record = this.#getRecord(imageId);
    const { config } = parseConfig(record.configText, `the config ${imageId}`);
    this.#configs.set(imageId, config);
    return config;
  }

  /** The image's config as it is stored and the id of its chain of layers. Throws NOT_FOUND. */
  describe(imageId: string): { readonly chainId: string; readonly config: unknown } {
    if (imageId === HOST.id) return { chainId: '', config: {} };
    const { chainId, configText } = this.#getRecord(imageId);
    return { chainId, config: JSON.parse(configText) };
  }

  /**
   * Makes a container's own root of an image, or finds the one that was made. From then on the image is in use, until
   * {@link releaseRoot}: so ask when the container is created. Throws NOT_FOUND.
   *
   * With `isolated: false` it is never an overlay, for containers that cannot mount one.
   */
  async prepareRoot(want: {
    readonly imageId: string;
    readonly containerId: string;
    readonly isolated?: boolean;
  }): Promise<ContainerRoot> {
    const { imageId, containerId, isolated = true } = want;
    if (imageId === HOST.id) return { kind: 'host' };
    const fault = isolated ? await this.findOverlayFault() : 'the container cannot mount it';
    const kind = fault === undefined ? 'overlay' : 'folder';
    // Found and put in use in one step, so that nobody removes the image in between; a copy takes longer than that.
    const begun = await this.#change(() => {
      const { chainId } = this.#getRecord(imageId);
      return Promise.resolve({ root: this.#parts.roots.prepare({ containerId, imageId, chainId, kind }) });
    });
    return begun.root;
  }

  /** Throws away what a container has written. Idempotent. */
  async releaseRoot(containerId: string): Promise<void> {
    await this.#change(async () => {
      this.#parts.meter.forget(containerId);
      if (await this.#parts.roots.release(containerId)) await this.#collect();
    });
  }

  /** To be called once after {@link open}: throws away the roots of containers that are no more. */
  async restore(isAlive: (containerId: string) => boolean): Promise<void> {
    const dead = this.#parts.roots.containerIds.filter((id) => !isAlive(id));
    for (const id of dead) await this.releaseRoot(id);
  }

  /** What a container has written over its image; nothing for one without a root of its own. At most seconds old. */
  writableUsage(containerId: string): Promise<MeasuredUsage> {
    return this.#parts.meter.measure(containerId, this.#parts.roots.writableOf(containerId));
  }

  /** What all unpacked images take, and what all containers have written over them. */
  async usage(): Promise<{ images: FolderUsage; containers: FolderUsage }> {
    const { chains, roots } = this.#parts;
    const written = await Promise.all([...roots.uses.keys()].map((id) => this.writableUsage(id)));
    return {
      images: chains.usages.reduce(addUsage, NO_USAGE),
      containers: written.reduce<FolderUsage>(addUsage, NO_USAGE),
    };
  }

  /** Why containers get a copy of the image's files instead of an overlay; undefined when they get an overlay. */
  findOverlayFault(): Promise<string | undefined> {
    this.#overlayFault ??= findOverlayFault(this.#parts.trash).then((fault) => {
      if (fault !== undefined)
        this.#parts.logger.info('No overlayfs here: each container gets a copy of its image', {
          reason: fault,
        });
      return fault;
    });
    return this.#overlayFault;
  }

  /** Resolves once everything that was begun is done. */
  async close(): Promise<void> {
    await this.#change(() => Promise.resolve());
    await this.#parts.trash.empty();
  }

  get #pulled(): readonly ImageRecord[] {
    return this.#parts.records.all.filter((record) => this.#isThere(record));
  }

  /** Should somebody have taken its files away, it can be pulled again. */
  #isThere({ pulled, chainId }: ImageRecord): boolean {
    return pulled && this.#parts.chains.has(chainId);
  }

  #change<T>(work: () => Promise<T>): Promise<T> {
    return this.#changes.run(work);
  }

  #toImage(record: ImageRecord): Image {
    return toImage(record, this.configOf(record.id));
  }

  #getRecord(imageId: string): ImageRecord {
    const record = this.#parts.records.find(imageId);
    if (record === undefined) throw new RpcError(status.NOT_FOUND, `image "${imageId}" is not here any more`);
    return record;
  }

  #findById(id: string): ImageRecord | undefined {
    const exact = this.#parts.records.find(id);
    if (exact !== undefined) return exact;
    const digits = id.replace(/^sha256:/, '');
    if (!/^[0-9a-f]{4,64}$/.test(digits)) return undefined;
    const matching = this.#pulled.filter((record) => record.id.startsWith(`sha256:${digits}`));
    return matching.length === 1 ? matching[0] : undefined;
  }

  /** Removes records of images that are neither pulled nor in use, and files that no record needs. */
  async #collect(): Promise<void> {
    const { records, chains, roots } = this.#parts;
    // What a root whose facts cannot be read needs is not known.
    if (!roots.complete) return;
    const uses = [...roots.uses.values()];
    const used = new Set(uses.map(({ imageId }) => imageId));
    for (const { id, pulled } of records.all) {
      if (pulled || used.has(id)) continue;
      await records.delete(id);
      this.#configs.delete(id);
    }
    // What a record that cannot be read needs is not known.
    if (!records.complete) return;
    await chains.collect(new Set([...records.all, ...uses].map(({ chainId }) => chainId)));
  }
}

/** A tag and the digest it means, or the digest alone; for a bare digest the names of its entry with the digest. */
function referencesFor(found: ResolvedImage, name: string | undefined, tag: string | undefined): string[] {
  const { layout, target } = found;
  if (name !== undefined) return [...(tag === undefined ? [] : [`${name}:${tag}`]), `${name}@${target}`];
  const entry = layout.entries.find(({ descriptor }) => descriptor.digest === target);
  return (entry?.names ?? []).map((each) => `${parseReference(each).name}@${target}`);
}
