import { podReferences } from '#kube/pod/pod-references.js';
import { type MergedFiles } from './sources/file-versions.js';

/**
 * Leaves out pods that refer to an object which none of the files read so far has: it may be in one that is read next,
 * and a pod that may do without it would start without it. Pods that have been handed out already stay. Pure.
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
