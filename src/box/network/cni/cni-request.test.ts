import { describe, expect, it } from 'vitest';
import { PodSandboxConfig } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { toPluginConfig } from './cni-plugin-call.js';
import { toCniArgs, toCniCapabilities } from './cni-request.js';

describe('what plugins are told of a pod', () => {
  it('leaves out names that cannot be written down', () => {
    const config = PodSandboxConfig.fromPartial({
      metadata: { name: 'a;K8S_POD_NAME=b', namespace: 'ns', uid: 'u' },
    });
    expect(toCniArgs('id', config)).toBe(
      'IgnoreUnknown=1;K8S_POD_NAMESPACE=ns;K8S_POD_INFRA_CONTAINER_ID=id;K8S_POD_UID=u',
    );
  });

  it.each([
    ['10M', 10_000_000],
    ['1.5Gi', 1_610_612_736],
    ['800', 800],
    ['fast', undefined],
    ['-1M', undefined],
    ['0', undefined],
  ])('takes the bandwidth %s for %s bits a second', (text, bits) => {
    const config = PodSandboxConfig.fromPartial({ annotations: { 'kubernetes.io/ingress-bandwidth': text } });
    const bandwidth = bits === undefined ? undefined : { ingressRate: bits, ingressBurst: 2_147_483_647 };
    expect(toCniCapabilities(config, []).bandwidth).toEqual(bandwidth);
  });

  it('reaches only plugins that declare the capability', () => {
    const list = { cniVersion: '1.0.0', name: 'lab', plugins: [] };
    const capabilities = { portMappings: [1], dns: { servers: [] } };
    const plugin = {
      type: 'portmap',
      snat: true,
      capabilities: { portMappings: true, dns: false, ips: true },
    };
    const config = { type: 'portmap', snat: true, cniVersion: '1.0.0', name: 'lab' };
    expect(toPluginConfig({ list, plugin, capabilities, previous: undefined })).toEqual({
      ...config,
      runtimeConfig: { portMappings: [1] },
    });
    const plain = { type: 'tuning' };
    const previous = { ips: [] };
    expect(toPluginConfig({ list, plugin: plain, capabilities, previous })).toEqual({
      ...{ type: 'tuning', cniVersion: '1.0.0', name: 'lab', prevResult: previous },
    });
  });
});
