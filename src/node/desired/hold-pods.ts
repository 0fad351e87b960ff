import { podReferences } from '#kube/pod/pod-references.js';
import { type MergedFiles } from './sources/file-versions.js';

/**
 * Leaves out pods with a reference to an object that no file read so far contains. Pure.
 *
 * The object may be in a file that is read next, and a pod with an optional reference would start without it.
 * Pods that were already handed out stay.
 */
export function holdPods(merged: MergedFiles, handedUids: ReadonlySet<string>): MergedFiles {
  const known = new Set(merged.objects.map(({ object }) => keyOf(object.kind, object.metadata)));
  const isReady = ({ pod }: MergedFiles['pods'][number]): boolean =>
    handedUids.has(pod.metadata.uid) ||
    podReferences(pod).every(({ kind, name }) =>
      known.has(keyOf(kind, { namespace: pod.metadata.namespace, name })),
    );
  return { ...merged, pods: merged.pods.filter(isReady) };
}

function keyOf(
  kind: string,
  { namespace, name }: { readonly namespace: string; readonly name: string },
): string {
  return `${kind} ${namespace}/${name}`;
}
