import { describe, expect, it } from 'vitest';
import { type PodSpec } from '#kube/pod/pod.js';
import { aSpecPod, aSpecContainer } from '#support/builders/node-pods.js';
import { admitSecurity, type SecurityFeatures } from './admit-security.js';

const features: SecurityFeatures = { allowedUnsafeSysctls: [], appArmor: false, strictGroups: false };
const admit = (spec: Partial<PodSpec>, more: Partial<SecurityFeatures> = {}) =>
  admitSecurity(aSpecPod(spec), { ...features, ...more });
const RUNTIME_DEFAULT = { type: 'RuntimeDefault' } as const;

describe('a pod whose security this node cannot keep', () => {
  it('is rejected for a sysctl that is not allowed', () => {
    const sysctls = [{ name: 'net.core.somaxconn', value: '1' }];
    expect(admit({ securityContext: { sysctls } })).toEqual({
      ...{ admit: false, reason: 'SysctlForbidden' },
      message: 'forbidden sysctl: "net.core.somaxconn" not allowlisted',
    });
    expect(admit({ securityContext: { sysctls } }, { allowedUnsafeSysctls: ['net.core.*'] })).toBeUndefined();
  });

  it('is rejected for a sysctl of a network that is the node’s', () => {
    const sysctls = [{ name: 'net.ipv4.tcp_syncookies', value: '1' }];
    expect(admit({ hostNetwork: true, securityContext: { sysctls } })).toMatchObject({
      message: 'forbidden sysctl: "net.ipv4.tcp_syncookies" not allowed with host net enabled',
    });
  });

  it('is rejected for AppArmor where the kernel has none', () => {
    const rejection = {
      ...{ admit: false, reason: 'AppArmor' },
      message: 'Cannot enforce AppArmor: AppArmor is not enabled on the host',
    };
    const spec = { securityContext: { appArmorProfile: RUNTIME_DEFAULT } };
    expect(admit(spec)).toEqual(rejection);
    const init = aSpecContainer({ name: 'i', securityContext: { appArmorProfile: RUNTIME_DEFAULT } });
    expect(admit({ initContainers: [init] })).toEqual(rejection);
    expect(admit(spec, { appArmor: true })).toBeUndefined();
    expect(admit({ securityContext: { appArmorProfile: { type: 'Unconfined' } } })).toBeUndefined();
  });

  it('is rejected for strict groups that the runtime does not know', () => {
    const spec = { securityContext: { supplementalGroupsPolicy: 'Strict' } } as const;
    expect(admit(spec)).toEqual({
      ...{ admit: false, reason: 'SupplementalGroupsPolicyNotSupported' },
      message: 'SupplementalGroupsPolicy=Strict is not supported in this node',
    });
    expect(admit(spec, { strictGroups: true })).toBeUndefined();
    expect(admit(spec, { strictGroups: undefined })).toBeUndefined();
    expect(admit({ securityContext: { supplementalGroupsPolicy: 'Merge' } })).toBeUndefined();
  });

  it('is not when it asks for nothing', () => {
    expect(admit({})).toBeUndefined();
  });
});
