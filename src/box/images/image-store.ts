/**
 * The images of the embedded runtime: found in image folders or registries, unpacked, recorded.
 *
 * In: OCI image layouts in `--image-dir`, as folders or tars, and registries. Out: what CRI's ImageService shows, and a
 * root folder for each container.
 *
 * ```
 * image-finder ─► image-layout ─► image-resolver ─► chain-store ─► container-roots
 *  which files     its entries     manifest, config   the layers,     what each
 *  are layouts     and blobs       platform, digests  unpacked once   container writes
 *                                        │
 *                                        └─► image-records: which are pulled, under which names
 * ```
 *
 * A pull searches the image folders first, and asks the registry (`../registry`) for what is in none of them; blob-store
 * has what came from there. Until an image is pulled it is not in the list. What is pulled stays usable without the
 * layout. Nothing an image says is believed before its digest was checked, and nothing it says leads out of the folder
 * that its files are unpacked into.
 *
 * @module
 */
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { type Image } from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { Mutex } from '#base/async/mutex.js';
import { messageOf } from '#base/errors/errors.js';
import { readBootId } from '../process/child-identity.js';
import { RpcError } from '../rpc-error.js';
import { resolveFromRegistry } from '../registry/registry-image.js';
import { type Login } from '../registry/docker-logins.js';
import { RegistryClient, type RegistryOptions } from '../registry/registry-client.js';
import { ChainStore } from './archive/chain-store.js';
import { BlobStore } from './blob-store.js';
import { findSaved, ImageArchive, type SavedImage, type StoreInto, writeArchive } from './image-archive.js';
import { type Layer } from './archive/layer-stream.js';
import { ContainerRoots, type ContainerRoot, type CopyTree } from './container-roots.js';
import { addUsage, NO_USAGE, type FolderUsage } from './folder-usage.js';
import { HOST, HOST_IMAGE, isHostImage } from './host-image.js';
import { ImageCatalog } from './image-catalog.js';
import { ImageCleanup } from './image-cleanup.js';
import { ImageRecords } from './image-records.js';
import { ImageRepair } from './image-repair.js';
import {
  type ImageReference,
  parseReference,
  referencesFor,
  toReferenceText,
  tryParseReference,
  withoutReference,
} from './image-reference.js';
import { type ResolvedImage } from './image-resolver.js';
import { toPlatform } from './platform.js';
import { ImageSearch } from './image-search.js';
import { type ImageVerifiers } from './image-verifiers.js';
import { isDigest } from './archive/digest.js';
import { type ImageConfig, type Platform } from './archive/oci-documents.js';
import { OverlayProbe } from './overlay-probe.js';
import { type LayerProgress, PullsUnderWay } from './pulls-under-way.js';
import { Trash } from './trash.js';
import { isFull } from '#base/fs/disk-errors.js';
import { diskIsFull, UNPACK_LIMITS, type UnpackLimits } from './archive/unpack-limits.js';
import { UsageMeter, type MeasuredUsage } from './usage-meter.js';

/** What {@link ImageStore.open} takes. */
export interface ImageStoreOptions {
  /** The runtime's root folder: everything lies in `images/` below it. */
  readonly rootDir: string;
  /** Folders to search for image layouts, in this order. */
  readonly imageDirs: readonly string[];
  /** How registries are reached (default: none is asked). */
  readonly registry?: RegistryOptions | undefined;
  /** Asked at each pull (default: nobody is). */
  readonly verifiers?: Pick<ImageVerifiers, 'verify'> | undefined;
  readonly logger: Logger;
  readonly clock: Clock;
  /** Whether to unpack as root does, with owners and devices (default: whether this process is root). */
  readonly privileged?: boolean;
  readonly limits?: UnpackLimits;
  /** How a container's own copy of an image's files is made. */
  readonly copyTree?: CopyTree;
  /** Of the machine (default: the kernel's). */
  readonly bootId?: string;
}

/** What may be said of one pull. */
export interface PullChoices {
  /** For the registry alone. */
  readonly login?: Login | undefined;
  /** What the image is for (default: this machine). */
  readonly platform?: Platform | undefined;
  /** Called once the image is found, with what says how far its layers are from then on, and with what its name means. */
  readonly onFound?: (progress: () => readonly LayerProgress[], digest: string) => void;
}

/** What may be said of one {@link ImageStore.load}. */
export interface LoadChoices {
  readonly name?: string | undefined;
  readonly platform?: Platform | undefined;
  /** Called for each image once it is found in the archive, with what says how far its layers are. */
  readonly onFound?: (progress: () => readonly LayerProgress[]) => void;
  readonly onImage?: (image: Image, names: readonly string[]) => void;
}

interface Parts {
  readonly search: ImageSearch;
  readonly registries: RegistryClient | undefined;
  readonly verifiers: ImageStoreOptions['verifiers'];
  readonly blobs: BlobStore;
  readonly trash: Trash;
  readonly chains: ChainStore;
  readonly records: ImageRecords;
  readonly roots: ContainerRoots;
  readonly catalog: ImageCatalog;
  readonly cleanup: ImageCleanup;
  readonly meter: UsageMeter;
  readonly overlay: OverlayProbe;
  readonly logger: Logger;
}

/** Images and the roots of containers; see the module's description. */
export class ImageStore {
  readonly #parts: Parts;
  /** Changes of records and uses, one after another; unpacking is not among them. */
  readonly #changes = new Mutex();

  readonly #limits: UnpackLimits;
  readonly #pulls: PullsUnderWay;
  readonly #repair: ImageRepair;

  private constructor(parts: Parts, limits: UnpackLimits, clock: Clock) {
    this.#parts = parts;
    this.#limits = limits;
    this.#pulls = new PullsUnderWay(parts);
    const collect = (): Promise<void> => this.#changes.run(() => this.#collect());
    this.#repair = new ImageRepair({ ...parts, clock, collect });
  }

  /** Takes up what an earlier runtime has left, and clears away what it had not finished. */
  static async open(options: ImageStoreOptions): Promise<ImageStore> {
    const { imageDirs, logger, clock, limits = UNPACK_LIMITS } = options;
    const { privileged = process.getuid?.() === 0, copyTree, bootId = await readBootId() } = options;
    const at = (name: string) => join(options.rootDir, 'images', name);
    const trash = await Trash.open(at('temporary'), logger);
    const folder = at('roots');
    const chains = await ChainStore.open({ folder, trash, logger, privileged, limits, clock, bootId });
    const records = await ImageRecords.open(at('records'), logger);
    const roots = await ContainerRoots.open({
      folder: at('containers'),
      trash,
      rootOf: (chainId) => chains.rootOf(chainId),
      copyTree,
      logger,
    });
    const blobs = await BlobStore.open({ folder: at('blobs'), limits, clock });
    const { registry, verifiers } = options;
    const registries = registry && new RegistryClient({ ...registry, clock, logger });
    const search = new ImageSearch({ imageDirs, logger });
    const meter = new UsageMeter({ clock });
    const catalog = new ImageCatalog({ records, isUnpacked: (chainId) => chains.has(chainId) });
    const cleanup = new ImageCleanup({ records, chains, roots, blobs });
    const overlay = new OverlayProbe({ trash, logger });
    const parts: Parts = {
      ...{ search, registries, verifiers, blobs, trash, chains, records },
      ...{ roots, catalog, cleanup, overlay, meter, logger },
    };
    const store = new ImageStore(parts, limits, clock);
    await store.#changes.run(() => store.#collect());
    store.#repair.start();
    return store;
  }

  /** See {@link ImageCatalog.images}. */
  get images(): readonly Image[] {
    return this.#parts.catalog.images;
  }

  /** See {@link ImageCatalog.find}. */
  find(reference: string): Image | undefined {
    return this.#parts.catalog.find(reference);
  }

  /** See {@link ImageCatalog.get}. */
  get(reference: string): Image {
    return this.#parts.catalog.get(reference);
  }

  /**
   * Finds an image in the image folders, else in its registry, and unpacks it. What is pulled already is looked for again,
   * since its name may mean another image by now; that costs no unpacking.
   *
   * Throws NOT_FOUND, which says what was searched, INVALID_ARGUMENT for what is no reference, FAILED_PRECONDITION
   * where a digest is wrong, UNIMPLEMENTED for formats that are not supported, RESOURCE_EXHAUSTED where the image is
   * too large, and UNKNOWN for a damaged one, a registry that does not answer, or a verifier that refuses.
   */
  async pull(reference: string, signal: AbortSignal, choices: PullChoices = {}): Promise<Image> {
    const parsed = isDigest(reference) ? undefined : parseReference(reference);
    const name = parsed === undefined ? reference : toReferenceText(parsed);
    if (isHostImage(name)) return HOST;
    const { login, platform = toPlatform(process.arch), onFound } = choices;
    const lease = this.#parts.blobs.lease();
    const pull = this.#pulls.begin(name);
    try {
      const found = await this.#find(name, parsed, { login, lease, platform, signal });
      // Its documents are here, none of its layers is.
      await this.#parts.verifiers?.verify(name, found.target, signal);
      pull.layers = found.layers;
      onFound?.(() => this.#pulls.progressOf(found.layers), found.target.digest);
      return await this.#unpack(found, referencesFor(found, parsed?.name, parsed?.tag), signal);
    } catch (error) {
      lease.release();
      throw await this.#makeRoomAfter(error);
    } finally {
      this.#pulls.end(pull);
      lease.release();
    }
  }

  /** The pulls that are under way, oldest first, and how far each of them is. */
  get pulls(): readonly { readonly image: string; readonly layers: readonly LayerProgress[] }[] {
    return this.#pulls.list();
  }

  /**
   * Stores and unpacks the images of an archive, as `docker save` and tools for OCI layouts write it, also compressed
   * with gzip or zstd. `name` is that of its file: with a tag alone it makes a reference. Calls `onImage` with each image
   * and the names that the archive gives it. Throws INVALID_ARGUMENT for what is no such archive, and what {@link pull} does.
   */
  async load(chunks: AsyncGenerator<Buffer>, signal: AbortSignal, choices: LoadChoices = {}): Promise<void> {
    const { blobs, trash } = this.#parts;
    const { name = '', platform = toPlatform(process.arch), onFound, onImage } = choices;
    const folder = await trash.makeFolder();
    const lease = blobs.lease();
    try {
      const archive = await ImageArchive.open(chunks, { folder, name, limits: this.#limits, signal });
      for (const entry of archive.entries) {
        const onLayers = (layers: readonly Layer[]): void => onFound?.(() => this.#pulls.progressOf(layers));
        const found = await archive.store(entry, { blobs, lease, platform, signal }, onLayers);
        const references = entry.names.flatMap((each) => {
          const parsed = parseReference(each);
          return referencesFor(found, parsed.name, parsed.tag);
        });
        const image = await this.#unpack(found, [...new Set(references)], signal);
        onImage?.(image, entry.names);
      }
    } catch (error) {
      lease.release();
      throw await this.#makeRoomAfter(error);
    } finally {
      lease.release();
      await trash.discard(folder);
    }
  }

  /**
   * Images in one archive: an OCI layout that is one of `docker save`, too. A name goes with its image, an id goes without
   * one. Throws NOT_FOUND, and FAILED_PRECONDITION for an image whose layers are not stored any more.
   */
  async *save(references: readonly string[], signal: AbortSignal): AsyncGenerator<Buffer> {
    const { blobs, records, search } = this.#parts;
    const lease = blobs.lease();
    try {
      const wanted = new Map<string, SavedImage>();
      for (const reference of references) {
        const { id } = this.get(reference);
        const record = records.find(id);
        if (record === undefined)
          throw new RpcError(status.FAILED_PRECONDITION, `image ${HOST_IMAGE} is built in: it has no files`);
        const parsed = tryParseReference(reference);
        const name = parsed === undefined ? '' : toReferenceText(parsed);
        const names = record.references.filter((each) => each === name && !each.includes('@'));
        const known = wanted.get(id) ?? (await findSaved(record, { blobs, lease, search, signal }));
        wanted.set(id, { ...known, names: [...new Set([...known.names, ...names])] });
      }
      yield* writeArchive([...wanted.values()], signal);
    } finally {
      lease.release();
    }
  }

  async #find(
    name: string,
    parsed: ImageReference | undefined,
    { login, lease, platform, signal }: { login: Login | undefined } & Omit<StoreInto, 'blobs'>,
  ): Promise<ResolvedImage> {
    const { search, registries, blobs } = this.#parts;
    const digest = parsed === undefined ? name : parsed.digest;
    let searched = '';
    try {
      return await search.find(name, digest === undefined ? { name } : { digest }, signal, platform);
    } catch (error) {
      const isMissing = error instanceof RpcError && error.code === status.NOT_FOUND;
      if (!isMissing || parsed === undefined || registries === undefined) throw error;
      if (search.hasFolders) searched = `; ${messageOf(error)}`;
    }
    try {
      const repository = await registries.open(parsed.name, login, signal);
      return await resolveFromRegistry(parsed, { repository, blobs, lease, platform, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw explainPull(name, error, searched);
    }
  }

  async #unpack(found: ResolvedImage, references: readonly string[], signal: AbortSignal): Promise<Image> {
    const { records, catalog, chains, blobs } = this.#parts;
    const { layers } = found;
    // Of a registry they are not where another image has unpacked the same files.
    const areStored = (): boolean =>
      found.blobs.length > 0 && layers.every(({ descriptor }) => blobs.has(descriptor));
    try {
      return await chains.hold({ layers, areStored }, signal, async (chainId) =>
        this.#changes.run(async () => {
          const { id, size, configText } = found;
          const known = records.find(id);
          const names = [...new Set([...(known?.references ?? []), ...references])];
          const stored = [...new Set([...(known?.blobs ?? []), ...found.blobs])];
          const facts = { id, size, configText, chainId, ...(stored.length > 0 && { blobs: stored }) };
          const record = await records.put({ ...facts, pulled: true, references: names });
          blobs.claim(stored);
          return catalog.toImage(record);
        }),
      );
    } catch (error) {
      if (found.blobs.length === 0) throw error;
      signal.throwIfAborted();
      // A blob that was right when it came may have been damaged on the disk: it is fetched again the next time.
      if (error instanceof RpcError && error.code === status.FAILED_PRECONDITION)
        for (const { descriptor } of layers) await blobs.discard(descriptor.digest);
      throw explainPull(references[0]!, error);
    }
  }

  /**
   * The error of a pull that has failed. Where the disk has no room, what the pull has left on it, files without a record
   * included, is given up: nobody else could use that room before the next start.
   */
  async #makeRoomAfter(error: unknown): Promise<unknown> {
    if (!isFull(error)) return error;
    const { logger, blobs } = this.#parts;
    await this.#changes
      .run(async () => {
        await blobs.discardBrokenOff();
        await this.#collect();
      })
      .catch((reason: unknown) =>
        logger.warn('What a pull has left on a full disk cannot be removed', { err: messageOf(reason) }),
      );
    return error instanceof RpcError ? error : diskIsFull();
  }

  /**
   * Takes a name from an image, which goes with its last one; by an id, or the beginning of one, it goes with all of them.
   * A collector of images removes by id. One that is not there is no error, and containers that use it go on. Throws
   * FAILED_PRECONDITION for the built-in one.
   */
  async remove(reference: string): Promise<void> {
    await this.#changes.run(async () => {
      const image = this.find(reference);
      if (image === undefined) return;
      if (image === HOST)
        throw new RpcError(
          status.FAILED_PRECONDITION,
          `image ${HOST_IMAGE} is built in and cannot be removed`,
        );
      const record = this.#parts.records.find(image.id)!;
      const references = withoutReference(record.references, reference);
      const { records, roots, catalog } = this.#parts;
      try {
        await records.put({ ...record, pulled: references.length > 0, references });
      } catch (error) {
        // A full disk has no room for a record, and is to get room by this.
        if (!isFull(error) || references.length > 0 || roots.mayUse(image.id)) throw error;
        await records.delete(image.id);
        catalog.forget([image.id]);
      }
      // Whoever removes an image wants its room, and that of what broke off.
      if (references.length === 0) await this.#parts.blobs.discardBrokenOff();
      await this.#collect();
    });
  }

  /** See {@link ImageCatalog.configOf}. */
  configOf(imageId: string): ImageConfig {
    return this.#parts.catalog.configOf(imageId);
  }

  /** See {@link ImageCatalog.describe}. */
  describe(imageId: string): { readonly chainId: string; readonly config: unknown } {
    return this.#parts.catalog.describe(imageId);
  }

  /**
   * Makes a container's own root of an image, or finds the one that was made. From then on the image is in use, until
   * {@link releaseRoot}: so ask when the container is created. Throws NOT_FOUND, and FAILED_PRECONDITION unless the
   * image's files are whole; what a loss of power may have taken of them is unpacked again before, until `signal` aborts.
   *
   * With `isolated: false` it is never an overlay, for containers that cannot mount one. `volumes`: paths at which the
   * container has folders of its own, with what the image has there.
   */
  async prepareRoot(want: {
    readonly imageId: string;
    readonly containerId: string;
    readonly isolated?: boolean;
    readonly volumes?: readonly string[];
    readonly signal: AbortSignal;
  }): Promise<ContainerRoot> {
    const { imageId, containerId, isolated = true, volumes = [], signal } = want;
    if (imageId === HOST.id) return { kind: 'host' };
    const fault = isolated ? await this.findOverlayFault() : 'the container cannot mount it';
    const kind = fault === undefined ? 'overlay' : 'folder';
    const why = await this.#repair.repairFor(this.#parts.catalog.getRecord(imageId), signal);
    // Found and put in use in one step, so that nobody removes the image in between; a copy takes longer than that.
    const begun = await this.#changes.run(() => {
      const record = this.#parts.catalog.getRecord(imageId);
      this.#repair.assertWhole(record, why);
      const { chainId } = record;
      const use = { imageId, chainId, kind, ...(volumes.length > 0 && { volumes }) } as const;
      return Promise.resolve({ root: this.#parts.roots.prepare({ containerId, ...use }) });
    });
    return begun.root;
  }

  /** Throws away what a container has written. Idempotent. Breaks off a copy that is being made. */
  async releaseRoot(containerId: string): Promise<void> {
    // Nobody else waits for the end of a copy.
    await this.#parts.roots.cancel(containerId);
    await this.#changes.run(async () => {
      this.#parts.meter.forget(containerId);
      if (await this.#parts.roots.release(containerId)) await this.#collect();
    });
  }

  /** To be called once after {@link open}: throws away the roots of containers that are no more. */
  async restore(isAlive: (containerId: string) => boolean): Promise<void> {
    for (const id of this.#parts.roots.containerIds) if (!isAlive(id)) await this.releaseRoot(id);
  }

  /** What a container has written over its image; nothing for one without a root of its own. At most seconds old. */
  writableUsage(containerId: string): Promise<MeasuredUsage> {
    return this.#parts.meter.measure(containerId, this.#parts.roots.writablesOf(containerId));
  }

  /** What all unpacked images take, and what all containers have written over them. */
  async usage(): Promise<{ images: FolderUsage; containers: FolderUsage }> {
    const { chains, roots, blobs } = this.#parts;
    const written = await Promise.all([...roots.uses.keys()].map((id) => this.writableUsage(id)));
    return {
      images: chains.usages.reduce(addUsage, blobs.usage),
      containers: written.reduce<FolderUsage>(addUsage, NO_USAGE),
    };
  }

  /** Why containers get a copy of the image's files instead of an overlay; undefined when they get an overlay. */
  findOverlayFault(): Promise<string | undefined> {
    return this.#parts.overlay.findFault();
  }

  /** Breaks off copies that are being made, and resolves once everything else that was begun is done. */
  async close(): Promise<void> {
    this.#parts.registries?.close();
    await this.#repair.close();
    await this.#parts.chains.close();
    await this.#parts.roots.close();
    await this.#changes.run(() => Promise.resolve());
    await this.#parts.trash.empty();
  }

  async #collect(): Promise<void> {
    const { cleanup, catalog } = this.#parts;
    catalog.forget(await cleanup.collect());
  }
}

function explainPull(name: string, error: unknown, more = ''): RpcError {
  const known = error instanceof RpcError || !isFull(error) ? error : diskIsFull();
  const code = known instanceof RpcError ? known.code : status.UNKNOWN;
  return new RpcError(code, `failed to pull image "${name}": ${messageOf(known)}${more}`, { cause: error });
}
