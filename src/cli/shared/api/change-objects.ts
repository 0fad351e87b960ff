import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { type AgentSession } from '../agent-session.js';
import { DRY_RUN_WORDS, type DryRun } from '../dry-run.js';
import { ApiError } from './api-status.js';
import { selectorQuery, withKinds } from './get-request.js';
import { type NamedObject, readSelection } from './object-selection.js';
import { pathOf, qualifiedName } from './resource-type.js';

/** The kinds of patches, by kubectl's names. */
export const PATCH_TYPES = {
  strategic: 'application/strategic-merge-patch+json',
  merge: 'application/merge-patch+json',
  json: 'application/json-patch+json',
} as const;

/** A change of one object. */
export interface ObjectPatch {
  readonly type: keyof typeof PATCH_TYPES;
  readonly body: unknown;
  /** What was done, as in `deployment.apps/web patched`. */
  readonly done: string;
  /** What is printed where the object was so already. */
  readonly undone: string;
}

/** Where objects are to be changed, and how. */
export interface ChangeOptions {
  readonly session: AgentSession;
  readonly host: Pick<CliHost, 'stdout'>;
  readonly dryRun: DryRun;
  /** Throws a CommandFailure where the object cannot be changed like this. */
  readonly makePatch: (object: NamedObject, path: string) => ObjectPatch | Promise<ObjectPatch>;
}

/** Changes objects one after the other. Rejects with what failed, once all were tried. */
export async function changeObjects(
  objects: readonly NamedObject[],
  { session, host, dryRun, makePatch }: ChangeOptions,
): Promise<void> {
  const failures: string[] = [];
  for (const object of objects) {
    const { type, name } = object;
    const label = `${qualifiedName(type)}/${name}`;
    if (type.kind === 'Secret')
      throw failure(
        'Secrets cannot be read, and so not changed like this; podloop apply -f FILE changes one',
      );
    const path = pathOf(type, session.namespace, name);
    try {
      const { type: kind, body, done, undone } = await makePatch(object, path);
      const query = dryRun === 'none' ? {} : { dryRun: 'All' };
      const headers = { 'content-type': PATCH_TYPES[kind] };
      const { result } = await session.client.send('PATCH', path, { query, headers, body });
      const what = result === 'unchanged' ? undone : done;
      await host.stdout.writeLine(`${label} ${what}${DRY_RUN_WORDS[dryRun]}`);
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failures.push(...error.lines);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}

/** The objects that words, or kinds and a selector, choose. Throws a CommandFailure if there is none. */
export async function selectObjects(
  words: readonly string[],
  { selector, all }: { readonly selector?: string; readonly all: boolean },
  { client, namespace }: AgentSession,
  command: string,
): Promise<readonly NamedObject[]> {
  const hasSelector = selector !== undefined;
  const { names, types } = readSelection(words, { hasSelector, allNamespaces: false, all }, command);
  if (names.length > 0) return names;
  if (!hasSelector && !all)
    throw failure(`name an object, as in "podloop ${command} deploy/web", or use --all or --selector`);
  const found: NamedObject[] = [];
  for (const type of types) {
    const list = await client.get(pathOf(type, namespace), selectorQuery(hasSelector ? { selector } : {}));
    for (const { metadata = {} } of withKinds(list) as readonly KubeObject[])
      found.push({ type, name: metadata.name ?? '' });
  }
  if (found.length === 0) throw failure('no matching resources found');
  return found;
}
