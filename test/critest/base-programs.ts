import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { readInstalled } from '../containerd/harness/installed.js';
import { unpackDebianPackage } from './debian-package.js';

const run = promisify(execFile);

/** The programs of this machine that the test images are made from; all paths absolute. */
export interface BasePrograms {
  /** A statically linked busybox. */
  readonly busybox: string;
  /**
   * A shell that finds its commands as files, with the libraries it needs. Debian's static busybox runs its own
   * `ls` whatever `/bin/ls` is, so that a masked path could not be tested with it.
   */
  readonly shell: { readonly file: string; readonly libraries: readonly string[] } | undefined;
}

/**
 * Finds busybox (what scripts/containerd/install.mjs left, else the PATH, else Debian's package `busybox-static`)
 * and Debian's dynamically linked one for the shell, unpacked into the folder. Rejects with what to do when no
 * static busybox can be had; without the other the images' shell is the static one.
 */
export async function findBasePrograms(folder: string, searchPath: string): Promise<BasePrograms> {
  return { busybox: await findStaticBusybox(folder, searchPath), shell: await findShell(folder) };
}

async function findStaticBusybox(folder: string, searchPath: string): Promise<string> {
  const installed = await readInstalled().catch(() => undefined);
  if (installed !== undefined) return installed.busybox;
  for (const entry of searchPath.split(':')) {
    const file = path.join(entry, 'busybox');
    if ((await isExecutable(file)) && (await librariesOf(file)).length === 0) return file;
  }
  const into = path.join(folder, 'busybox-static');
  try {
    await unpackDebianPackage('busybox-static', into);
  } catch (cause) {
    throw new Error(
      'no statically linked busybox: put one into the PATH (Debian: apt-get install busybox-static)',
      { cause },
    );
  }
  return path.join(into, 'bin', 'busybox');
}

async function findShell(folder: string): Promise<BasePrograms['shell']> {
  const into = path.join(folder, 'busybox');
  try {
    await unpackDebianPackage('busybox', into);
    const file = path.join(into, 'bin', 'busybox');
    return { file, libraries: await librariesOf(file) };
  } catch {
    return undefined;
  }
}

/** The dynamic linker and the libraries of a program, as `ldd` finds them; none for a static one. */
export async function librariesOf(file: string): Promise<string[]> {
  const answer = await run('ldd', [file]).catch(() => undefined);
  if (answer === undefined) return [];
  return [...answer.stdout.matchAll(/(?:^|\s)(\/\S+) \(0x/gm)].map((match) => match[1]!);
}

async function isExecutable(file: string): Promise<boolean> {
  return access(file, constants.X_OK).then(
    () => true,
    () => false,
  );
}
