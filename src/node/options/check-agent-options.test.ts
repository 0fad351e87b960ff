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
    [{ oomScoreAdj: -1_001 }, '--oom-score-adj: -1001 is not from -1000 to 1000'],
    [{ maxOpenFiles: 0 }, '--max-open-files: 0 is not at least 1'],
    [{ podCidr: '10.88.0.0' }, '--pod-cidr: "10.88.0.0": must be a network such as 10.88.0.0/16'],
    [{ podCidr: '10.88.0.0/16,10.89.0.0/16' }, '--pod-cidr: "10.88.0.0/16,10.89.0.0/16": must be'],
    [{ podCidr: '10.88.0.0/33' }, '--pod-cidr: "10.88.0.0/33": must be'],
    [{ podCidr: '10.88.0.0/16,' }, '--pod-cidr: "10.88.0.0/16,": must be'],
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

describe('the options for the ports of the agent', () => {
  it('may come from the file of a kubelet, as kubeadm writes it', () => {
    const { config, warnings } = readKubeletConfig(
      `${HEAD}address: 0.0.0.0
port: 10250
readOnlyPort: 10255
healthzBindAddress: 127.0.0.1
healthzPort: 10248
tlsCertFile: pki/kubelet.crt
tlsPrivateKeyFile: /pki/kubelet.key
tlsMinVersion: VersionTLS13
tlsCipherSuites: [TLS_AES_128_GCM_SHA256]
enableDebuggingHandlers: false
authentication:
  anonymous: { enabled: false }
  webhook: { enabled: true, cacheTTL: 0s }
  x509: { clientCAFile: pki/ca.crt }
`,
      '/etc/kubelet/config.yaml',
    );
    expect(warnings).toEqual([
      '/etc/kubelet/config.yaml:15:3: authentication.webhook: has no effect: there is no API server to ask for permissions',
    ]);
    expect(resolveAgentOptions({}, config)).toMatchObject({
      ...{ address: '0.0.0.0', port: 10250, readOnlyPort: 10255, healthzPort: 10248 },
      ...{ tlsCertFile: '/etc/kubelet/pki/kubelet.crt', tlsPrivateKeyFile: '/pki/kubelet.key' },
      ...{ tlsMinVersion: 'VersionTLS13', clientCaFile: '/etc/kubelet/pki/ca.crt' },
      ...{ anonymousAuth: false, authorizationMode: 'Webhook', enableDebuggingHandlers: false },
    });
  });

  it('asks the API server of a cluster by default, and caches its answers as long as a kubelet', () => {
    const kubeletsOwn = {
      ...{ anonymousAuth: false, authorizationMode: 'Webhook', authenticationTokenWebhook: true },
      ...{ authenticationTokenWebhookCacheTtlMs: 120_000 },
      authorizationWebhookCacheAuthorizedTtlMs: 300_000,
      authorizationWebhookCacheUnauthorizedTtlMs: 30_000,
    };
    expect(resolveAgentOptions({ kubeconfig: '/k' })).toMatchObject(kubeletsOwn);
    expect(resolveAgentOptions({})).toMatchObject({ anonymousAuth: true, authorizationMode: 'AlwaysAllow' });
    const text =
      'authentication: { anonymous: { enabled: true }, webhook: { enabled: false, cacheTTL: 5s } }\n' +
      'authorization:\n  mode: AlwaysAllow\n  webhook: { cacheAuthorizedTTL: 1m, cacheUnauthorizedTTL: 0s }\n';
    const { config, warnings } = readKubeletConfig(HEAD + text, 'k.yaml', true);
    expect(warnings).toEqual([]);
    expect(resolveAgentOptions({ kubeconfig: '/k' }, config)).toMatchObject({
      ...{ anonymousAuth: true, authorizationMode: 'AlwaysAllow', authenticationTokenWebhook: false },
      ...{ authenticationTokenWebhookCacheTtlMs: 5_000, authorizationWebhookCacheAuthorizedTtlMs: 60_000 },
      authorizationWebhookCacheUnauthorizedTtlMs: 30_000,
    });
    expect(resolveAgentOptions({ kubeconfig: '/k', anonymousAuth: false }, config).anonymousAuth).toBe(false);
  });

  it('is the kubelet’s port in a cluster by default', () => {
    expect(resolveAgentOptions({}).port).toBe(0);
    expect(resolveAgentOptions({ kubeconfig: '/k' }).port).toBe(10_250);
    expect(resolveAgentOptions({ kubeconfig: '/k' }, { port: 7 }).port).toBe(7);
    expect(resolveAgentOptions({ kubeconfig: '/k', port: 0 }, { port: 7 }).port).toBe(0);
  });

  it.each<[GivenAgentOptions, string]>([
    [{ address: 'node-1' }, '--address: "node-1" is not an address, such as 127.0.0.1'],
    [{ address: 'fe80::1%eth0' }, '--address: "fe80::1%eth0" is not an address'],
    [{ healthzBindAddress: '' }, '--healthz-bind-address: "" is not an address'],
    [{ port: 65_536 }, '--port: 65536 is not a port, from 0 to 65535'],
    [{ readOnlyPort: -1 }, '--read-only-port: -1 is not a port'],
    [{ port: 7, readOnlyPort: 7 }, '--read-only-port: 7 is the port of --port, too'],
    [{ kubeconfig: '/k', healthzPort: 10_250 }, '--healthz-port: 10250 is the port of --port, too'],
    [{ tlsCertFile: '/c' }, '--tls-cert-file: needs --tls-private-key-file, too'],
    [{ tlsPrivateKeyFile: '/k' }, '--tls-private-key-file: needs --tls-cert-file, too'],
    [
      { tlsCipherSuites: ['TLS_RSA_WITH_RC4_128_SHA'] },
      '--tls-cipher-suites: "TLS_RSA_WITH_RC4_128_SHA" is not',
    ],
  ])('is refused when it is wrong: %j', (given, message) => {
    expect(() => resolveAgentOptions(given)).toThrow(message);
  });

  it.each([
    ['address: node-1\n', 'k.yaml:3:10: address: Invalid value: "node-1"'],
    ['port: 65536\n', 'port: Invalid value: 65536'],
    ['readOnlyPort: -1\n', 'readOnlyPort: Invalid value: -1'],
    ['tlsMinVersion: VersionTLS10\n', 'tlsMinVersion: '],
    ['tlsCipherSuites: [TLS_RSA_WITH_RC4_128_SHA]\n', 'tlsCipherSuites[0]: '],
    ['authorization: { mode: RBAC }\n', 'authorization.mode: '],
    ['authentication: { webhook: { cacheTTL: 5 } }\n', 'authentication.webhook.cacheTTL: must be a duration'],
    [
      'authorization: { webhook: { cacheAuthorizedTTL: -1s } }\n',
      'authorization.webhook.cacheAuthorizedTTL: ',
    ],
    ['eventRecordQPS: -1\n', 'eventRecordQPS: Invalid value: -1'],
    ['authentication: { x509: { caFile: /x } }\n', 'authentication.x509.caFile: '],
    ['authentication: { anonymous: { enabled: "no" } }\n', 'authentication.anonymous.enabled: '],
  ])('is refused in a file as well: %j', (text, message) => {
    expect(() => readKubeletConfig(HEAD + text, 'k.yaml')).toThrow(message);
  });
});

describe('the options for the certificates of a node', () => {
  it('may come from the file of a kubelet, and renew certificates by default', () => {
    const { config, warnings } = readKubeletConfig(
      `${HEAD}rotateCertificates: false\nserverTLSBootstrap: true\n`,
      'k.yaml',
      true,
    );
    expect(warnings).toEqual([]);
    const told = { rotateCertificates: false, serverTlsBootstrap: true };
    expect(resolveAgentOptions({}, config)).toMatchObject(told);
    const untold = { rotateCertificates: true, serverTlsBootstrap: false, certDir: '' };
    expect(resolveAgentOptions({})).toMatchObject(untold);
  });

  it.each<[GivenAgentOptions, string]>([
    [{ certDir: 'pki' }, '--cert-dir: "pki" is not an absolute path'],
    [{ bootstrapKubeconfig: '/b.conf' }, '--bootstrap-kubeconfig: needs --kubeconfig, too'],
    [
      { serverTlsBootstrap: true, tlsCertFile: '/a.crt', tlsPrivateKeyFile: '/a.key' },
      '--rotate-server-certificates (serverTLSBootstrap): does not go with --tls-cert-file',
    ],
  ])('is refused when it makes no sense: %j', (given, message) => {
    expect(() => resolveAgentOptions(given)).toThrow(message);
  });
});

describe('what is reserved and enforced', () => {
  it('may come from the file of a kubelet', () => {
    const { config, warnings } = readKubeletConfig(
      `${HEAD}systemReserved: {memory: 1Gi, pid: "500"}\nkubeReserved: {cpu: 200m}\nsystemReservedCgroup: /system.slice\n` +
        'enforceNodeAllocatable: [pods, system-reserved]\n',
      'k.yaml',
    );
    expect(warnings).toEqual([]);
    expect(resolveAgentOptions({}, config)).toMatchObject({
      ...{ systemReserved: { memory: '1Gi', pid: '500' }, kubeReserved: { cpu: '200m' } },
      ...{ systemReservedCgroup: '/system.slice', enforceNodeAllocatable: ['pods', 'system-reserved'] },
    });
    expect(resolveAgentOptions({})).toMatchObject({
      enforceNodeAllocatable: ['pods'],
      reservedSystemCpus: '',
    });
  });

  it.each<[GivenAgentOptions, string]>([
    [
      { systemReserved: { cpu: 'much' } },
      '--system-reserved: cpu: "much" is no amount, such as 200m or 500Mi',
    ],
    [
      { kubeReserved: { gpu: '1' } },
      '--kube-reserved: gpu: "1" cannot reserve gpu resource; use one of cpu, memory,',
    ],
    [{ kubeReserved: { memory: '-1Gi' } }, '--kube-reserved: memory: "-1Gi" must not be negative'],
    [
      { enforceNodeAllocatable: ['pod'] },
      '--enforce-node-allocatable: "pod" is not one of pods, system-reserved,',
    ],
    [{ enforceNodeAllocatable: ['none', 'pods'] }, 'none does not go with other words'],
    [
      { enforceNodeAllocatable: ['system-reserved'] },
      'system-reserved needs --system-reserved-cgroup, too: the cgroup to limit',
    ],
    [
      { enforceNodeAllocatable: ['pods', 'kube-reserved-compressible'] },
      'kube-reserved-compressible needs --kube-reserved-cgroup, too',
    ],
    [
      {
        enforceNodeAllocatable: ['kube-reserved', 'kube-reserved-compressible'],
        kubeReservedCgroup: '/kube',
      },
      'kube-reserved and kube-reserved-compressible do not go together',
    ],
    [{ systemReservedCgroup: '/../x' }, '--system-reserved-cgroup: "/../x" must be the path of a cgroup'],
    [
      {
        cgroupsPerQos: false,
        enforceNodeAllocatable: ['pods', 'kube-reserved'],
        kubeReservedCgroup: '/kube',
      },
      '--enforce-node-allocatable: does not go with --cgroups-per-qos=false',
    ],
    [{ reservedSystemCpus: '3-1' }, '--reserved-cpus: "3-1" is no list of processors, such as 0-1,4'],
    [
      { reservedSystemCpus: '0', kubeReservedCgroup: '/kube' },
      '--reserved-cpus: does not go with --system-reserved-cgroup or --kube-reserved-cgroup',
    ],
  ])('is refused when it is wrong: %j', (given, message) => {
    expect(() => resolveAgentOptions(given)).toThrow(message);
  });

  it.each<GivenAgentOptions>([
    { enforceNodeAllocatable: [] },
    { enforceNodeAllocatable: ['none'], cgroupsPerQos: false },
    { cgroupsPerQos: false },
    { reservedSystemCpus: '0-1', systemReserved: { memory: '1Gi' } },
  ])('is taken when it is right: %j', (given) => {
    expect(resolveAgentOptions(given)).toMatchObject(given);
  });
});
