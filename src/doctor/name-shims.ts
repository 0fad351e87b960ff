import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ListedNode } from './facts/event-witness.js';
import { type MachineFacts } from './facts/machine-facts.js';
import { type IllShim } from './host/host-facts.js';
import { known, type Looked } from './looked.js';
import { podsOf } from './pods/pod-object.js';

/** Who else knows the pods of shims. */
export interface ShimNames {
  /** What the runtime listed last; undefined where it did not. */
  readonly lists: ListedNode | undefined;
  /** The pods of the kubelet, as it serves them. */
  readonly ofKubelet: Looked<unknown>;
}

/**
 * Names the pods of shims whose bundles do not: a runtime that starts while a shim does not answer takes its bundle away. Pure.
 */
export function nameShims(
  work: MachineFacts['runtimeWork'],
  { lists, ofKubelet }: ShimNames,
): MachineFacts['runtimeWork'] {
  if (!work.known || work.value.illShims.every(({ pod }) => pod !== undefined)) return work;
  const bySandbox = new Map(lists?.sandboxes.map(({ id, pod }) => [id, pod]));
  const byUid = new Map<string, PodRef>();
  for (const { metadata = {} } of ofKubelet.known ? podsOf(ofKubelet.value) : []) {
    const { uid = '', namespace = '', name = '' } = metadata;
    if (uid !== '' && name !== '') byUid.set(uid, { uid, namespace, name });
  }
  const nameOne = (shim: IllShim): IllShim => {
    const pod = shim.pod ?? bySandbox.get(shim.sandboxId) ?? byUid.get(shim.podUid ?? '');
    return pod === undefined ? shim : { ...shim, pod };
  };
  return known({ ...work.value, illShims: work.value.illShims.map(nameOne) });
}
