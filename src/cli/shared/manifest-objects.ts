import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { messageOf } from '#base/errors/errors.js';
import { parseYamlDocuments } from '#base/text/yaml/yaml-document.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { insteadOfKind } from '#kube/workloads/foreign-kinds.js';
import { clusterObjectNote } from '#kube/workloads/workload.js';
import { findTypeOfKind, type ResourceType } from './api/resource-type.js';
import { type CliHost } from '../cli-host.js';
import { failure } from '../command-failure.js';
import { escapeTerminal } from './print/terminal-text.js';

/** The sources of manifests. */
export interface ManifestSource {
  /** Files, folders, URLs; `-` is standard input. */
  readonly paths: readonly string[];
  /** Folders in folders, too. */
  readonly recursive: boolean;
  readonly host: Pick<CliHost, 'stdin' | 'stderr'>;
  readonly signal: AbortSignal;
  /** Where objects are that do not say it. */
  readonly namespace: string;
  /** Whether objects that say another namespace are an error. */
  readonly namespaceGiven: boolean;
  /** Whether the agent may make names, as it can for what is created (default: false). */
  readonly generatesNames?: boolean;
  /** What is done with the objects, for messages; with it, manifests without objects are an error: `apply`. */
  readonly verb?: string;
}

/** An object of a manifest. */
export interface ManifestItem {
  readonly type: ResourceType;
  readonly namespace: string;
  /** Empty if the agent is to make one (`generateName`). */
  readonly name: string;
  readonly object: KubeObject;
  /** The file that it stands in, for messages. */
  readonly file: string;
}

interface ManifestText {
  readonly file: string;
  readonly content: string;
}

const ENDINGS = /\.(json|ya?ml)$/;
const URL_LIMIT_MS = 30_000;
/** Lists in lists have an end. */
const DEEPEST_LIST = 4;

/**
 * The objects of manifests in the order in which they stand there. Those that only a cluster gives a meaning
 * are left out, with a line on standard error. Rejects with a CommandFailure.
 */
export async function readManifestObjects(source: ManifestSource): Promise<ManifestItem[]> {
  if (source.paths.length === 0)
    throw failure(
      'must specify -f with a file, a folder, a URL or -; build what is for -k first: kubectl kustomize DIR',
    );
  const items: ManifestItem[] = [];
  let isEmpty = true;
  for (const path of source.paths) {
    for (const { file, content } of await readTexts(path, source)) {
      const objects = parseObjects(content, file);
      isEmpty &&= objects.length === 0;
      for (const object of objects) {
        const note = findClusterNote(object);
        if (note === undefined) items.push(toItem(object, file, source));
        else await source.host.stderr.writeLine(escapeTerminal(`Warning: ${note}`));
      }
    }
  }
  if (isEmpty && source.verb !== undefined) throw failure(`no objects passed to ${source.verb}`);
  return items;
}

async function readTexts(path: string, source: ManifestSource): Promise<ManifestText[]> {
  if (path === '-') return [{ file: 'STDIN', content: await text(source.host.stdin) }];
  if (/^https?:\/\//.test(path)) return [{ file: path, content: await fetchText(path, source.signal) }];
  const found = await stat(path).catch(() => undefined);
  if (found === undefined) throw failure(`the path ${JSON.stringify(path)} does not exist`);
  const files = found.isDirectory() ? await listFolder(path, source.recursive) : [path];
  if (files.length === 0) {
    throw failure(`error reading [${path}]: recognized file extensions are [.json .yaml .yml]`);
  }
  return Promise.all(files.map(async (file) => ({ file, content: await readText(file) })));
}

async function listFolder(folder: string, recursive: boolean): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const files: string[] = [];
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) {
      if (recursive) files.push(...(await listFolder(path, recursive)));
    } else if (ENDINGS.test(entry.name)) files.push(path);
  }
  return files;
}

async function readText(file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw failure(messageOf(error));
  }
}

async function fetchText(url: string, signal: AbortSignal): Promise<string> {
  let answer;
  try {
    answer = await fetch(url, { signal: AbortSignal.any([signal, AbortSignal.timeout(URL_LIMIT_MS)]) });
    if (answer.ok) return await answer.text();
  } catch (error) {
    const why =
      error instanceof Error && error.cause instanceof Error ? error.cause.message : messageOf(error);
    throw failure(`unable to read URL ${JSON.stringify(url)}: ${why}`);
  }
  throw failure(
    `unable to read URL ${JSON.stringify(url)}, server reported ${answer.status} ${answer.statusText}, status code=${answer.status}`,
  );
}

function parseObjects(content: string, file: string): KubeObject[] {
  return parseYamlDocuments(content).flatMap(({ value, problems }) => {
    const [problem] = problems;
    if (problem !== undefined) {
      const { line, column } = problem.place;
      throw failure(`error parsing ${file}: line ${line}, column ${column}: ${problem.plain}`);
    }
    return flatten(value, file, 0);
  });
}

/** A List stands for the objects in it. */
function flatten(value: unknown, file: string, depth: number): KubeObject[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw failure(`unable to decode ${JSON.stringify(file)}: an object with apiVersion and kind is expected`);
  }
  const object = value as KubeObject;
  const { kind = '', items } = object;
  if (!kind.endsWith('List') || !Array.isArray(items) || depth >= DEEPEST_LIST) return [object];
  const itemKind = kind.replace(/List$/, '');
  return (items as unknown[]).flatMap((item) => {
    const known = itemKind === '' ? {} : { apiVersion: 'v1', kind: itemKind };
    return flatten(typeof item === 'object' ? { ...known, ...item } : item, file, depth + 1);
  });
}

/** What is said of an object without effect here; of others undefined. */
function findClusterNote({ apiVersion, kind, metadata }: KubeObject): string | undefined {
  const note = apiVersion === 'v1' ? clusterObjectNote(kind ?? '') : undefined;
  return note && `the ${kind} ${JSON.stringify(metadata?.name ?? '')} is ${note}`;
}

function toItem(
  object: KubeObject,
  file: string,
  { namespace: own, namespaceGiven, generatesNames = false, verb = 'this command' }: ManifestSource,
): ManifestItem {
  const { apiVersion, kind, metadata = {} } = object;
  const invalid = (what: string): Error =>
    failure(`error validating ${JSON.stringify(file)}: error validating data: ${what}`);
  if (typeof apiVersion !== 'string') throw invalid('apiVersion not set');
  if (typeof kind !== 'string') throw invalid('kind not set');
  const { namespace } = metadata;
  const { name = '', generateName = '' } = metadata as { name?: unknown; generateName?: unknown };
  const found = findTypeOfKind(kind);
  const type = apiVersion === (found?.apiVersion ?? 'v1') ? found : undefined;
  const isWritten = found !== undefined && !['events', 'nodes'].includes(found.plural);
  if (type === undefined || !isWritten) {
    const known = isWritten ? `write apiVersion: ${found.apiVersion ?? 'v1'}` : undefined;
    const instead =
      known ??
      insteadOfKind(kind) ??
      'an agent takes Pods, ConfigMaps, Secrets, claims, and workloads such as Deployments and Jobs';
    throw failure(
      `resource mapping not found for name: ${JSON.stringify(name)} namespace: ${JSON.stringify(namespace ?? '')} from ${JSON.stringify(file)}: no matches for kind ${JSON.stringify(kind)} in version ${JSON.stringify(apiVersion)}: ${instead}`,
    );
  }
  const isToBeNamed = name === '' && typeof generateName === 'string' && generateName !== '';
  if (isToBeNamed && !generatesNames)
    throw failure(
      `from ${generateName}: cannot use generate name with ${verb}; podloop create -f ${file} makes a name`,
    );
  if (typeof name !== 'string' || (name === '' && !isToBeNamed))
    throw failure(`error when retrieving current configuration of ${file}: resource name may not be empty`);
  if (namespace !== undefined && namespaceGiven && namespace !== own) {
    throw failure(
      `the namespace from the provided object "${namespace}" does not match the namespace "${own}". You must pass '--namespace=${namespace}' to perform this operation.`,
    );
  }
  const place = namespace ?? own;
  return {
    type,
    namespace: place,
    name,
    object: { ...object, metadata: { ...metadata, namespace: place } },
    file,
  };
}
