import { findClusterBinaries } from '../../cluster/harness/cluster-binaries.js';
import { type Result } from './incident.js';
import { describeCommit } from './results.js';

/** The releases of containerd to test on. */
export const RELEASES = (process.env['PODLOOP_RELEASES'] ?? '1.7,2.1').split(',') as ('1.7' | '2.1')[];

/** The path of the kubelet to test beside. Throws with what is missing. */
export function requireKubelet(): string {
  const found = findClusterBinaries();
  const kubelet = 'binaries' in found ? found.binaries.kubelet : undefined;
  if (kubelet !== undefined) return kubelet;
  const why = 'missing' in found ? found.missing : 'KUBEBUILDER_ASSETS lacks it';
  throw new Error(`no kubelet to test beside: ${why}`);
}

/** Of a result that is made now. */
export function now(): Pick<Result, 'date' | 'commit'> {
  return { date: new Date().toISOString().slice(0, 10), commit: describeCommit() };
}
