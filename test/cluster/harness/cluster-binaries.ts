import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';

/** The programs of a control plane; each an absolute path. */
export interface ClusterBinaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly controllerManager: string;
  readonly scheduler: string;
  /** Not needed by the control plane itself. */
  readonly kubectl: string | undefined;
  /** Nor these. */
  readonly kubelet: string | undefined;
  readonly kubeadm: string | undefined;
}

/** The binaries, or in words which of them are missing. */
export type FoundBinaries = { readonly binaries: ClusterBinaries } | { readonly missing: string };

/**
 * Finds the programs in the folder that `KUBEBUILDER_ASSETS` names, as is usual for tests against a real API server; etcd
 * and kubectl on the PATH as well.
 */
export function findClusterBinaries(env: NodeJS.ProcessEnv = process.env): FoundBinaries {
  const assets = env['KUBEBUILDER_ASSETS'] ?? '';
  if (assets === '') return { missing: 'KUBEBUILDER_ASSETS names no folder with kube-apiserver and others' };
  const path = (env['PATH'] ?? '').split(delimiter);
  const find = (name: string, folders: readonly string[]): string | undefined =>
    folders.map((folder) => join(folder, name)).find((file) => isProgram(file));
  const found = {
    etcd: find('etcd', [assets, ...path]),
    apiServer: find('kube-apiserver', [assets]),
    controllerManager: find('kube-controller-manager', [assets]),
    scheduler: find('kube-scheduler', [assets]),
  };
  const lacking = Object.entries(found).flatMap(([name, file]) => (file === undefined ? [name] : []));
  if (lacking.length > 0) return { missing: `KUBEBUILDER_ASSETS=${assets} lacks ${lacking.join(', ')}` };
  const more = {
    kubectl: find('kubectl', [assets, ...path]),
    kubelet: find('kubelet', [assets]),
    kubeadm: find('kubeadm', [assets]),
  };
  return { binaries: { ...(found as Required<typeof found> as ClusterBinaries), ...more } };
}

function isProgram(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
