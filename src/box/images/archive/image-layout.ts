import { basename } from 'node:path';
import { refused } from '../../rpc-error.js';
import { type DockerArchive, readDockerArchive } from './docker-archive.js';
import { readText, type FileRegion } from './file-region.js';
import { toReferenceText, tryParseReference } from '../image-reference.js';
import { type LayoutFiles } from './layout-files.js';
import { parseIndex, type Descriptor } from './oci-documents.js';

/** An image that a layout offers. */
export interface LayoutEntry {
  /** Normalised; none: it can be had by digest alone. */
  readonly names: readonly string[];
  /** Of an index or a manifest. */
  readonly descriptor: Descriptor;
}

/** An image that a layout would offer, were its entry not damaged. */
export interface BrokenEntry extends Pick<LayoutEntry, 'names'> {
  /** As it stands there: of no kind that is known here, or of something that cannot be. */
  readonly digest: string;
  readonly error: unknown;
}

/** A blob: bytes in a file, or a document that was made up here from what an older format says. */
export type Blob = FileRegion | string;

/** Images with their blobs, in a folder or a tar. */
export interface ImageLayout {
  readonly path: string;
  readonly entries: readonly LayoutEntry[];
  /** Entries that point to nothing. */
  readonly broken: readonly BrokenEntry[];
  /** By a digest that is well-formed. What is there is not checked. */
  findBlob(digest: string): Promise<Blob | undefined>;
}

/** The names that containerd and the OCI image specification give to entries of an index. */
const CONTAINERD_NAME = 'io.containerd.image.name';
const REF_NAME = 'org.opencontainers.image.ref.name';

/**
 * Reads what a layout offers; undefined where it is none. Throws UNKNOWN where it is a damaged one, and the signal's
 * reason when that aborts.
 */
export async function readLayout(files: LayoutFiles, signal: AbortSignal): Promise<ImageLayout | undefined> {
  const index = await files.find('index.json');
  if (index !== undefined) {
    const { manifests, broken } = parseIndex(await readText(index), `index.json of ${files.path}`);
    const base = basename(files.path).replace(/\.tar$/, '');
    return {
      path: files.path,
      entries: manifests.map((descriptor) => ({ names: namesOf(descriptor, base), descriptor })),
      broken: broken.map((entry) => ({ ...entry, names: namesOf(entry, base) })),
      findBlob: (digest) => files.find(`blobs/${digest.replace(':', '/')}`),
    };
  }
  // In a folder the names in manifest.json could lead anywhere.
  const saved = files.kind === 'tar' ? await files.find('manifest.json') : undefined;
  if (saved === undefined) return undefined;
  return fromDockerArchive(files, await readDockerArchive(files, saved, signal));
}

function fromDockerArchive(files: LayoutFiles, { images, blobs }: DockerArchive): ImageLayout {
  return {
    path: files.path,
    entries: images.map(({ tags, manifest }) => ({
      names: tags.flatMap(normalized),
      descriptor: manifest,
    })),
    broken: [],
    findBlob: (digest) => Promise.resolve(blobs.get(digest)),
  };
}

/**
 * `io.containerd.image.name` is a whole reference. `org.opencontainers.image.ref.name` may be one, too, or a tag only,
 * as skopeo writes it; then the file or folder gives the rest: `nginx` or `nginx.tar` with `1.27` is `nginx:1.27`.
 */
function namesOf({ annotations }: Pick<Descriptor, 'annotations'>, base: string): string[] {
  const whole = annotations[CONTAINERD_NAME];
  if (whole !== undefined) return normalized(whole);
  const name = annotations[REF_NAME];
  if (name === undefined) return [];
  return normalized(/[:/]/.test(name) ? name : `${base}:${name}`);
}

function normalized(name: string): string[] {
  const reference = tryParseReference(name);
  return reference === undefined ? [] : [toReferenceText(reference)];
}

/** The text of a blob that is a document; throws UNKNOWN when it is not there. */
export async function readDocument(layout: ImageLayout, { digest }: Descriptor): Promise<string> {
  const blob = await layout.findBlob(digest);
  if (blob === undefined)
    throw refused(`${layout.path} has no blob ${digest}, which its index or a manifest names`);
  return typeof blob === 'string' ? blob : readText(blob);
}
