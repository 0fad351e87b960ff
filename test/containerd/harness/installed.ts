import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import path from 'node:path';

/** The releases of containerd that the tests run on: 1.6 has no container events, the others have. */
export const RELEASES = ['1.6', '1.7', '2.1'] as const;
export type Release = (typeof RELEASES)[number];

/** Where scripts/containerd/install.mjs put things; all paths absolute. */
export interface Installed {
  /** The package's whole version: 1.7.24~ds1-6+deb13u1. */
  readonly versions: Readonly<Record<Release, string>>;
  /** The folder of containerd, its shim and ctr. */
  readonly binFolders: Readonly<Record<Release, string>>;
  readonly runcFolder: string;
  /** A newer one, which maps the ids of mounts. */
  readonly newRunc: string;
  readonly busybox: string;
  readonly cniFolder: string;
}

/** The file that the installer writes last. */
export interface InstalledFile {
  readonly tools: Readonly<Record<'runc' | 'newRunc' | 'busybox' | 'cni', string>>;
  readonly releases: Readonly<Record<Release, { readonly version: string; readonly bin: string }>>;
}

const INSTALLER = 'scripts/containerd/install.mjs';

/** The installer and its folder, whether this file runs from its place or compiled into a folder below. */
export function findInstaller(): { script: string; folder: string } {
  for (let at = import.meta.dirname; ; at = path.dirname(at)) {
    const script = path.join(at, INSTALLER);
    if (existsSync(script))
      return { script, folder: path.join(at, 'node_modules', '.cache', 'podloop-containerd') };
    if (at === path.dirname(at)) throw new Error(`${INSTALLER} is in no folder above ${import.meta.dirname}`);
  }
}

/** Reads what the installer left; rejects with what to run when there is nothing. */
export async function readInstalled(folder: string = findInstaller().folder): Promise<Installed> {
  let text: string;
  try {
    text = await readFile(path.join(folder, 'installed.json'), 'utf8');
  } catch (cause) {
    throw new Error('no containerd to test with: run `node scripts/containerd/install.mjs` as root', {
      cause,
    });
  }
  const { tools, releases } = JSON.parse(text) as InstalledFile;
  const at = (relative: string): string => path.join(folder, relative);
  return {
    versions: {
      '1.6': releases['1.6'].version,
      '1.7': releases['1.7'].version,
      '2.1': releases['2.1'].version,
    },
    binFolders: {
      '1.6': at(releases['1.6'].bin),
      '1.7': at(releases['1.7'].bin),
      '2.1': at(releases['2.1'].bin),
    },
    runcFolder: at(tools.runc),
    newRunc: at(tools.newRunc),
    busybox: at(tools.busybox),
    cniFolder: at(tools.cni),
  };
}
