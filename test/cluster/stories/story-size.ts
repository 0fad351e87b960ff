import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { findInstaller } from '../../containerd/harness/installed.js';
import { type ClusterBinaries, findClusterBinaries } from '../harness/cluster-binaries.js';

/** How much a story does; PODLOOP_CLUSTER=full says all of it. */
export const IS_FULL = process.env['PODLOOP_CLUSTER'] === 'full';

/** Pods of a Deployment. */
export const REPLICAS = IS_FULL ? 60 : 8;

/** What chance decides comes again from it. */
export const SEED = Number(process.env['PODLOOP_CLUSTER_SEED'] ?? 20261123);

/** What a story needs of the machine, or in words what is missing. */
export type FoundForStories = { readonly binaries: ClusterBinaries } | { readonly missing: string };

/** Looks for the programs of a control plane and kubectl, and whether pods can be run. */
export function findForStories(): FoundForStories {
  const found = findClusterBinaries();
  if ('missing' in found) return found;
  if (found.binaries.kubectl === undefined) return { missing: 'there is no kubectl' };
  if (process.getuid?.() !== 0) return { missing: 'they need root' };
  return found;
}

/** Why no node runs on containerd; undefined when one can. */
export function findContainerdProblem(): string | undefined {
  if (existsSync(join(findInstaller().folder, 'installed.json'))) return undefined;
  return 'there is no containerd to test with: run `node scripts/containerd/install.mjs` as root';
}
