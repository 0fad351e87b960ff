import { type NodePod } from '../model/node-pod.js';
import { type PodStatus, type SandboxStatus } from '../runtime/runtime.js';

/** Why the sandboxes of a pod will not do. */
export interface SandboxFlaw {
  /** `network` is on another network than the pod asks for: somebody changed the pod. All else was lost. */
  readonly kind: 'none' | 'several' | 'not-ready' | 'network' | 'no-ip';
  /** As the kubelet logs it. */
  readonly message: string;
}

const FLAWS = {
  none: 'No sandbox for pod can be found. Need to start a new one',
  several: 'Multiple sandboxes are ready for Pod. Need to reconcile them',
  'not-ready': 'No ready sandbox for pod can be found. Need to start a new one',
  network: 'Sandbox for pod has changed. Need to start a new one',
  'no-ip': 'Sandbox for pod has no IP address. Need to start a new one',
} as const satisfies Record<SandboxFlaw['kind'], string>;

/** Why the newest sandbox cannot be used; undefined when containers may be started in it. Pure. */
export function findSandboxFlaw(pod: Pick<NodePod, 'spec'>, observed: PodStatus): SandboxFlaw | undefined {
  const kind = findFlawKind(pod.spec.hostNetwork === true, observed.sandboxes);
  return kind && { kind, message: FLAWS[kind] };
}

function findFlawKind(
  hostNetwork: boolean,
  sandboxes: readonly SandboxStatus[],
): SandboxFlaw['kind'] | undefined {
  const [newest] = sandboxes;
  if (newest === undefined) return 'none';
  if (sandboxes.filter(({ state }) => state === 'running').length > 1) return 'several';
  if (newest.state !== 'running') return 'not-ready';
  if (newest.hostNetwork !== hostNetwork) return 'network';
  return !hostNetwork && newest.ips.length === 0 ? 'no-ip' : undefined;
}
