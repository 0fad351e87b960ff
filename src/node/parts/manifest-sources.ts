/**
 * Records the folder, URL or input of a root folder's pods, so that an agent with other manifests does not
 * end them.
 *
 * In: the sources in the options, the record of the previous agent, and what runs. Out: a record, or a
 * refusal that names the pods that would end. A source is the same if its path is the same (also by another
 * spelling, or a link), or if its folder was moved or renamed. An agent whose manifests say the same as
 * before keeps the pods, wherever the manifests are.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { readFile, realpath, stat } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { Readable } from 'node:stream';
import { findForeignWords } from '../desired/manifests/list-objects.js';
import { FILE_SOURCE } from '../desired/sources/file-source.js';
import { HTTP_SOURCE } from '../desired/sources/http-source.js';
import { LastGoodStore } from '../desired/sources/last-good-store.js';
import { STDIN_SOURCE } from '../desired/sources/stdin-source.js';
import { cri, type CriClient, LABELS } from '#watch';
import { STATIC_POD_ANNOTATIONS } from '#kube/pod/static-pod.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { isUnwritable } from '#base/fs/disk-errors.js';
import { RecordFile } from '#base/fs/record-file.js';
import { type AgentOptions } from '../options/agent-options.js';
import { nameOfWorkload, readWorkloadTrees, recordsOf } from '../workloads/index.js';
import { WORKLOADS_FOLDER } from './build-workloads.js';
import { LAST_GOOD_FOLDER } from './pod-sources.js';
import { validateManifests } from '../desired/changes/validate-manifests.js';

/** The options that name sources. */
export type SourceOptions = Pick<AgentOptions, 'podManifestPath' | 'manifestUrl'>;

/** One source of pods, as it is recorded. */
interface ManifestSource {
  /** `file`, `http`, `stdin`: the source that pods are marked with. */
  readonly kind: string;
  /** The path as people know it, or the URL. */
  readonly place: string;
  /** The path without links; for a missing path, the same as the place. */
  readonly realPath?: string;
  /** Identifies a folder that was moved or renamed; undefined where the system does not report it. */
  readonly identity?: string | undefined;
}

/** In the root folder. */
export const SOURCES_FILE = 'manifest-sources.json';
/** Timeout for the list of what runs. */
const LIST_MS = 10_000;
/** More names do not help to decide. */
const MAX_NAMED_PODS = 10;
const MAX_NAME_LENGTH = 20;

/** What {@link claimManifestSources} needs. */
export interface SourceClaim {
  readonly options: SourceOptions & Pick<AgentOptions, 'rootDir'>;
  readonly nodeName: string;
  /** The mark on everything that agents of this root folder create. */
  readonly instanceId: string;
  readonly client: Pick<CriClient, 'listPodSandbox'>;
  readonly logger: Logger;
}

/**
 * Records the sources of an agent in its root folder. Without any source the record stays as it is.
 *
 * Rejects with MANIFESTS_DIFFER, and changes nothing, when pods of other sources run that these manifests
 * would end. A full disk keeps no agent from its pods: an unchanged record is not written, another one is logged.
 */
export async function claimManifestSources(claim: SourceClaim): Promise<void> {
  const { options, logger } = claim;
  const given = await describeSources(options);
  if (given.length === 0) return;
  const file = recordIn(options.rootDir);
  const recorded = await readRecord(file, logger);
  const dropped = recorded.filter((each) => !given.some((other) => isSame(each, other)));
  if (dropped.length > 0) {
    const ended = await findEndedPods(dropped, claim);
    if (ended.length > 0) throw refusal(ended, dropped, given, options.rootDir);
  }
  if (JSON.stringify(recorded) === JSON.stringify(given)) return;
  await file.write(given).catch((error: unknown) => {
    if (!isUnwritable(error)) throw error;
    logger.error('Manifest sources cannot be recorded on the disk', error, { path: file.path });
  });
}

/**
 * A name for the root folder of a batch: the same for the same manifests, another one for others.
 *
 * It begins with a readable name of the manifests.
 */
export async function nameBatch(options: SourceOptions): Promise<string> {
  const sources = await describeSources(options);
  const names = sources.map(({ kind, place, realPath = place }) =>
    kind === STDIN_SOURCE ? 'stdin' : `${slug(realPath)}-${digest(realPath)}`,
  );
  return names.join('-');
}

/** The places of the manifests that the last agent of a root folder had; none if there was no agent. */
export async function readManifestPlaces(rootDir: string): Promise<readonly string[]> {
  const recorded = await recordIn(rootDir)
    .read()
    .catch(() => undefined);
  return (recorded ?? []).map(({ place }) => place);
}

/** Whether the last agent of a root folder had these manifests alone, by this spelling of their place or another. */
export async function hasSameManifests(rootDir: string, options: SourceOptions): Promise<boolean> {
  const given = await describeSources(options);
  const recorded = await recordIn(rootDir)
    .read()
    .catch(() => undefined);
  if (recorded === undefined || recorded.length !== given.length) return false;
  return recorded.every((each) => given.some((other) => isSame(each, other)));
}

/** Larger files are only read by the agent. */
const MAX_FOREIGN_BYTES = 1 << 20;
/** Also without a tag: nobody who means a folder and has it not is misled by a word about images. */
const LIKE_IMAGE = /^[a-z0-9][\w.-]*(?:\/[\w.-]+)*(?::[\w.-]+)?$/;

/**
 * Why no agent can start with a path of manifests: it does not exist, or is a file of another program, such as a Compose
 * file. Undefined when nothing speaks against it, or no path is given.
 */
export async function findMissingManifests({
  podManifestPath: path,
}: SourceOptions): Promise<string | undefined> {
  if (path === '' || path === '-') return undefined;
  try {
    const facts = await stat(path);
    if (!facts.isFile() || facts.size > MAX_FOREIGN_BYTES) return undefined;
    const foreign = parseYamlDocuments(await readFile(path, 'utf8')).flatMap(
      ({ value }) => findForeignWords(value) ?? [],
    );
    return foreign.length === 0 ? undefined : `${path}: ${foreign[0]}`;
  } catch (error) {
    if (systemCodeOf(error) !== 'ENOENT') return undefined;
    const image = LIKE_IMAGE.test(path) ? '; an image is run by a manifest that names it' : '';
    return `${path} does not exist: make that folder or file of Pod manifests first, or name another one${image}`;
  }
}

function recordIn(rootDir: string): RecordFile<readonly ManifestSource[]> {
  return new RecordFile({
    ...{ path: join(rootDir, SOURCES_FILE), parse, format: (sources) => ({ sources }) },
  });
}

async function describeSources({
  podManifestPath: path,
  manifestUrl,
}: SourceOptions): Promise<ManifestSource[]> {
  const sources: ManifestSource[] = [];
  if (path === '-') sources.push({ kind: STDIN_SOURCE, place: 'standard input' });
  else if (path !== '') sources.push(await describePath(resolve(path)));
  if (manifestUrl !== '') sources.push({ kind: HTTP_SOURCE, place: manifestUrl });
  return sources;
}

async function describePath(place: string): Promise<ManifestSource> {
  const realPath = await realpath(place).catch(() => place);
  const identity = await stat(place, { bigint: true }).then(
    // The inode number of a removed folder may be reused by a younger one.
    ({ dev, ino, birthtimeNs }) => (birthtimeNs > 0n ? `${dev}:${ino}:${birthtimeNs}` : undefined),
    () => undefined,
  );
  return { kind: FILE_SOURCE, place, realPath, identity };
}

function isSame(one: ManifestSource, other: ManifestSource): boolean {
  if (one.kind !== other.kind) return false;
  if (one.place === other.place) return true;
  if (one.kind !== FILE_SOURCE) return false;
  return one.realPath === other.realPath || (one.identity !== undefined && one.identity === other.identity);
}

/** Running pods of dropped sources that the present manifests do not want in the same form. */
async function findEndedPods(dropped: readonly ManifestSource[], claim: SourceClaim): Promise<string[]> {
  const { client, instanceId, options, nodeName } = claim;
  const labelSelector = { [LABELS.nodeInstance]: instanceId };
  const { items } = await client.listPodSandbox({ filter: { labelSelector } }, { timeoutMs: LIST_MS });
  const kinds = new Set(dropped.map(({ kind }) => kind));
  const running = items.filter(
    ({ state, annotations }) =>
      state === cri.PodSandboxState.SANDBOX_READY &&
      kinds.has(annotations[STATIC_POD_ANNOTATIONS.source] ?? ''),
  );
  if (running.length === 0) return [];
  const wanted = await readWanted(options, nodeName);
  const owners = await readOwners(options.rootDir);
  const former = await readFormer(options.rootDir, nodeName, kinds);
  const ended = running.filter(({ metadata, annotations }) => {
    const owner = owners.get(metadata?.uid ?? '');
    if (owner !== undefined) return !wanted.objects.has(owner);
    const hash = wanted.hashes.get(metadata?.uid ?? '');
    // An edit may have left the sandbox as it was.
    const hashes = [annotations[STATIC_POD_ANNOTATIONS.manifestHash], former.get(metadata?.uid ?? '')];
    return hash === undefined || !hashes.includes(hash);
  });
  const names = ended.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
  return [...new Set(names)].sort();
}

/** The workloads of running pods, by the uids of these. */
async function readOwners(rootDir: string): Promise<Map<string, string>> {
  const trees = await readWorkloadTrees(join(rootDir, WORKLOADS_FOLDER));
  return new Map(
    trees.flatMap((tree) =>
      recordsOf(tree).flatMap(({ pods }) =>
        pods.map(({ uid }) => [uid, nameOfWorkload(tree.root.object)] as const),
      ),
    ),
  );
}

/** What a folder wants. Other sources are still unknown. */
interface Wanted {
  /** The hashes of pods’ manifests by uid. */
  readonly hashes: ReadonlyMap<string, string>;
  /** Workloads by kind, namespace and name. */
  readonly objects: ReadonlySet<string>;
}

async function readWanted({ podManifestPath: path }: SourceOptions, nodeName: string): Promise<Wanted> {
  if (path === '' || path === '-') return { hashes: new Map(), objects: new Set() };
  const { pods, objects } = await validateManifests({
    paths: [resolve(path)],
    nodeName,
    stdin: Readable.from([]),
  });
  return {
    hashes: new Map(pods.map(({ uid, hash }) => [uid, hash])),
    objects: new Set(objects.map(({ kind, namespace, name }) => `${kind} ${namespace}/${name}`)),
  };
}

/** What the previous agent read last: the hashes of its manifests by uid. */
async function readFormer(
  rootDir: string,
  nodeName: string,
  kinds: ReadonlySet<string>,
): Promise<Map<string, string>> {
  const folder = join(rootDir, LAST_GOOD_FOLDER);
  const stores = [...kinds].map((source) => new LastGoodStore({ folder, source, nodeName }));
  const kept = await Promise.all(stores.map(async (store) => store.load()));
  const pods = kept.flatMap(({ versions }) => versions.flatMap((version) => version.pods));
  return new Map(
    pods.map(({ pod: { metadata } }) => [
      metadata.uid,
      metadata.annotations?.[STATIC_POD_ANNOTATIONS.manifestHash] ?? '',
    ]),
  );
}

function refusal(
  ended: readonly string[],
  dropped: readonly ManifestSource[],
  given: readonly ManifestSource[],
  rootDir: string,
): PodloopError {
  const shown = ended.slice(0, MAX_NAMED_PODS);
  if (ended.length > shown.length) shown.push(`${ended.length - shown.length} more`);
  const placesOf = (sources: readonly ManifestSource[]): string =>
    sources.map(({ place }) => place).join(' and ');
  return new PodloopError(
    'MANIFESTS_DIFFER',
    `pods of ${placesOf(dropped)} run with the root folder ${rootDir}, and an agent with ${placesOf(given)} would end them: ` +
      `${shown.join(', ')}. Give these manifests a root folder of their own with --root-dir, or add them to ${placesOf(dropped)}. ` +
      `To end those pods, delete ${join(rootDir, SOURCES_FILE)} and start again`,
  );
}

/** An unreadable record counts as missing: it must not keep an agent from its pods. */
async function readRecord(
  file: RecordFile<readonly ManifestSource[]>,
  logger: Logger,
): Promise<readonly ManifestSource[]> {
  try {
    return (await file.read()) ?? [];
  } catch (error) {
    logger.error('Record of manifest sources cannot be read', messageOf(error), { path: file.path });
    return [];
  }
}

function parse({ sources }: Readonly<Record<string, unknown>>): readonly ManifestSource[] {
  if (!Array.isArray(sources)) throw new Error('it is not what was written');
  return (sources as readonly ManifestSource[]).filter(
    ({ kind, place }) => typeof kind === 'string' && typeof place === 'string',
  );
}

function slug(path: string): string {
  const words = basename(path)
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .replaceAll(/^-+|-+$/g, '');
  return words.slice(0, MAX_NAME_LENGTH) || 'batch';
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 8);
}
