import { type ConfigObject } from '#kube/objects/config-object.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { formatFieldPath } from '#kube/fields/field-path.js';
import { formatValue } from '#kube/fields/field-problem.js';
import { type PodReference, podReferences } from '#kube/pod/pod-references.js';
import { type ManifestProblem } from '../manifests/manifest-problem.js';
import { type ManifestObject, type ManifestPod } from '../manifests/manifest-reader.js';

/**
 * Required references of pods that are in none of these manifests, each once per pod. Pure.
 *
 * This is no error: a pod waits for such an object, and it may come from another file.
 */
export function findMissingReferences(
  pods: readonly ManifestPod[],
  objects: readonly ManifestObject[],
): ManifestProblem[] {
  const known = new Map(objects.map(({ object }) => [keyOf(object.kind, object.metadata), object]));
  return pods.flatMap(({ pod, placeOf }) => {
    const { name, namespace = DEFAULT_NAMESPACE } = pod.metadata;
    const told = new Set<string>();
    return podReferences(pod).flatMap((reference): ManifestProblem[] => {
      const { kind, path } = reference;
      const found = known.get(keyOf(kind, { namespace, name: reference.name }));
      const messages = missingOf(reference, found, namespace).filter((message) => !told.has(message));
      for (const message of messages) told.add(message);
      return messages.map((message) => ({
        ...{ ...placeOf(path), kind: 'not-found', path: formatFieldPath(path), message },
        ...{ pod: name, namespace },
      }));
    });
  });
}

function missingOf(
  { kind, name, keys = [], optional, isForPull }: PodReference,
  found: ConfigObject | undefined,
  namespace: string,
): string[] {
  if (optional) return [];
  const what = `the ${kind} ${formatValue(name)} of the namespace ${namespace}`;
  if (found === undefined) {
    const effect = isForPull ? 'images are fetched without it' : 'the pod waits until there is one';
    return [`${what} is in none of these files: ${effect}`];
  }
  return keys
    .filter((key) => !hasKey(found, key))
    .map((key) => `${what} has no entry ${formatValue(key)}: the pod waits until there is one`);
}

function hasKey(object: ConfigObject, key: string): boolean {
  return object.data.has(key) || (object.kind === 'ConfigMap' && object.binaryData.has(key));
}

function keyOf(kind: string, of: { readonly namespace: string; readonly name: string }): string {
  return `${kind} ${of.namespace}/${of.name}`;
}
