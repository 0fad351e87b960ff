/**
 * Whether this node can provide the security that a pod asks for: pure, in the kubelet's order and words.
 *
 * In: the pod, and what kernel and runtime support. Out: undefined for a pod that may run, or the reason and
 * message for its status. A promise of security that cannot be kept is refused, not silently dropped.
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { findSysctlProblem } from '#kube/validation/sysctl-names.js';

import { type Admission } from './admit-pod.js';

/** What {@link admitSecurity} bases its decision on. */
export interface SecurityFeatures {
  readonly allowedUnsafeSysctls: readonly string[];
  /** Whether the kernel enforces AppArmor's profiles. */
  readonly appArmor: boolean;
  /** Whether the runtime supports supplementalGroupsPolicy Strict; undefined until it has reported that. */
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
