import { describe, expect, it } from 'vitest';
import { KUBELET_CONFIG_TABLES } from './kubelet-config-fields.js';
import { readKubeletConfig } from './read-kubelet-config.js';

const HEAD = 'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n';
/** The ConfigMap `kubelet-config` of `kube-system`, as kubeadm v1.36 makes it. */
const OF_KUBEADM = `${HEAD}authentication:
  anonymous:
    enabled: false
  webhook:
    cacheTTL: 0s
    enabled: true
  x509:
    clientCAFile: /etc/kubernetes/pki/ca.crt
authorization:
  mode: Webhook
  webhook:
    cacheAuthorizedTTL: 0s
    cacheUnauthorizedTTL: 0s
cgroupDriver: systemd
clusterDNS:
- 10.96.0.10
clusterDomain: cluster.local
containerRuntimeEndpoint: ""
cpuManagerReconcilePeriod: 0s
crashLoopBackOff: {}
evictionPressureTransitionPeriod: 0s
fileCheckFrequency: 0s
healthzBindAddress: 127.0.0.1
healthzPort: 10248
httpCheckFrequency: 0s
imageMaximumGCAge: 0s
imageMinimumGCAge: 0s
logging:
  flushFrequency: 0
  options:
    json:
      infoBufferSize: "0"
    text:
      infoBufferSize: "0"
  verbosity: 0
memorySwap: {}
nodeStatusReportFrequency: 0s
nodeStatusUpdateFrequency: 0s
rotateCertificates: true
runtimeRequestTimeout: 0s
shutdownGracePeriod: 0s
shutdownGracePeriodCriticalPods: 0s
staticPodPath: /etc/kubernetes/manifests
streamingConnectionIdleTimeout: 0s
syncFrequency: 0s
volumeStatsAggPeriod: 0s
`;
const read = (text: string) => readKubeletConfig(HEAD + text, '/etc/podloop/kubelet.yaml');
const failure = (text: string): string => {
  try {
    readKubeletConfig(text, 'kubelet.yaml');
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error('it was read');
};

describe('a KubeletConfiguration', () => {
  it('is read with its durations in milliseconds and its sizes in bytes', () => {
    const { config, warnings } = read(
      'syncFrequency: 1m30s\nmaxPods: 50\ncontainerLogMaxSize: 10Mi\nstaticPodURLHeader: {A: [b, c]}\n' +
        'crashLoopBackOff: {maxContainerRestartPeriod: 30s}\nkubeReserved: {cpu: 0.5, memory: 1Gi}\n',
    );
    expect(config).toEqual({
      syncFrequencyMs: 90_000,
      maxPods: 50,
      containerLogMaxSizeBytes: 10 * 1024 * 1024,
      staticPodURLHeader: { A: ['b', 'c'] },
      maxContainerRestartPeriodMs: 30_000,
      kubeReserved: { cpu: '500m', memory: '1Gi' },
    });
    expect(warnings).toEqual([]);
  });

  it('says where the cgroups of pods go', () => {
    const { config, warnings } = read('cgroupDriver: systemd\ncgroupRoot: /pods\ncgroupsPerQOS: true\n');
    expect(config).toEqual({ cgroupDriver: 'systemd', cgroupRoot: '/pods', cgroupsPerQOS: true });
    expect(warnings).toEqual([]);
  });

  it('names its files relative to its own folder', () => {
    const { config } = read('staticPodPath: manifests\nresolvConf: ""\npodLogsDir: /var/log/pods\n');
    expect(config).toEqual({
      staticPodPath: '/etc/podloop/manifests',
      resolvConf: '',
      podLogsDir: '/var/log/pods',
    });
  });

  it('takes a duration of zero for the default, as a kubelet does', () => {
    expect(read('syncFrequency: 0s\n').config).toEqual({});
  });

  it('takes zeros and empty texts that a kubelet has no other meaning for as its defaults, and no others', () => {
    const { config, warnings } = read(
      'maxPods: 0\nport: 0\naddress: ""\nhealthzBindAddress: ""\npodLogsDir: ""\ncgroupDriver: ""\n' +
        'podsPerCore: 0\nreadOnlyPort: 0\nhealthzPort: 0\nresolvConf: ""\n',
    );
    expect(warnings).toEqual([]);
    expect(config).toEqual({ podsPerCore: 0, readOnlyPort: 0, healthzPort: 0, resolvConf: '' });
  });

  it('reads what is reserved for classes of service', () => {
    expect(read('qosReserved: {memory: 50%}\n').config).toEqual({ qosReserved: { memory: '50%' } });
    expect(read('qosReserved: {}\n').config).toEqual({ qosReserved: {} });
    for (const text of ['{memory: "50"}', '{memory: 101%}', '{memory: half}'])
      expect(() => read(`qosReserved: ${text}\n`)).toThrow(/qosReserved\[memory\]: .*from 0% to 100%/);
    for (const text of ['{cpu: 50%}', '{cpu: 5%, memory: 5%}'])
      expect(() => read(`qosReserved: ${text}\n`)).toThrow(/qosReserved\[cpu\]: .*use memory/);
  });

  it('gets a warning for each field without effect', () => {
    const { warnings } = read('runOnce: true\nmaxPods: 5\nkernelMemcgNotification: true\n');
    expect(warnings).toEqual([
      '/etc/podloop/kubelet.yaml:3:1: runOnce: has no effect: use --exit-when-done',
      '/etc/podloop/kubelet.yaml:5:1: kernelMemcgNotification: has no effect: what is left is measured every second in any case',
    ]);
  });

  it('says how long pods get when the machine shuts down', () => {
    const { config, warnings } = read(
      'shutdownGracePeriodByPodPriority: [{priority: 1000, shutdownGracePeriodSeconds: 30}, {shutdownGracePeriodSeconds: 5}]\n',
    );
    expect(warnings).toEqual([]);
    expect(config.shutdownGracePeriodByPodPriority).toEqual([
      { priority: 1_000, shutdownGracePeriodSeconds: 30 },
      { priority: 0, shutdownGracePeriodSeconds: 5 },
    ]);
    expect(failure('shutdownGracePeriod: 10s\nshutdownGracePeriodCriticalPods: 20s\n')).toContain(
      'shutdownGracePeriodCriticalPods: Invalid value: "20s": must not be more than shutdownGracePeriod, 10s',
    );
    expect(failure('shutdownGracePeriod: 10ms\n')).toContain('must be 0s or at least 1s');
    expect(
      failure('shutdownGracePeriod: 10s\nshutdownGracePeriodByPodPriority: [{priority: 1}]\n'),
    ).toContain('does not go with shutdownGracePeriod');
  });

  it('says which pods may use images on the node', () => {
    const { config, warnings } = read(
      'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\n' +
        'preloadedImagesVerificationAllowlist: [registry.example/team/*, busybox]\n',
    );
    expect(warnings).toEqual([]);
    expect(config).toEqual({
      imagePullCredentialsVerificationPolicy: 'NeverVerifyAllowlistedImages',
      preloadedImagesVerificationAllowlist: ['registry.example/team/*', 'busybox'],
    });
  });

  it('is read as kubeadm writes it for the nodes of a cluster, without a warning', () => {
    const { config, warnings } = readKubeletConfig(OF_KUBEADM, '/var/lib/kubelet/config.yaml', true);
    expect(warnings).toEqual([]);
    expect(config).toMatchObject({
      ...{ clusterDNS: ['10.96.0.10'], clusterDomain: 'cluster.local', cgroupDriver: 'systemd' },
      ...{ clientCAFile: '/etc/kubernetes/pki/ca.crt', anonymousAuth: false, authorizationMode: 'Webhook' },
      ...{ staticPodPath: '/etc/kubernetes/manifests', healthzPort: 10_248 },
    });
  });

  it('explains why fields about an API server have no effect, with one and without', () => {
    const text =
      'contentType: application/json\nenableControllerAttachDetach: false\n' +
      'configMapAndSecretChangeDetectionStrategy: Cache\nrunOnce: true\n';
    const reasons = [
      'contentType: has no effect: API servers are sent JSON',
      'enableControllerAttachDetach: has no effect: podloop attaches no volumes',
      'configMapAndSecretChangeDetectionStrategy: has no effect: ConfigMaps and Secrets of an API server are always watched',
      'runOnce: has no effect: use --exit-when-done',
    ];
    for (const isInCluster of [true, false]) {
      const { warnings } = readKubeletConfig(HEAD + text, 'k.yaml', isInCluster);
      expect(warnings.map((each) => each.replace(/^k\.yaml:\d+:1: /, '')).sort()).toEqual(
        [...reasons].sort(),
      );
    }
    const usual = 'enableControllerAttachDetach: true\nconfigMapAndSecretChangeDetectionStrategy: Watch\n';
    expect(read(usual).warnings).toEqual([]);
  });

  it('says when a node of a cluster is short of something, and what pods are evicted for', () => {
    const { config, warnings } = read(
      'evictionHard: {memory.available: 5%}\nevictionSoft: {nodefs.available: 1Gi}\n' +
        'evictionPressureTransitionPeriod: 30s\nmergeDefaultEvictionSettings: true\n' +
        'evictionSoftGracePeriod: {nodefs.available: 1m30s}\nevictionMaxPodGracePeriod: 20\n' +
        'evictionMinimumReclaim: {nodefs.available: 500Mi, memory.available: 0Mi}\n',
    );
    expect(warnings).toEqual([]);
    expect(config).toEqual({
      ...{ evictionHard: { 'memory.available': '5%' }, evictionSoft: { 'nodefs.available': '1Gi' } },
      ...{ evictionPressureTransitionPeriodMs: 30_000, mergeDefaultEvictionSettings: true },
      ...{ evictionSoftGracePeriod: { 'nodefs.available': '1m30s' }, evictionMaxPodGracePeriod: 20 },
      ...{ evictionMinimumReclaim: { 'nodefs.available': '500Mi', 'memory.available': '0Mi' } },
    });
  });

  it('is warned of what would pin containers, with what to do, unless it pins nothing', () => {
    const { warnings } = read(
      'cpuManagerReconcilePeriod: 3s\ntopologyManagerPolicy: best-effort\ncpuManagerPolicy: none\n',
    );
    const why =
      'has no effect: podloop pins nothing to cores, memory nodes or devices; to keep all pods to some, give them a slice with AllowedCPUs= and AllowedMemoryNodes= as cgroupRoot';
    expect(warnings).toEqual([
      `/etc/podloop/kubelet.yaml:3:1: cpuManagerReconcilePeriod: ${why}`,
      `/etc/podloop/kubelet.yaml:4:1: topologyManagerPolicy: ${why}`,
    ]);
    const none = 'cpuManagerPolicy: none\nmemoryManagerPolicy: None\ntopologyManagerScope: container\n';
    expect(read(`${none}cpuManagerReconcilePeriod: 0s\n`).warnings).toEqual([]);
  });

  it.each([
    ['cpuManagerPolicy', 'static', 'none'],
    ['cpuManagerPolicy', 'Static', 'none'],
    ['memoryManagerPolicy', 'Static', 'None'],
    ['topologyManagerPolicy', 'restricted', 'none'],
    ['topologyManagerPolicy', 'single-numa-node', 'none'],
  ])('is refused where pods would be promised what nobody keeps: %s: %s', (field, policy, instead) => {
    expect(failure(`${HEAD}${field}: ${policy}\n`)).toBe(
      `kubelet.yaml:3:${field.length + 3}: ${field}: "${policy}" is not supported: use ${instead}: podloop pins nothing to cores, memory nodes or devices; to keep all pods to some, give them a slice with AllowedCPUs= and AllowedMemoryNodes= as cgroupRoot`,
    );
  });

  it('says who may swap', () => {
    const { config, warnings } = read('memorySwap: {swapBehavior: LimitedSwap}\n');
    expect([config, warnings]).toEqual([{ swapBehavior: 'LimitedSwap' }, []]);
    expect(failure(`${HEAD}memorySwap: {swapBehavior: UnlimitedSwap}\n`)).toContain(
      'memorySwap.swapBehavior: Unsupported value: "UnlimitedSwap"',
    );
  });

  it('says how many ids a pod with users of its own gets', () => {
    const { config, warnings } = read('userNamespaces: {idsPerPod: 131072}\n');
    expect([config, warnings]).toEqual([{ idsPerPod: 131_072 }, []]);
    for (const count of [0, 65_535, 65_537, 2 ** 32]) {
      expect(failure(`${HEAD}userNamespaces: {idsPerPod: ${count}}\n`)).toContain(
        `userNamespaces.idsPerPod: Invalid value: ${count}: must be a multiple of 65536, at most 4294967295`,
      );
    }
  });

  it('says how long images may be unused, how often volumes are measured, and where pods have their addresses', () => {
    const { config, warnings } = read(
      'imageMaximumGCAge: 12h\nvolumeStatsAggPeriod: -1s\npodCIDR: 10.1.0.0/16,fd00::/64\nmakeIPTablesUtilChains: true\n',
    );
    expect([config, warnings]).toEqual([
      {
        ...{ imageMaximumGCAgeMs: 43_200_000, volumeStatsAggPeriodMs: -1_000 },
        ...{ podCIDR: '10.1.0.0/16,fd00::/64', makeIPTablesUtilChains: true },
      },
      [],
    ]);
    const qos = 'memoryThrottlingFactor: 0.9\nmemoryReservationPolicy: TieredReservation\n';
    expect(read(qos)).toMatchObject({
      config: { memoryThrottlingFactor: 0.9, memoryReservationPolicy: 'TieredReservation' },
      warnings: [],
    });
    expect(read('memoryThrottlingFactor: null\n').config).toEqual({});
    expect(read('imageMaximumGCAge: 0s\nvolumeStatsAggPeriod: 0s\n').config).toEqual({});
  });

  it('may be written as JSON', () => {
    const text = '{"apiVersion":"kubelet.config.k8s.io/v1beta1","kind":"KubeletConfiguration","maxPods":3}';
    expect(readKubeletConfig(text, 'k.json').config).toEqual({ maxPods: 3 });
  });

  it.each([
    ['maxPod: 3\n', 'kubelet.yaml:3:1: maxPod: unknown field, did you mean maxPods?'],
    ['maxPods: "3"\n', 'maxPods: must be a whole number, not "3"; leave the quotes out'],
    ['syncFrequency: 60\n', 'syncFrequency: must be a duration such as 500ms, 20s or 1m30s, not 60'],
    [
      'syncFrequency: "60"\n',
      'syncFrequency: Invalid value: "60": is not a duration: the unit is missing, as in 60s',
    ],
    ['syncFrequency: 10ms\n', 'syncFrequency: Invalid value: 10: must be at least 1s'],
    ['imageGCLowThresholdPercent: 90\n', 'must be less than imageGCHighThresholdPercent, 85'],
    ['imageGCHighThresholdPercent: 101\n', 'must be from 0 to 100'],
    [
      'imageMaximumGCAge: 2m\n',
      'imageMaximumGCAge: Invalid value: "2m0s": must be more than imageMinimumGCAge, 2m0s',
    ],
    ['imageMinimumGCAge: 1h\nimageMaximumGCAge: 30m\n', 'must be more than imageMinimumGCAge, 1h'],
    ['podCIDR: 10.88.0.0\n', 'podCIDR: Invalid value: "10.88.0.0": must be a network such as 10.88.0.0/16'],
    [
      'memoryThrottlingFactor: 0\n',
      'memoryThrottlingFactor: Invalid value: 0: must be a number that is more than 0',
    ],
    ['memoryThrottlingFactor: "0.9"\n', 'memoryThrottlingFactor: Invalid value: "0.9": must be a number'],
    ['memoryReservationPolicy: Tiered\n', 'memoryReservationPolicy: Unsupported value: "Tiered"'],
    ['serializeImagePulls: true\nmaxParallelImagePulls: 4\n', 'must be 1 while serializeImagePulls is true'],
    [
      'imagePullCredentialsVerificationPolicy: Sometimes\n',
      'imagePullCredentialsVerificationPolicy: Unsupported value: "Sometimes"',
    ],
    [
      'imagePullCredentialsVerificationPolicy: NeverVerifyAllowlistedImages\npreloadedImagesVerificationAllowlist: [a, "b*"]\n',
      'preloadedImagesVerificationAllowlist[1]: Invalid value: "b*": not a valid wildcard pattern, only patterns ending with \'/*\' are allowed',
    ],
    [
      'preloadedImagesVerificationAllowlist: [a]\n',
      'imagePullCredentialsVerificationPolicy has to be NeverVerifyAllowlistedImages',
    ],
    ['containerLogMaxFiles: 1\n', 'containerLogMaxFiles: Invalid value: 1: must be at least 2'],
    ['cgroupDriver: sytemd\n', 'cgroupDriver: Unsupported value: "sytemd"'],
    ['cgroupRoot: /a/../b\n', 'cgroupRoot: Invalid value: "/a/../b": must be the path of a cgroup'],
    ['staticPodURL: ftp://x/\n', 'must be an http:// or https:// URL'],
    [
      'systemReserved: {cpus: 100m}\n',
      'systemReserved[cpus]: Invalid value: "100m": cannot reserve cpus resource; use one of cpu, memory, ephemeral-storage, pid',
    ],
    ['kubeReserved: {memory: "-1Gi"}\n', 'kubeReserved[memory]: Invalid value: "-1Gi": must not be negative'],
    [
      'evictionHard: {memory.free: 1Gi}\n',
      'evictionHard[memory.free]: Invalid value: "1Gi": memory.free: use one of memory.available',
    ],
    ['evictionSoft: {memory.available: 101%}\n', '"101%" is neither an amount above 0'],
    [
      'evictionSoft: {nodefs.available: 1Gi}\nevictionSoftGracePeriod: {memory.available: 1m}\n',
      'evictionSoft[nodefs.available]: Invalid value: "1Gi": evictionSoftGracePeriod has to say how long it may hold',
    ],
    [
      'evictionSoftGracePeriod: {memory.free: 1m}\n',
      'evictionSoftGracePeriod[memory.free]: Invalid value: "1m": use one of',
    ],
    [
      'evictionSoftGracePeriod: {memory.available: 1 minute}\n',
      'evictionSoftGracePeriod[memory.available]: Invalid value: "1 minute": ',
    ],
    ['evictionMinimumReclaim: {memory.available: lots}\n', '"lots" is neither an amount, such as'],
    ['evictionMaxPodGracePeriod: -1\n', 'evictionMaxPodGracePeriod: Invalid value: -1: '],
    ['crashLoopBackOff: {maxRestart: 3s}\n', 'crashLoopBackOff.maxRestart: unknown field'],
    ['logging: {format: xml}\n', 'logging.format: '],
    ['logging: {verbosity: -1}\n', 'logging.verbosity: '],
    ['logging: {colour: red}\n', 'logging.colour: unknown field'],
    ['logging: {vmodule: [{filePattern: pkg/x, verbosity: 3}]}\n', 'logging.vmodule[0].filePattern: '],
    ['logging: {vmodule: [{verbosity: 3}]}\n', 'logging.vmodule[0].filePattern: '],
    ['maxPods: 1\nmaxPods: 2\n', 'kubelet.yaml:4:1: maxPods: the key "maxPods" stands here twice'],
  ])('is refused as a whole for %j', (text, message) => {
    expect(failure(HEAD + text)).toContain(message);
  });

  it('reports every problem at once', () => {
    const message = failure(HEAD + 'maxPods: x\npodsPerCore: y\n');
    expect(message).toContain('kubelet.yaml:3:10: maxPods: must be');
    expect(message).toContain('kubelet.yaml:4:14: podsPerCore: must be');
  });

  it.each([
    ['', 'there is nothing in it'],
    [`${HEAD}---\n${HEAD}`, 'more than one document'],
    ['kind: KubeletConfiguration\n', 'apiVersion: Required value'],
    [
      'apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n',
      'use kubelet.config.k8s.io/v1beta1',
    ],
    ['apiVersion: v1\nkind: Pod\n', 'use KubeletConfiguration'],
  ])('has to be one: %j is none', (text, message) => {
    expect(failure(text)).toContain(message);
  });
});

describe('the table of its fields', () => {
  it('gives a reason for each field that has no effect', () => {
    for (const table of Object.values(KUBELET_CONFIG_TABLES)) {
      for (const facts of Object.values(table)) {
        expect(facts.support).toMatch(/^(supported|ignored)$/);
        if (facts.support === 'ignored') expect(facts.note).not.toBe('');
      }
    }
  });
});

it('reads how the log is written, and has no warning for how often a kubelet would flush it', () => {
  const text =
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n' +
    'logging: {format: json, flushFrequency: 5s, verbosity: 3, vmodule: [{filePattern: pleg, verbosity: 5}]}\n';
  const { config, warnings } = readKubeletConfig(text, '/config.yaml');
  expect(warnings).toEqual([]);
  expect(config.logging).toEqual({
    ...{ format: 'json', verbosity: 3 },
    vmodule: [{ filePattern: 'pleg', verbosity: 5 }],
  });
});
