import { status } from '@grpc/grpc-js';
import { forEachAtOnce } from '#base/async/for-each-at-once.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { refused, RpcError, unimplemented } from '../rpc-error.js';
import { checkDocument, type FileRegion, readText } from '../images/archive/file-region.js';
import {
  type Descriptor,
  type ImageConfigDocument,
  isIndex,
  isManifest,
  MAX_DOCUMENT_BYTES,
  parseConfig,
  parseIndex,
  parseManifest,
  type Platform,
} from '../images/archive/oci-documents.js';
import { layerAt } from '../images/archive/layer-stream.js';
import { exhausted } from '../images/archive/unpack-limits.js';
import { type BlobLease, type BlobStore } from '../images/blob-store.js';
import { type ImageReference, toReferenceText } from '../images/image-reference.js';
import { type ResolvedImage } from '../images/image-resolver.js';
import { rankPlatform, toPlatformText } from '../images/platform.js';
import { type FetchedDocument, findDocumentType, type Repository } from './registry-client.js';

/** What {@link resolveFromRegistry} works with. */
export interface RegistryPull {
  readonly repository: Repository;
  readonly blobs: BlobStore;
  /** Has all that was fetched, until the image is recorded. */
  readonly lease: BlobLease;
  readonly platform: Platform;
  readonly signal: AbortSignal;
}

/** Indexes within indexes deeper than that are nobody's. */
const MAX_DEPTH = 4;
/** An index that names no platforms has each of its manifests read; those of real images name them, or are a few. */
const MAX_DOCUMENTS = 100;
/** Charts and other things of registries that are no images have configs of their own kinds. */
const CONFIG_TYPES: readonly string[] = [
  'application/vnd.oci.image.config.v1+json',
  'application/vnd.docker.container.image.v1+json',
];
/** How many layers of an image are fetched beside one another, as with containerd: more keep the first one from being unpacked. */
const LAYERS_AT_ONCE = 3;

/**
 * Finds an image in a registry, and in it what suits the platform; its documents are fetched then, and its layers when
 * the first of them is read. Throws NOT_FOUND where there is none, or none for the platform, and what
 * {@link Repository} throws.
 */
export async function resolveFromRegistry(
  reference: ImageReference,
  pull: RegistryPull,
): Promise<ResolvedImage> {
  const { repository, signal } = pull;
  const { tag, digest } = reference;
  const found = digest ?? (await repository.resolve(tag!, signal));
  // What is here came for somebody else, perhaps: whether it is for this login, too, only the registry knows.
  if (digest !== undefined && pull.blobs.find(digest) !== undefined) await repository.confirm(digest, signal);
  const target = await (typeof found === 'string' ? getDocument(found, pull) : store(found, pull));
  const { document, config, configText, manifest } = await choose(target, toReferenceText(reference), pull);
  const { layers } = manifest;
  if (config.diffIds.length !== layers.length) {
    const { mediaType } = manifest.config;
    const kind = CONFIG_TYPES.includes(mediaType) ? '' : `, and is of the kind ${mediaType.slice(0, 100)}`;
    const count = `${layers.length} layers, and its config speaks of ${config.diffIds.length}`;
    throw refused(`the image has ${count}${kind}`);
  }
  const parts = [document.descriptor, manifest.config, ...layers];
  // All at once: a layer may also be fetched by another pull, whose lease ends with that one.
  for (const { digest: part } of parts) pull.lease.add(part);
  const downloads = new LayerDownloads(layers, pull);
  return {
    names: [],
    target: target.descriptor,
    id: manifest.config.digest,
    configText,
    config,
    manifest: document,
    layers: layers.map((layer, at) =>
      layerAt({ descriptor: layer, diffId: config.diffIds[at]! }, (stop) => downloads.locate(layer, stop)),
    ),
    size: parts.reduce((total, each) => total + each.size, 0),
    blobs: [...new Set([target.descriptor, ...parts].map((each) => each.digest))],
  };
}

interface Choice {
  readonly document: FetchedDocument;
  readonly manifest: ReturnType<typeof parseManifest>;
  readonly config: ImageConfigDocument;
  readonly configText: string;
}

/** The manifest for the platform, behind as many indexes as there are. */
async function choose(target: FetchedDocument, name: string, pull: RegistryPull): Promise<Choice> {
  const offered: string[] = [];
  let documents = 0;
  const visit = async (document: FetchedDocument, depth: number): Promise<Choice | undefined> => {
    const { descriptor, text } = document;
    if (isManifest(descriptor)) {
      const choice = await readManifest(document, pull);
      if (rankPlatform(choice.config.platform, pull.platform) !== undefined) return choice;
      offered.push(toPlatformText(choice.config.platform));
      return undefined;
    }
    if (!isIndex(descriptor))
      throw unimplemented(
        `the manifest ${descriptor.digest} is of a kind that is not supported: ${descriptor.mediaType.slice(0, 100)}`,
      );
    if (depth === 0) throw refused(`"${name}" has indexes within indexes within indexes`);
    for (const child of sortByRank(
      parseIndex(text, `the index ${descriptor.digest}`).manifests,
      pull.platform,
      offered,
    )) {
      if (++documents > MAX_DOCUMENTS)
        throw exhausted(`none of the first ${MAX_DOCUMENTS} manifests of "${name}" is for this platform`);
      const choice = await visit(await getDocument(child, pull), depth - 1);
      if (choice !== undefined) return choice;
    }
    return undefined;
  };
  const choice = await visit(target, MAX_DEPTH);
  if (choice !== undefined) return choice;
  const has = [...new Set(offered)].join(', ') || 'nothing';
  throw new RpcError(
    status.NOT_FOUND,
    `"${name}" is not there for ${toPlatformText(pull.platform)}: it has ${has}`,
  );
}

/** Those that may be for the platform, the best first. What is not, is noted in `offered`. */
function sortByRank(
  children: readonly Descriptor[],
  platform: Platform,
  offered: string[],
): readonly Descriptor[] {
  const ranked: { readonly child: Descriptor; readonly rank: number }[] = [];
  for (const child of children) {
    // Signatures and attestations travel as manifests for no platform.
    if (child.platform?.os === 'unknown') continue;
    const rank = rankPlatform(child.platform ?? {}, platform);
    if (rank === undefined) offered.push(toPlatformText(child.platform!));
    else ranked.push({ child, rank });
  }
  return ranked.sort((one, other) => other.rank - one.rank).map(({ child }) => child);
}

async function readManifest(document: FetchedDocument, pull: RegistryPull): Promise<Choice> {
  const { digest } = document.descriptor;
  const manifest = parseManifest(document.text, `the manifest ${digest}`);
  const { config } = manifest;
  if (config.size > MAX_DOCUMENT_BYTES)
    throw refused(`the config ${config.digest} has ${config.size} bytes, which is too much`);
  await readStored(config.digest, pull.blobs);
  await fetchBlob(config, pull, pull.signal);
  const configText = await readText(pull.blobs.find(config.digest)!);
  return { document, manifest, configText, config: parseConfig(configText, `the config ${config.digest}`) };
}

/** From here, where it was fetched before, else from the registry. */
async function getDocument(wanted: string | Descriptor, pull: RegistryPull): Promise<FetchedDocument> {
  const { repository, blobs, signal } = pull;
  const digest = typeof wanted === 'string' ? wanted : wanted.digest;
  pull.lease.add(digest);
  const text = await readStored(digest, blobs);
  if (text === undefined) return await store(await repository.fetchDocument(wanted, signal), pull);
  const mediaType = findDocumentType(text, typeof wanted === 'string' ? '' : wanted.mediaType, digest);
  return { descriptor: { mediaType, digest, size: Buffer.byteLength(text), annotations: {} }, text };
}

/** A document that was fetched before; undefined where there is none, or it was damaged on the disk. */
async function readStored(digest: string, blobs: BlobStore): Promise<string | undefined> {
  const region = blobs.find(digest);
  if (region === undefined) return undefined;
  try {
    const text = await readText(region);
    checkDocument(text, { digest, size: region.size }, 'the document');
    return text;
  } catch {
    await blobs.discard(digest);
    return undefined;
  }
}

async function store(document: FetchedDocument, { blobs, lease }: RegistryPull): Promise<FetchedDocument> {
  lease.add(document.descriptor.digest);
  await blobs.put(document.descriptor.digest, document.text);
  return document;
}

async function fetchBlob(
  descriptor: Descriptor,
  { repository, blobs, lease }: RegistryPull,
  signal: AbortSignal,
): Promise<void> {
  lease.add(descriptor.digest);
  await blobs.fetch(descriptor, (blob, stop) => repository.fetchBlob(descriptor, blob, stop), signal);
}

/** Fetches the layers of an image beside one another, from the moment on when the first one is read. */
class LayerDownloads {
  readonly #layers: readonly Descriptor[];
  readonly #pull: RegistryPull;
  #downloads: ReadonlyMap<string, Promise<void>> | undefined;

  constructor(layers: readonly Descriptor[], pull: RegistryPull) {
    this.#layers = layers;
    this.#pull = pull;
  }

  /** Where the bytes of a layer are, once all of it is there. */
  async locate({ digest }: Descriptor, signal: AbortSignal): Promise<FileRegion> {
    this.#downloads ??= this.#start(signal);
    await this.#downloads.get(digest);
    const region = this.#pull.blobs.find(digest);
    if (region === undefined) throw refused(`the layer ${digest} is gone`);
    return region;
  }

  #start(signal: AbortSignal): ReadonlyMap<string, Promise<void>> {
    const wanted = new Map(this.#layers.map((layer) => [layer.digest, layer]));
    const downloads = new Map<string, Promise<void>>();
    const begins = new Map<string, () => void>();
    const link = linkAbort(signal);
    for (const [digest, layer] of wanted) {
      const begun = new Promise<void>((resolve) => begins.set(digest, resolve));
      const download = begun.then(() => fetchBlob(layer, this.#pull, link.signal));
      // Whoever reads the layer sees it; the others are broken off.
      download.catch((error: unknown) => link.abort(error));
      downloads.set(digest, download);
    }
    const run = async ([digest, download]: [string, Promise<void>]): Promise<void> => {
      begins.get(digest)!();
      await download.catch(() => undefined);
    };
    void forEachAtOnce(downloads, LAYERS_AT_ONCE, run).finally(() => link.unlink());
    return downloads;
  }
}
