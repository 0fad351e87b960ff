/**
 * Images in one file: what `docker load` and `docker save` read and write.
 *
 * In: an OCI image layout as a tar, or what `docker save` wrote before that. Out: an OCI image layout as a tar with the
 * `manifest.json` of `docker save` beside it, so that either kind of reader finds what it knows.
 *
 * Source: https://github.com/opencontainers/image-spec/blob/main/image-layout.md
 *
 * @module
 */
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { status } from '@grpc/grpc-js';
import { messageOf } from '#base/errors/errors.js';
import { BLOCK } from '#base/wire/tar/tar-header.js';
import { encodeHeader, EntryKind, padding } from '#base/wire/tar/tar-writer.js';
import { invalidArgument, refused, RpcError } from '../rpc-error.js';
import { DigestCheck } from './archive/digest.js';
import { readText } from './archive/file-region.js';
import { type ImageLayout, readDocument, readLayout } from './archive/image-layout.js';
import { decompressed, layerAt, type Layer } from './archive/layer-stream.js';
import { tarFiles } from './archive/layout-files.js';
import {
  type Descriptor,
  MAX_DOCUMENT_BYTES,
  parseConfig,
  parseManifest,
  type Platform,
} from './archive/oci-documents.js';
import { UnpackMeter, type UnpackLimits } from './archive/unpack-limits.js';
import { type BlobLease, type BlobStore } from './blob-store.js';
import { type ImageRecord } from './image-records.js';
import { type ResolvedImage, resolveImage } from './image-resolver.js';
import { type ImageSearch } from './image-search.js';

/** Where an image of an archive is stored. */
export interface StoreInto {
  readonly blobs: BlobStore;
  /** Has all of it until the image is recorded. */
  readonly lease: BlobLease;
  readonly platform: Platform;
  readonly signal: AbortSignal;
}

/** An image of an archive, with all its names. */
export interface ArchivedImage {
  readonly digest: string;
  readonly names: readonly string[];
}

/** How an archive is opened. */
export interface ArchiveToOpen {
  /** An empty folder for it; what is in it has to be removed afterwards. */
  readonly folder: string;
  /** That of its file, or the empty text. */
  readonly name: string;
  readonly limits: UnpackLimits;
  readonly signal: AbortSignal;
}

const INVALID = 'this is no archive of images: it has neither an index.json nor a manifest.json';

/** An archive that came as a stream; its middle can be read. */
export class ImageArchive {
  readonly #layout: ImageLayout;

  private constructor(layout: ImageLayout) {
    this.#layout = layout;
  }

  /** Writes down what comes, without its compression. Throws INVALID_ARGUMENT for what is no archive of images. */
  static async open(chunks: AsyncGenerator<Buffer>, wanted: ArchiveToOpen): Promise<ImageArchive> {
    const { folder, name, limits, signal } = wanted;
    // The name becomes that of a file, and gives the repository where the archive has a tag only.
    const base = /^[\w.-]{1,100}$/.test(name) ? name.replace(/\.(tar|tgz|tar\.(gz|zst))$/, '') : '';
    const path = join(folder, `${base}.tar`);
    const meter = new UnpackMeter(limits, folder);
    {
      await using file = await open(path, 'wx', 0o600);
      for await (const chunk of decompressed(chunks, 'the archive')) {
        signal.throwIfAborted();
        await meter.addWritten(chunk.length);
        await file.appendFile(chunk);
      }
    }
    const layout = await tarFiles(path, signal)
      .then((files) => readLayout(files, signal))
      .catch((error: unknown) => {
        signal.throwIfAborted();
        throw invalidArgument(`this is no archive of images: ${messageOf(error).replaceAll(path, 'it')}`);
      });
    if (layout === undefined) throw invalidArgument(INVALID);
    if (layout.broken.length > 0 && layout.entries.length === 0) throw layout.broken[0]!.error;
    return new ImageArchive(layout);
  }

  /** Its images, in its order. */
  get entries(): readonly ArchivedImage[] {
    const images = new Map<string, readonly string[]>();
    for (const { descriptor, names } of this.#layout.entries)
      images.set(descriptor.digest, [...new Set([...(images.get(descriptor.digest) ?? []), ...names])]);
    return [...images].map(([digest, names]) => ({ digest, names }));
  }

  /** Puts documents and layers of an image into the store. The layers of the answer come from there. */
  async store(
    { digest, names: [name = digest] }: ArchivedImage,
    into: StoreInto,
    onFound: (layers: readonly Layer[]) => void,
  ): Promise<ResolvedImage> {
    const { blobs, lease, platform, signal } = into;
    const faults: unknown[] = [];
    const onFault = (error: unknown): void => void faults.push(error);
    // Its path is one of the runtime's own, which says nothing to whoever sent the archive; nor does a digest.
    const wordsOf = (error: unknown): string =>
      messageOf(error)
        .replaceAll(this.#layout.path, 'the archive')
        .replace(`image "${digest}"`, `image "${name}"`);
    const found = await resolveImage(this.#layout, { digest }, { platform, signal, onFault }).catch(
      (error: unknown) => {
        throw error instanceof RpcError ? new RpcError(error.code, wordsOf(error), { cause: error }) : error;
      },
    );
    if (found === undefined) {
      const why = faults.length === 0 ? '' : `: ${wordsOf(faults[0])}`;
      throw refused(`the archive has no image ${digest}${why}`);
    }
    const { manifest, configText, id, layers } = found;
    const target = found.target.digest;
    onFound(layers);
    lease.add(manifest.descriptor.digest);
    await blobs.put(manifest.descriptor.digest, manifest.text);
    lease.add(id);
    await blobs.put(id, configText);
    if (target !== manifest.descriptor.digest) {
      const index = this.#layout.entries.find(({ descriptor }) => descriptor.digest === target)!;
      lease.add(target);
      await blobs.put(target, await readDocument(this.#layout, index.descriptor));
    }
    for (const { descriptor, read } of layers) {
      lease.add(descriptor.digest);
      const copy = async (blob: Parameters<Parameters<BlobStore['fetch']>[1]>[0], stop: AbortSignal) => {
        await blob.restart();
        for await (const chunk of read(stop)) await blob.append(chunk);
        await blob.finish();
      };
      await blobs.fetch(descriptor, copy, signal);
    }
    const stored = [
      target,
      manifest.descriptor.digest,
      id,
      ...layers.map((layer) => layer.descriptor.digest),
    ];
    return { ...found, layers: layers.map((layer) => fromStore(layer, blobs)), blobs: [...new Set(stored)] };
  }
}

/** A layer whose bytes are those that are stored. */
function fromStore<L extends Pick<Layer, 'descriptor'>>(
  layer: L,
  blobs: BlobStore,
): L & Pick<Layer, 'read' | 'locate'> {
  const { digest } = layer.descriptor;
  return layerAt(layer, () => {
    const region = blobs.find(digest);
    if (region === undefined) return Promise.reject(refused(`the layer ${digest} is gone`));
    return Promise.resolve(region);
  });
}

/** An image that is to be written into an archive. */
export interface SavedImage extends Pick<ResolvedImage, 'id' | 'configText' | 'manifest'> {
  readonly layers: readonly Pick<Layer, 'descriptor' | 'read'>[];
  /** References with tags. */
  readonly names: readonly string[];
}

/**
 * The stored parts of an image, else those in an image folder, without names. Throws FAILED_PRECONDITION where neither
 * has all of them.
 */
export async function findSaved(
  { id, configText, blobs: digests = [], references }: ImageRecord,
  from: { blobs: BlobStore; lease: BlobLease; search: ImageSearch; signal: AbortSignal },
): Promise<SavedImage> {
  const { blobs, lease, search, signal } = from;
  for (const digest of digests) lease.add(digest);
  const stored = await findStored({ id, blobs: digests }, blobs);
  if (stored !== undefined) {
    const { manifest, layers } = stored;
    return {
      ...{ id, configText, manifest, names: [] },
      layers: layers.map((descriptor) => fromStore({ descriptor }, blobs)),
    };
  }
  try {
    return { ...(await search.find(id, { digest: id }, signal)), names: [] };
  } catch (error) {
    signal.throwIfAborted();
    throw new RpcError(
      status.FAILED_PRECONDITION,
      `the layers of image "${references[0] ?? id}" are unpacked and no longer stored, and no image folder has them: remove the image and pull or load it again`,
      { cause: error },
    );
  }
}

/** The layers of an image as they are stored, to be unpacked. Throws UNKNOWN unless all of them are. */
export async function findStoredLayers(record: ImageRecord, blobs: BlobStore): Promise<readonly Layer[]> {
  const { diffIds } = parseConfig(record.configText, `the config ${record.id}`);
  const { layers = [] } = (await findStored(record, blobs)) ?? {};
  if (layers.length === 0 || layers.length !== diffIds.length) throw refused('its layers are not stored');
  return layers.map((descriptor, at) => fromStore({ descriptor, diffId: diffIds[at]! }, blobs));
}

/** The manifest of an image, and its layers where all of them are stored. */
async function findStored(
  { id, blobs: digests = [] }: Pick<ImageRecord, 'id' | 'blobs'>,
  blobs: BlobStore,
): Promise<{ manifest: SavedImage['manifest']; layers: readonly Descriptor[] } | undefined> {
  for (const digest of digests) {
    const manifest = await readManifest(digest, id, blobs);
    if (manifest === undefined) continue;
    const { layers } = parseManifest(manifest.text, `the manifest ${digest}`);
    if (layers.every((layer) => blobs.has(layer))) return { manifest, layers };
  }
  return undefined;
}

/** The manifest behind a digest if it is one with this config. */
async function readManifest(
  digest: string,
  configDigest: string,
  blobs: BlobStore,
): Promise<SavedImage['manifest'] | undefined> {
  const region = blobs.find(digest);
  if (region === undefined || digest === configDigest || region.size > MAX_DOCUMENT_BYTES) return undefined;
  const text = await readText(region);
  if (!text.startsWith('{')) return undefined;
  try {
    const { mediaType = 'application/vnd.oci.image.manifest.v1+json' } = JSON.parse(text) as {
      mediaType?: string;
    };
    if (parseManifest(text, digest).config.digest !== configDigest) return undefined;
    return { text, descriptor: { mediaType, digest, size: region.size, annotations: {} } };
  } catch {
    return undefined;
  }
}

/** Images as one archive: each blob once. Throws FAILED_PRECONDITION where one turns out to be damaged. */
export async function* writeArchive(
  images: readonly SavedImage[],
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  yield* writeText('oci-layout', JSON.stringify({ imageLayoutVersion: '1.0.0' }));
  yield* writeText('index.json', JSON.stringify(toIndex(images)));
  yield* writeText('manifest.json', JSON.stringify(images.map(toDockerEntry)));
  const written = new Set<string>();
  const isNew = ({ digest }: { readonly digest: string }): boolean =>
    !written.has(digest) && Boolean(written.add(digest));
  for (const { id, configText, manifest, layers } of images) {
    if (isNew(manifest.descriptor)) yield* writeText(pathOf(manifest.descriptor.digest), manifest.text);
    if (isNew({ digest: id })) yield* writeText(pathOf(id), configText);
    for (const { descriptor, read } of layers)
      if (isNew(descriptor)) yield* writeBlob(descriptor, read(signal));
  }
  yield Buffer.alloc(2 * BLOCK);
}

function toIndex(images: readonly SavedImage[]): object {
  const manifests = images.flatMap(({ manifest: { descriptor }, names }) => {
    const { mediaType, digest, size } = descriptor;
    if (names.length === 0) return [{ mediaType, digest, size }];
    return names.map((name) => ({
      ...{ mediaType, digest, size },
      annotations: {
        'io.containerd.image.name': name,
        'org.opencontainers.image.ref.name': name.slice(name.lastIndexOf(':') + 1),
      },
    }));
  });
  return { schemaVersion: 2, mediaType: 'application/vnd.oci.image.index.v1+json', manifests };
}

/** Docker writes the names of its hub without the hub. */
function toDockerEntry({ id, names, layers }: SavedImage): object {
  return {
    Config: pathOf(id),
    RepoTags: names.map((name) => name.replace(/^docker\.io\/(library\/)?/, '')),
    Layers: layers.map(({ descriptor }) => pathOf(descriptor.digest)),
  };
}

function pathOf(digest: string): string {
  return `blobs/${digest.replace(':', '/')}`;
}

function* writeText(name: string, text: string): Generator<Buffer> {
  const content = Buffer.from(text);
  yield Buffer.concat([toHeader(name, content.length), content, padding(content.length)]);
}

async function* writeBlob(
  { digest, size }: Descriptor,
  chunks: AsyncIterable<Buffer>,
): AsyncGenerator<Buffer> {
  const check = new DigestCheck('the layer', digest, size);
  yield toHeader(pathOf(digest), size);
  for await (const chunk of chunks) {
    check.add(chunk);
    yield chunk;
  }
  check.assert();
  yield padding(size);
}

function toHeader(name: string, size: number): Buffer {
  return encodeHeader({ name, kind: EntryKind.file, size, mode: 0o644, modified: 0, target: '' });
}
