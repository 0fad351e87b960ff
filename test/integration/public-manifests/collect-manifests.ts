import { readdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { parseAllDocuments } from 'yaml';
import { applyEdits, findRepairs } from '#base/text/yaml/repair-yaml.js';
import { isRecord } from '#base/text/is-record.js';

/** Kinds that have pods, with where an API server has them. */
export const KINDS_WITH_PODS: Readonly<Record<string, string>> = {
  Pod: '/api/v1/namespaces/default/pods',
  Deployment: '/apis/apps/v1/namespaces/default/deployments',
  ReplicaSet: '/apis/apps/v1/namespaces/default/replicasets',
  ReplicationController: '/api/v1/namespaces/default/replicationcontrollers',
  StatefulSet: '/apis/apps/v1/namespaces/default/statefulsets',
  DaemonSet: '/apis/apps/v1/namespaces/default/daemonsets',
  Job: '/apis/batch/v1/namespaces/default/jobs',
  CronJob: '/apis/batch/v1/namespaces/default/cronjobs',
};

/** An object that somebody has published. */
export interface PublicObject {
  /** The folder below the collections that it is from, with `/` for `--`. */
  readonly collection: string;
  readonly kind: string;
  readonly value: Readonly<Record<string, unknown>>;
}

/** What is in the collections. */
export interface PublicManifests {
  readonly objects: readonly PublicObject[];
  readonly files: number;
  /** Files that are no YAML, such as templates. */
  readonly unreadable: number;
  /** Objects that another file has, too. */
  readonly repeated: number;
}

/** Larger ones are data. */
const MAX_FILE_BYTES = 1024 * 1024;

/** Reads every YAML and JSON file below a folder, and such blocks of Markdown; finds what has pods. Its folders are the collections. */
export async function collectManifests(folder: string): Promise<PublicManifests> {
  const names = await readdir(folder, { recursive: true });
  const objects = new Map<string, PublicObject>();
  let [files, unreadable, repeated] = [0, 0, 0];
  for (const name of names.filter((each) => /\.(?:ya?ml|json|md)$/i.test(each)).sort()) {
    const path = join(folder, name);
    const facts = await stat(path).catch(() => undefined);
    if (facts?.isFile() !== true || facts.size > MAX_FILE_BYTES) continue;
    const collection = relative(folder, path).split(sep)[0]!.replace('--', '/');
    const text = await readFile(path, 'utf8');
    const found = /\.md$/i.test(name)
      ? blocksOf(text).flatMap((each) => findObjects(each) ?? [])
      : findObjects(text);
    if (found === undefined) {
      unreadable++;
      continue;
    }
    const withPods = found
      .flatMap(itemsOf)
      .filter(({ kind }) => Object.hasOwn(KINDS_WITH_PODS, String(kind)));
    if (withPods.length > 0) files++;
    for (const value of withPods) {
      const key = JSON.stringify(value);
      if (objects.has(key)) repeated++;
      else objects.set(key, { collection, kind: String(value['kind']), value });
    }
  }
  return { objects: [...objects.values()], files, unreadable, repeated };
}

function blocksOf(markdown: string): string[] {
  return [...markdown.matchAll(/^[ \t]*```ya?ml\s*\n(.*?)^[ \t]*```/gims)].map(([, block]) => block!);
}

function findObjects(text: string): Record<string, unknown>[] | undefined {
  try {
    // As kubectl reads it: 0644 is octal.
    const options = { version: '1.1', uniqueKeys: false, logLevel: 'silent' } as const;
    let documents = parseAllDocuments(text, options);
    if (!Array.isArray(documents)) return [];
    const repairs = findRepairs(text, documents);
    if (repairs.length > 0) documents = parseAllDocuments(applyEdits(text, repairs), options);
    if (documents.some(({ errors }) => errors.length > 0)) return undefined;
    return documents.map((document) => document.toJS({ maxAliasCount: 1_000 }) as unknown).filter(isRecord);
  } catch {
    return undefined;
  }
}

function itemsOf(object: Record<string, unknown>): Record<string, unknown>[] {
  const { kind, items } = object;
  if (typeof kind !== 'string' || !kind.endsWith('List') || !Array.isArray(items)) return [object];
  return items.filter(isRecord).flatMap(itemsOf);
}
