import { type NodePod } from '#kube/pod/node-pod.js';
import { ANNOTATIONS, type PodStatus } from '#watch';

/** Why the sandboxes of a pod cannot be used. */
export interface SandboxFlaw {
  /** `network`: the pod was edited and asks for another network. In all other cases the sandbox was lost. */
  readonly kind: 'none' | 'several' | 'not-ready' | 'network' | 'no-ip';
  /** As the kubelet logs it. */
  readonly message: string;
  /** As the kubelet writes it into the pod's condition `PodReadyToStartContainers`. */
  readonly condition: string;
}

const FLAWS = {
  none: 'No sandbox for pod can be found. Need to start a new one',
  several: 'Multiple sandboxes are ready for Pod. Need to reconcile them',
  'not-ready': 'No ready sandbox for pod can be found. Need to start a new one',
  network: 'Sandbox for pod has changed. Need to start a new one',
  'no-ip': 'Sandbox for pod has no IP address. Need to start a new one',
} as const satisfies Record<SandboxFlaw['kind'], string>;

/**
 * The messages of the condition `PodReadyToStartContainers` while it is False, as kubelets write them since
 * v1.37.
 */
export const SANDBOX_CONDITIONS = {
  none: 'no pod sandbox exists',
  several: 'multiple pod sandboxes are ready and need to be reconciled',
  'not-ready': 'pod sandbox is not ready',
  network: 'network namespace mode changed and sandbox needs to be recreated',
  'no-ip': 'pod sandbox has no IP address',
} as const satisfies Record<SandboxFlaw['kind'], string>;

/**
 * Why the newest sandbox cannot be used; undefined when containers may start in it. Pure.
 *
 * The hash of an owned sandbox shows whether the pod asks for another network. Its actual network does not: a
 * runtime may give less than requested (the host's network if it can make no other), and would give the same
 * again. For the same reason a sandbox without an address is tried again only once, and only while nothing is
 * in it.
 */
export function findSandboxFlaw(pod: Pick<NodePod, 'spec'>, observed: PodStatus): SandboxFlaw | undefined {
  const kind = findFlawKind(pod.spec.hostNetwork === true, observed);
  return kind && { kind, message: FLAWS[kind], condition: SANDBOX_CONDITIONS[kind] };
}

function findFlawKind(wantsHost: boolean, observed: PodStatus): SandboxFlaw['kind'] | undefined {
  const { sandboxes, containers } = observed;
  const [newest] = sandboxes;
  if (newest === undefined) return 'none';
  if (sandboxes.filter(({ state }) => state === 'running').length > 1) return 'several';
  const { state, hostNetwork, ips, annotations, attempt, id } = newest;
  if (state !== 'running') return 'not-ready';
  if (hostNetwork !== wantsHost && annotations[ANNOTATIONS.sandboxHash] === undefined) return 'network';
  const lacksAddress = !wantsHost && !hostNetwork && ips.length === 0;
  const isUnused = attempt === 0 && !containers.some(({ sandboxId }) => sandboxId === id);
  return lacksAddress && isUnused ? 'no-ip' : undefined;
}
