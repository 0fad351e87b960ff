/** What {@link kubeletConfig} is about; paths absolute. */
export interface KubeletConfigOptions {
  readonly endpoint: string;
  readonly port: number;
  readonly manifests: string;
  readonly podLogsDir: string;
}

/** The configuration of a kubelet as far as one machine for many tests allows it: without a tree of cgroups of its own. */
export function kubeletConfig({ endpoint, port, manifests, podLogsDir }: KubeletConfigOptions) {
  return {
    ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
    ...{ address: '127.0.0.1', port },
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: 'AlwaysAllow' },
    ...{ containerRuntimeEndpoint: endpoint, cgroupDriver: 'cgroupfs', cgroupsPerQOS: false },
    ...{ enforceNodeAllocatable: [], evictionHard: {}, localStorageCapacityIsolation: false },
    ...{ failSwapOn: false, failCgroupV1: false, oomScoreAdj: 0 },
    ...{ staticPodPath: manifests, podLogsDir },
  };
}
