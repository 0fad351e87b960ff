import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import path from 'node:path';
import { findBrowser } from '#support/clients/find-browser.js';
import { isBuildOutOfDate } from '../test/build-state.js';
import { findClusterBinaries } from '../test/cluster/harness/cluster-binaries.js';
import { findInstaller, type InstalledFile, type Release } from '../test/containerd/harness/installed.js';
import { type Need } from './scenario.js';

/** A program that is asked for its version has nothing else to do. */
const ANSWER_MS = 30_000;

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

/**
 * Which versions of the needs are there, of containerd those of the releases that are used: figures of two kubelets are not to
 * be mixed. Nothing for what is missing.
 */
export function readVersions(
  needs: readonly Need[],
  used: readonly Release[] = [],
  environment: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const versions: Record<string, string> = {};
  for (const need of needs) {
    if (findMissingNeed([need], environment) !== undefined) continue;
    // Those that are there have answered already.
    if (need === 'kubelet') versions['kubelet'] = askVersion(environment['KUBELET']!)!;
    if (need === 'containerd' && used.length > 0) {
      const { releases } = JSON.parse(readFileSync(installedFile(), 'utf8')) as InstalledFile;
      versions['containerd'] = used.map((release) => releases[release].version).join(' and ');
    }
    if (need === 'control plane') {
      const found = findClusterBinaries({ ...environment });
      if (!('missing' in found)) versions['kube-apiserver'] = askVersion(found.binaries.apiServer)!;
    }
  }
  return versions;
}

/** `v1.37.2` of `Kubernetes v1.36.3`; undefined for what is no program, or answers nothing like it. */
function askVersion(program: string): string | undefined {
  try {
    const text = execFileSync(program, ['--version'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
      timeout: ANSWER_MS,
    });
    return /\bv\d+\.\d+\S*/.exec(text)?.[0];
  } catch {
    return undefined;
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
  browser: () => (findBrowser() === undefined ? 'no Chromium: install the package chromium' : undefined),
  'control plane': (environment) => {
    const found = findClusterBinaries({ ...environment });
    if ('missing' in found) return `no control plane: ${found.missing}`;
    const { apiServer } = found.binaries;
    return askVersion(apiServer) === undefined
      ? `no control plane: ${apiServer} does not answer --version with its version`
      : undefined;
  },
  kubelet: ({ KUBELET: file = '' }) => {
    if (file === '') return 'KUBELET names no kubelet: set it to the path of the binary';
    if (statSync(file, { throwIfNoEntry: false })?.isFile() !== true) return `KUBELET=${file} is no file`;
    return askVersion(file) === undefined
      ? `KUBELET=${file} is no kubelet that can be run: it does not answer --version with its version`
      : undefined;
  },
};
