/**
 * Whether this node can keep what a pod's security asks for: pure, in the kubelet's order and words.
 *
 * In: the pod, and what kernel and runtime can do. Out: undefined for a pod that may go on, or the reason and message
 * that its status then carries. A promise about safety that cannot be kept is refused, and not forgotten in silence.
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { findSysctlProblem } from '#kube/validation/sysctl-names.js';

import { type Admission } from './admit-pod.js';

/** What {@link admitSecurity} goes by. */
export interface SecurityFeatures {
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the kernel enforces AppArmor's profiles. */
  readonly appArmor: boolean;
  /** Whether the runtime heeds supplementalGroupsPolicy Strict; undefined as long as it has not told. */
  readonly strictGroups: boolean | undefined;
}

/** Why a pod is rejected; undefined when it is not. */
export function admitSecurity(pod: NodePod, features: SecurityFeatures): Admission | undefined {
  const { spec } = pod;
  for (const { name } of spec.securityContext?.sysctls ?? []) {
    const problem = findSysctlProblem(name, spec, features.allowedUnsafeSysctls);
    if (problem !== undefined) return rejected('SysctlForbidden', `forbidden sysctl: ${problem}`);
  }
  if (features.strictGroups === false && spec.securityContext?.supplementalGroupsPolicy === 'Strict') {
    return rejected(
      'SupplementalGroupsPolicyNotSupported',
      'SupplementalGroupsPolicy=Strict is not supported in this node',
    );
  }
  if (!features.appArmor && wantsAppArmor(pod)) {
    return rejected('AppArmor', 'Cannot enforce AppArmor: AppArmor is not enabled on the host');
  }
  return undefined;
}

function wantsAppArmor({ spec }: NodePod): boolean {
  const ofPod = spec.securityContext?.appArmorProfile;
  const isMeant = ({ securityContext }: Container): boolean => {
    const profile = securityContext?.appArmorProfile ?? ofPod;
    return profile !== undefined && profile.type !== 'Unconfined';
  };
  return [...(spec.initContainers ?? []), ...spec.containers].some(isMeant);
}

function rejected(reason: string, message: string): Admission {
  return { admit: false, reason, message };
}
