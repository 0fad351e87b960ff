import { accessSync, constants, existsSync } from 'node:fs';
import path from 'node:path';
import { findClusterBinaries } from '../test/cluster/harness/cluster-binaries.js';
import { findInstaller } from '../test/containerd/harness/installed.js';
import { type Need } from './scenario.js';

/** What is missing, with what to do about it; undefined when all is there. */
export function findMissingNeed(
  needs: readonly Need[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): string | undefined {
  for (const need of needs) {
    const missing = CHECKS[need](environment);
    if (missing !== undefined) return missing;
  }
  return undefined;
}

const CHECKS: Readonly<
  Record<Need, (environment: Readonly<Record<string, string | undefined>>) => string | undefined>
> = {
  root: () => (process.getuid?.() === 0 ? undefined : 'it needs root'),
  containerd: () =>
    existsSync(path.join(findInstaller().folder, 'installed.json'))
      ? undefined
      : 'no containerd: run `node scripts/containerd/install.mjs` as root',
  'control plane': (environment) => {
    const found = findClusterBinaries({ ...environment });
    return 'missing' in found ? `no control plane: ${found.missing}` : undefined;
  },
  kubelet: ({ KUBELET: file = '' }) => {
    if (file === '') return 'KUBELET names no kubelet: set it to the path of the binary';
    try {
      accessSync(file, constants.X_OK);
      return undefined;
    } catch {
      return `KUBELET=${file} is no program that can be run`;
    }
  },
};
