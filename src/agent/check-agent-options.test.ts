import { describe, expect, it } from 'vitest';
import { readKubeletConfig } from './kubelet-config/read-kubelet-config.js';
import { type GivenAgentOptions, resolveAgentOptions } from './resolve-agent-options.js';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';

describe('the names and settings that pods are given', () => {
  it('may come from the file of a kubelet', () => {
    const { config, warnings } = readKubeletConfig(
      `${HEAD}clusterDNS: [10.96.0.10, 'fd00::10']\nclusterDomain: cluster.local\nseccompDefault: true\nallowedUnsafeSysctls: ['net.core.*']\n`,
      'k.yaml',
    );
    expect(warnings).toEqual([]);
    expect(resolveAgentOptions({}, config)).toMatchObject({
      ...{ clusterDns: ['10.96.0.10', 'fd00::10'], clusterDomain: 'cluster.local' },
      ...{ seccompDefault: true, allowedUnsafeSysctls: ['net.core.*'] },
    });
  });

  it.each<[GivenAgentOptions, string]>([
    [{ clusterDns: ['10.96.0.10', 'dns'] }, '--cluster-dns: "dns" is not an address, such as 10.96.0.10'],
    [{ clusterDomain: 'cluster.local.' }, '--cluster-domain: "cluster.local.": use at most 253 of'],
    [
      { allowedUnsafeSysctls: ['net.*', 'vm.*'] },
      '--allowed-unsafe-sysctls: "vm.*": is not known to be of a namespace',
    ],
    [{ allowedUnsafeSysctls: ['*'] }, '--allowed-unsafe-sysctls: "*": '],
  ])('are refused when they are wrong: %j', (given, message) => {
    expect(() => resolveAgentOptions(given)).toThrow(message);
  });

  it.each([
    ['clusterDNS: [dns]\n', 'clusterDNS[0]: Invalid value: "dns"'],
    ['clusterDomain: a_b\n', 'clusterDomain: Invalid value: "a_b"'],
    ['allowedUnsafeSysctls: [kernel.*]\n', 'allowedUnsafeSysctls[0]: Invalid value: "kernel.*"'],
  ])('are refused in a file as well: %j', (text, message) => {
    expect(() => readKubeletConfig(HEAD + text, 'k.yaml')).toThrow(message);
  });
});
