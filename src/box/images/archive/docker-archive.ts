import { createHash } from 'node:crypto';
import { refused } from '../../rpc-error.js';
import { sha256Of } from './digest.js';
import { readRegion, readText, type FileRegion } from './file-region.js';
import { type LayoutFiles } from './layout-files.js';
import { parseConfig, type Descriptor } from './oci-documents.js';

/** What `docker save` wrote before it wrote OCI layouts, as an OCI layout would have it. */
export interface DockerArchive {
  readonly images: readonly { readonly tags: readonly string[]; readonly manifest: Descriptor }[];
  /** By digest; the manifests are made up here. */
  readonly blobs: ReadonlyMap<string, FileRegion | string>;
}

interface SavedImage {
  readonly config: string;
  readonly layers: readonly string[];
  readonly tags: readonly string[];
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const CONFIG = 'application/vnd.oci.image.config.v1+json';
const LAYER = 'application/vnd.oci.image.layer.v1.tar';
const MAX_IMAGES = 1_000;

/**
 * Reads the `manifest.json` of an archive of `docker save` and makes a manifest for each image, the same one for the
 * same files at any time. Such an archive has no digests of the stored layers: they are taken from what is there, and
 * what is in them is checked against the config when they are unpacked. Reads compressed layers to their ends, which takes
 * a while: rejects with the signal's reason when that aborts.
 */
export async function readDockerArchive(
  files: LayoutFiles,
  saved: FileRegion,
  signal: AbortSignal,
): Promise<DockerArchive> {
  const blobs = new Map<string, FileRegion | string>();
  const images: { tags: readonly string[]; manifest: Descriptor }[] = [];
  const digests = new Map<number, string>();
  for (const image of parseSaved(await readText(saved), `manifest.json of ${files.path}`)) {
    const configRegion = await need(files, image.config);
    const configText = await readText(configRegion);
    const { diffIds } = parseConfig(configText, `the config ${image.config} of ${files.path}`);
    const layers: object[] = [];
    for (const [at, name] of image.layers.entries()) {
      const region = await need(files, name);
      const digest = digests.get(region.start) ?? (await digestOf(region, diffIds[at], signal));
      digests.set(region.start, digest);
      blobs.set(digest, region);
      layers.push({ mediaType: LAYER, digest, size: region.size });
    }
    const config = { mediaType: CONFIG, digest: sha256Of(configText), size: configRegion.size };
    blobs.set(config.digest, configRegion);
    const text = JSON.stringify({ schemaVersion: 2, mediaType: MANIFEST, config, layers });
    const digest = sha256Of(text);
    blobs.set(digest, text);
    const manifest = { mediaType: MANIFEST, digest, size: Buffer.byteLength(text), annotations: {} };
    images.push({ tags: image.tags, manifest });
  }
  return { images, blobs };
}

/** An uncompressed layer has the digest that the config names; unpacking verifies it. */
async function digestOf(
  region: FileRegion,
  diffId: string | undefined,
  signal: AbortSignal,
): Promise<string> {
  const hash = createHash('sha256');
  let first = true;
  for await (const chunk of readRegion(region)) {
    signal.throwIfAborted();
    const isTar = first && chunk.toString('latin1', 257, 262) === 'ustar';
    if (isTar && diffId !== undefined) return diffId;
    first = false;
    hash.update(chunk);
  }
  return `sha256:${hash.digest('hex')}`;
}

async function need(files: LayoutFiles, name: string): Promise<FileRegion> {
  const region = await files.find(name);
  if (region === undefined) throw refused(`${files.path} has no file ${name}, which its manifest.json names`);
  return region;
}

function parseSaved(text: string, what: string): SavedImage[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // The parser's own message quotes the file, which may be any file.
    throw refused(`${what} is not JSON`);
  }
  if (!Array.isArray(value) || value.length > MAX_IMAGES)
    throw refused(`${what} is no list of images, or too long`);
  return value.map((each: unknown) => {
    const { Config, Layers, RepoTags } = (each ?? {}) as Record<string, unknown>;
    if (typeof Config !== 'string' || !isTexts(Layers)) throw refused(`${what} names no config or no layers`);
    return { config: Config, layers: Layers, tags: isTexts(RepoTags) ? RepoTags : [] };
  });
}

function isTexts(value: unknown): value is string[] {
  return Array.isArray(value) && value.every((each) => typeof each === 'string');
}
