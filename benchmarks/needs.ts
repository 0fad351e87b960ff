import { execFileSync } from 'node:child_process';
import { accessSync, constants, existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { isBuildOutOfDate } from '../test/build-state.js';
import { findClusterBinaries } from '../test/cluster/harness/cluster-binaries.js';
import { findInstaller, type InstalledFile } from '../test/containerd/harness/installed.js';
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

/** Which versions of the needs are there: figures of two kubelets are not to be mixed. Nothing for what is missing. */
export function readVersions(
  needs: readonly Need[],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const versions: Record<string, string> = {};
  for (const need of needs) {
    if (findMissingNeed([need], environment) !== undefined) continue;
    if (need === 'kubelet') versions['kubelet'] = versionOf(environment['KUBELET']!);
    if (need === 'containerd') {
      const { releases } = JSON.parse(readFileSync(installedFile(), 'utf8')) as InstalledFile;
      versions['containerd'] = Object.values(releases)
        .map(({ version }) => version)
        .join(' and ');
    }
    if (need === 'control plane') {
      const found = findClusterBinaries({ ...environment });
      if (!('missing' in found)) versions['kube-apiserver'] = versionOf(found.binaries.apiServer);
    }
  }
  return versions;
}

/** `v1.36.3` of `Kubernetes v1.36.3`; what cannot be asked is no reason not to measure. */
function versionOf(program: string): string {
  try {
    const text = execFileSync(program, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return text.trim().split(' ').at(-1)!;
  } catch {
    return 'unknown';
  }
}

function installedFile(): string {
  return path.join(findInstaller().folder, 'installed.json');
}

const CHECKS: Readonly<
  Record<Need, (environment: Readonly<Record<string, string | undefined>>) => string | undefined>
> = {
  root: () => (process.getuid?.() === 0 ? undefined : 'it needs root'),
  build: () =>
    isBuildOutOfDate(process.cwd())
      ? 'what is built is missing, or older than its sources: run "npm run build"'
      : undefined,
  containerd: () =>
    existsSync(installedFile())
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
