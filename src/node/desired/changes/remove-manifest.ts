import { type RemoveObject } from '../../api/objects/delete-object.js';
import { type WrittenObject } from '../manifests/manifest-reader.js';
import { explainObstacle } from './explain-obstacle.js';
import { type WritableManifests } from './writable-manifests.js';

/** What {@link removeManifests} needs. */
export interface RemoveManifestsPorts {
  readonly manifests: WritableManifests;
  readonly objects: {
    all(): readonly { readonly source: string; readonly object: Pick<WrittenObject, 'kind' | 'metadata'> }[];
  };
}

/** Removes ConfigMaps, Secrets and workloads from the manifests of an agent. */
export function removeManifests({ manifests, objects }: RemoveManifestsPorts): RemoveObject {
  return async ({ kind, namespace, name, isDryRun }, signal) => {
    const find = (): ReturnType<typeof objects.all> =>
      objects.all().filter(({ object }) => {
        const { metadata } = object;
        return object.kind === kind && metadata.namespace === namespace && metadata.name === name;
      });
    const known = find();
    const writer = await manifests.open();
    if (typeof writer === 'string') {
      return known.length === 0 ? { kind: 'not found' } : refused('MethodNotAllowed', writer);
    }
    const outcome = await writer.remove({ kind, namespace, name }, isDryRun);
    if (outcome.kind === 'in the way') {
      return refused('Conflict', explainObstacle(outcome, 'remove it there'));
    }
    if (outcome.kind === 'not there') {
      const [first] = known;
      if (first === undefined) return { kind: 'not found' };
      return refused('MethodNotAllowed', `it is in no file of the folder, but comes from ${first.source}`);
    }
    if (!isDryRun) await manifests.untilSeen(() => find().length < Math.max(known.length, 1), signal);
    return { kind: 'removed', ...(outcome.note === undefined ? {} : { note: outcome.note }) };
  };
}

function refused(
  reason: 'Conflict' | 'MethodNotAllowed',
  message: string,
): { readonly kind: 'refused'; readonly reason: typeof reason; readonly message: string } {
  return { kind: 'refused', reason, message };
}
