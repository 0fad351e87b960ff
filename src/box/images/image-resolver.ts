import { status } from '@grpc/grpc-js';
import { refused, RpcError } from '../rpc-error.js';
import { checkDocument, type FileRegion } from './archive/file-region.js';
import { readDocument, type ImageLayout } from './archive/image-layout.js';
import { layerAt, type Layer } from './archive/layer-stream.js';
import {
  isIndex,
  isManifest,
  parseConfig,
  parseIndex,
  parseManifest,
  type Descriptor,
  type ImageConfigDocument,
  type ImageManifest,
  type Platform,
} from './archive/oci-documents.js';
import { rankPlatform, toPlatformText } from './platform.js';

/** An image in a layout or a registry, down to its blobs; its documents are checked against their digests. */
export interface ResolvedImage {
  /** Those that its layout gives to what its name points to. */
  readonly names: readonly string[];
  /** What its name points to: a manifest, or an index that has it for several platforms. */
  readonly target: Descriptor;
  /** The digest of the config: the id of the image. */
  readonly id: string;
  readonly configText: string;
  readonly config: ImageConfigDocument;
  /** What names config and layers. */
  readonly manifest: { readonly descriptor: Descriptor; readonly text: string };
  readonly layers: readonly Layer[];
  /** Of manifest, config and layers as they are stored, in bytes. */
  readonly size: number;
  /** Digests of what was stored for it: documents, config and layers of an image of a registry. */
  readonly blobs: readonly string[];
}

/** What to search for. */
export type Wanted = { readonly name: string } | { readonly digest: string };

interface Candidate {
  readonly target: Descriptor;
  readonly descriptor: Descriptor;
  readonly manifest: ImageManifest;
  readonly platform: Platform;
}

/** Indexes within indexes deeper than that are nobody's. */
const MAX_DEPTH = 4;

/** How {@link resolveImage} searches. */
export interface ResolveOptions {
  readonly platform: Platform;
  readonly signal: AbortSignal;
  /** Called with what cannot be read and does not seem to be what is wanted. */
  readonly onFault: (error: unknown) => void;
}

/**
 * Finds an image in one layout by name, by the digest of an index or manifest, or by the digest of its config, and in
 * it what suits the platform. Undefined where the layout does not have it; throws NOT_FOUND where it has it for other
 * platforms only, FAILED_PRECONDITION where a document is not the one that is meant, and the signal's reason when that
 * aborts. Other images of the layout hide nothing, whatever is wrong with them.
 */
export async function resolveImage(
  layout: ImageLayout,
  wanted: Wanted,
  { platform, signal, onFault }: ResolveOptions,
): Promise<ResolvedImage | undefined> {
  const targets =
    'name' in wanted
      ? layout.entries.filter(({ names }) => names.includes(wanted.name)).map(({ descriptor }) => descriptor)
      : await findByDigest(wanted.digest, { layout, signal, seen: new Set(), onFault });
  for (const entry of layout.broken) {
    const isWanted = 'name' in wanted ? entry.names.includes(wanted.name) : entry.digest === wanted.digest;
    if (isWanted && targets.length === 0) throw entry.error;
    onFault(entry.error);
  }
  if (targets.length === 0) return undefined;
  const candidates: Candidate[] = [];
  for (const target of targets) {
    for await (const { descriptor, text } of walk(target, { layout, signal, seen: new Set(), onFault }))
      if (isManifest(descriptor)) candidates.push(await toCandidate(layout, target, descriptor, text));
  }
  return toResolved(layout, choose(layout, wanted, candidates, platform));
}

/** The entries of the layout itself first, then what their indexes hold, then configs. */
async function findByDigest(digest: string, where: LenientWalk): Promise<Descriptor[]> {
  const { layout, signal, onFault } = where;
  const direct = layout.entries.find(({ descriptor }) => descriptor.digest === digest);
  if (direct !== undefined) return [direct.descriptor];
  let byConfig: Descriptor | undefined;
  const passOver = (descriptor: Descriptor, error: unknown): void => {
    signal.throwIfAborted();
    if (descriptor.digest === digest) throw error;
    onFault(error);
  };
  for (const { descriptor } of layout.entries) {
    for await (const found of walk(descriptor, { ...where, passOver })) {
      if (found.descriptor.digest === digest) return [found.descriptor];
      if (byConfig !== undefined || !isManifest(found.descriptor)) continue;
      try {
        const { config } = parseManifest(found.text, `the manifest ${found.descriptor.digest}`);
        if (config.digest === digest) byConfig = found.descriptor;
      } catch (error) {
        passOver(found.descriptor, error);
      }
    }
  }
  return byConfig === undefined ? [] : [byConfig];
}

/** Where one walks. */
interface Walk {
  readonly layout: ImageLayout;
  readonly signal: AbortSignal;
  /** What was walked already: a few indexes that name each other's parts over and over would take for ever. */
  readonly seen: Set<string>;
  readonly onFault: ResolveOptions['onFault'];
  /** What is to become of a document that cannot be read (default: it ends the walk). */
  readonly passOver?: (descriptor: Descriptor, error: unknown) => void;
}

/** Where one walks and is not stopped by what nobody wants. */
type LenientWalk = Omit<Walk, 'passOver'>;

/** The index or manifest itself and everything below it that is one, each checked and each once. */
async function* walk(
  descriptor: Descriptor,
  where: Walk,
  depth = MAX_DEPTH,
): AsyncGenerator<{ descriptor: Descriptor; text: string }> {
  const { signal, seen } = where;
  signal.throwIfAborted();
  if (!isIndex(descriptor) && !isManifest(descriptor)) return;
  // Signatures and attestations travel as manifests for no platform.
  if (descriptor.platform?.os === 'unknown') return;
  // A manifest may be named for several platforms: each of them counts.
  const platform = isIndex(descriptor) ? '' : JSON.stringify(descriptor.platform);
  const key = `${depth} ${descriptor.digest} ${platform}`;
  if (seen.has(key)) return;
  seen.add(key);
  const found = await readChecked(descriptor, where, depth);
  if (found === undefined) return;
  yield { descriptor, text: found.text };
  for (const child of found.children) yield* walk(child, where, depth - 1);
}

/** Undefined for what is left out, or cannot be read and is passed over. */
async function readChecked(
  descriptor: Descriptor,
  { layout, passOver, onFault }: Walk,
  depth: number,
): Promise<{ readonly text: string; readonly children: readonly Descriptor[] } | undefined> {
  try {
    if (depth === 0) throw refused(`${layout.path} has indexes within indexes within indexes`);
    // A layout may leave out the platforms that nobody wanted.
    if (depth < MAX_DEPTH && (await layout.findBlob(descriptor.digest)) === undefined) return undefined;
    const text = await readDocument(layout, descriptor);
    checkDocument(text, descriptor, 'the document');
    if (!isIndex(descriptor)) return { text, children: [] };
    const { manifests, broken } = parseIndex(text, `the index ${descriptor.digest}`);
    // Of an index without one good entry nothing is left to choose from.
    if (manifests.length === 0 && broken.length > 0) throw broken[0]!.error;
    for (const { error } of broken) onFault(error);
    return { text, children: manifests };
  } catch (error) {
    if (passOver === undefined) throw error;
    passOver(descriptor, error);
    return undefined;
  }
}

async function toCandidate(
  layout: ImageLayout,
  target: Descriptor,
  descriptor: Descriptor,
  text: string,
): Promise<Candidate> {
  const manifest = parseManifest(text, `the manifest ${descriptor.digest}`);
  const platform = descriptor.platform ?? (await readConfig(layout, manifest)).config.platform;
  return { target, descriptor, manifest, platform };
}

function choose(
  layout: ImageLayout,
  wanted: Wanted,
  candidates: readonly Candidate[],
  platform: Platform,
): Candidate {
  let best: { candidate: Candidate; rank: number } | undefined;
  for (const candidate of candidates) {
    const rank = rankPlatform(candidate.platform, platform);
    if (rank !== undefined && rank > (best?.rank ?? -1)) best = { candidate, rank };
  }
  if (best !== undefined) return best.candidate;
  const what = 'name' in wanted ? wanted.name : wanted.digest;
  const offered = candidates.map((each) => toPlatformText(each.platform)).join(', ') || 'nothing';
  const message = `image "${what}" is in ${layout.path}, but not for ${toPlatformText(platform)}: it has ${offered}`;
  throw new RpcError(status.NOT_FOUND, message);
}

async function toResolved(
  layout: ImageLayout,
  { target, descriptor, manifest }: Candidate,
): Promise<ResolvedImage> {
  const { text, config } = await readConfig(layout, manifest);
  const { layers } = manifest;
  if (config.diffIds.length !== layers.length)
    throw refused(`the image has ${layers.length} layers, and its config speaks of ${config.diffIds.length}`);
  const size = [descriptor, manifest.config, ...layers].reduce((total, each) => total + each.size, 0);
  return {
    names: layout.entries.find((entry) => entry.descriptor.digest === target.digest)?.names ?? [],
    target,
    id: manifest.config.digest,
    configText: text,
    config,
    manifest: { descriptor, text: await readDocument(layout, descriptor) },
    layers: layers.map((layer, at) =>
      layerAt({ descriptor: layer, diffId: config.diffIds[at]! }, () => locateLayer(layout, layer)),
    ),
    size,
    blobs: [],
  };
}

async function readConfig(
  layout: ImageLayout,
  manifest: ImageManifest,
): Promise<{ text: string; config: ImageConfigDocument }> {
  const text = await readDocument(layout, manifest.config);
  checkDocument(text, manifest.config, 'the config');
  return { text, config: parseConfig(text, `the config ${manifest.config.digest}`) };
}

async function locateLayer(layout: ImageLayout, { digest }: Descriptor): Promise<FileRegion> {
  const blob = await layout.findBlob(digest);
  if (blob === undefined)
    throw refused(`${layout.path} has no blob ${digest}, which is a layer of the image`);
  if (typeof blob === 'string') throw refused(`${digest} is no layer`);
  return blob;
}
