import { type PodRef } from '#kube/pod/pod-ref.js';
import { type ListedNode } from './facts/event-witness.js';
import { type MachineFacts } from './facts/machine-facts.js';
import { type IllShim } from './host/host-facts.js';
import { known, type Looked } from './looked.js';
import { findPodUidOf } from './host/process-state.js';
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
  const byUid = mapByUid({ lists: undefined, ofKubelet });
  const nameOne = (shim: IllShim): IllShim => {
    const pod = shim.pod ?? bySandbox.get(shim.sandboxId) ?? byUid.get(shim.podUid ?? '');
    return pod === undefined ? shim : { ...shim, pod };
  };
  return known({ ...work.value, illShims: work.value.illShims.map(nameOne) });
}

/** Names the pods and containers of processes that were killed, by the cgroups that they were in. Pure. */
export function nameKilled(log: MachineFacts['kernelLog'], names: ShimNames): MachineFacts['kernelLog'] {
  if (!log.known || log.value.killed.length === 0) return log;
  const byUid = mapByUid(names);
  const killed = log.value.killed.map((each) => {
    const { group = '' } = each;
    const pod = byUid.get(findPodUidOf(group) ?? '');
    const container = names.lists?.containers.find(({ id }) => group.includes(id))?.name;
    return pod === undefined ? each : { ...each, pod, ...(container === undefined ? {} : { container }) };
  });
  return known({ ...log.value, killed });
}

/** The pods that the runtime and the kubelet have, by their uid. */
function mapByUid({ lists, ofKubelet }: ShimNames): ReadonlyMap<string, PodRef> {
  const byUid = new Map(lists?.sandboxes.map(({ pod }) => [pod.uid, pod]));
  for (const { metadata = {} } of ofKubelet.known ? podsOf(ofKubelet.value) : []) {
    const { uid = '', namespace = '', name = '' } = metadata;
    if (uid !== '' && name !== '') byUid.set(uid, { uid, namespace, name });
  }
  return byUid;
}
