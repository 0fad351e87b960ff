import { type NodePod } from '#kube/pod/node-pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type Shortage } from './admit-pod.js';
import { type Wait } from '../loop/desired-pods.js';
import { type HostPort, hostPortsOf, TakenHostPorts } from './host-ports.js';
import { amountOf } from './preemption.js';

/** How many pods are named; the rest are counted. */
const MAX_NAMED = 4;

/**
 * What a pod waits for: those of the `ending` pods that hold something that it needs, and what that is. Pure.
 *
 * `shortages`: what the node is short of until they have ended.
 */
export function describeWait(
  pod: NodePod,
  ending: readonly NodePod[],
  shortages: readonly Pick<Shortage, 'resource'>[],
): Wait {
  const wanted = new TakenHostPorts(hostPortsOf(pod));
  // In a stable order, so that the same pods give the same message.
  const holders = [...ending]
    .sort((one, other) => (sortKeyOf(one) < sortKeyOf(other) ? -1 : 1))
    .map((each) => ({ each, things: thingsOf(each, wanted, shortages) }))
    .filter(({ things }) => things.length > 0);
  const uids = holders.map(({ each }) => each.metadata.uid);
  const named = holders.slice(0, MAX_NAMED).map(({ each, things }) => ({
    name: nameBeside(each, pod),
    has: `still has ${things.join(', ')}`,
  }));
  const [first] = named;
  if (first === undefined) return { message: 'Waiting for other pods to end', uids };
  if (holders.length === 1) {
    return { message: `Waiting for ${first.name} to end: it ${first.has}`, uids };
  }
  const others = holders.length - named.length;
  const all = [
    ...named.map(({ name, has }) => `${name} ${has}`),
    ...(others > 0 ? [`and ${others} more`] : []),
  ];
  return { message: `Waiting for ${holders.length} pods to end: ${all.join('; ')}`, uids };
}

/**
 * Names a pod; with the word "former" if it has the name of the waiting pod, as after a forced deletion.
 *
 * Pods of other namespaces stay anonymous: not everybody who can read this pod may know about them.
 */
function nameBeside({ metadata }: NodePod, pod: NodePod): string {
  if (metadata.namespace !== pod.metadata.namespace) return 'a pod of another namespace';
  const name = formatPod(metadata);
  return name === formatPod(pod.metadata) ? `the former ${name}` : name;
}

function sortKeyOf({ metadata }: NodePod): string {
  return `${formatPod(metadata)} ${metadata.uid}`;
}

function thingsOf(
  holder: NodePod,
  wanted: TakenHostPorts,
  shortages: readonly Pick<Shortage, 'resource'>[],
): readonly string[] {
  const ports = hostPortsOf(holder).filter((port) => wanted.collides(port));
  const resources = shortages.filter(({ resource }) => amountOf(holder, resource) > 0n);
  return [...ports.map(describePort), ...resources.map(({ resource }) => describeResource(resource))];
}

function describePort({ port, protocol }: HostPort): string {
  return `host port ${port}${protocol === 'TCP' ? '' : `/${protocol}`}`;
}

function describeResource(resource: string): string {
  return resource === 'pods' ? 'a place among the pods' : resource;
}
