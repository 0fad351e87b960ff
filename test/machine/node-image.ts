/**
 * Makes the disks that machines boot from, once for each list of packages.
 *
 * In: root, mmdebstrap, mke2fs and an apt that works. Out: a folder for each image with a raw disk, its kernel and its
 * initrd, in a cache outside of the project. The address of the mirror is the one that the machine's own apt uses.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { access, copyFile, cp, mkdir, mkdtemp, readdir, rename, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { findInstaller, readInstalled } from '../containerd/harness/installed.js';
import { CannotRun, lastLines, SEARCH_PATH } from './host-tools.js';
import { computeImageKey, configureScript, DEBIAN_SUITE, type ImageName, PACKAGES } from './image-recipe.js';

const execute = promisify(execFile);

/** Sparse: only what is written takes room. */
const DISK_SIZE = '12G';
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const DISK = 'disk.img';
const [KERNEL, INITRD] = ['vmlinuz', 'initrd.img'];
/** Programs of containerd 2.x, put in the place of Debian 13's. */
const CONTAINERD_PROGRAMS = ['containerd', 'containerd-shim-runc-v2', 'ctr'];

/** Where the files of an image lie; never written to by a machine. */
export interface NodeImage {
  readonly name: ImageName;
  readonly disk: string;
  readonly kernel: string;
  readonly initrd: string;
}

/** `PODLOOP_MACHINE_CACHE`, else a folder in the user's cache. */
export function findCacheFolder(env: NodeJS.ProcessEnv): string {
  const caches = env['XDG_CACHE_HOME'] ?? path.join(os.homedir(), '.cache');
  return env['PODLOOP_MACHINE_CACHE'] ?? path.join(caches, 'podloop-machine');
}

/** The image from the cache, or made now, which takes two to three minutes. */
export async function provideImage(
  name: ImageName,
  { cache, say, signal }: { cache: string; say: (sentence: string) => void; signal: AbortSignal },
): Promise<NodeImage> {
  const folder = path.join(cache, `${name}-${computeImageKey()}`);
  const image = {
    ...{ name, disk: path.join(folder, DISK) },
    ...{ kernel: path.join(folder, KERNEL), initrd: path.join(folder, INITRD) },
  };
  if (await exists(folder)) return image;
  await mkdir(cache, { recursive: true });
  // Made beside its place and renamed as a whole, so that a run that was cut off leaves nothing half done.
  const staging = await mkdtemp(path.join(cache, 'new-'));
  try {
    const tar = await provideRootTar(cache, say, signal);
    say(`making the disk of ${name}`);
    const root = path.join(staging, 'root');
    await mkdir(root);
    const run = runner(signal);
    await run('tar', ['-xf', tar, '-C', root, '--numeric-owner']);
    if (name === 'containerd2') await putContainerd2(root, run);
    await copyKernel(root, staging);
    await run('mke2fs', ['-q', '-t', 'ext4', '-L', 'root', '-d', root, path.join(staging, DISK), DISK_SIZE]);
    await rm(root, { recursive: true });
    await rename(staging, folder).catch(async (error: unknown) => {
      // Another run has made it meanwhile.
      if (!(await exists(folder))) throw error;
    });
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
  return image;
}

/** The root file system that both images have in common. */
export async function provideRootTar(
  cache: string,
  say: (sentence: string) => void,
  signal: AbortSignal,
): Promise<string> {
  const tar = path.join(cache, `root-${computeImageKey()}.tar`);
  if (await exists(tar)) return tar;
  say(`installing ${PACKAGES.length} packages of ${DEBIAN_SUITE} and what they need into a folder`);
  const staging = await mkdtemp(path.join(cache, 'new-'));
  try {
    const script = path.join(staging, 'configure.sh');
    await writeFile(script, configureScript());
    const signedBy = (await exists(KEYRING)) ? `[signed-by=${KEYRING}] ` : '';
    const failures: string[] = [];
    for (const mirror of await findMirrors()) {
      const made = path.join(staging, 'root.tar');
      const args = [
        ...['--mode=root', '--variant=minbase', `--include=${PACKAGES.join(',')}`],
        `--customize-hook=sh ${script} "$1"`,
        ...[DEBIAN_SUITE, made, `deb ${signedBy}${mirror} ${DEBIAN_SUITE} main`],
      ];
      try {
        await runner(signal)('mmdebstrap', args);
        await rename(made, tar);
        return tar;
      } catch (error) {
        failures.push(lastLines(error, 15));
        await rm(made, { force: true });
      }
      signal.throwIfAborted();
    }
    throw new CannotRun(
      `Debian ${DEBIAN_SUITE} could not be installed into a folder:\n${failures.join('\n')}`,
    );
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

/** The addresses that the machine's own apt takes packages from. */
export async function findMirrors(): Promise<string[]> {
  // Without release info, so that a machine that never ran `apt-get update` answers too.
  const format = '$(CREATED_BY) $(COMPONENT) $(SITE)';
  const { stdout } = await execute('apt-get', ['indextargets', '--no-release-info', '--format', format]);
  const lines = stdout.split('\n').map((line) => line.split(' '));
  const sites = lines
    .filter(([createdBy, component]) => createdBy === 'Packages' && component === 'main')
    .flatMap(([, , site]) => (site === undefined ? [] : [site]));
  if (sites.length === 0) throw new CannotRun('apt has no package sources on this machine');
  return [...new Set(sites)];
}

/** Debian unstable's, as the tests on a real containerd unpack it. */
async function putContainerd2(root: string, run: Run): Promise<void> {
  await run(process.execPath, [findInstaller().script]);
  const installed = await readInstalled();
  for (const program of CONTAINERD_PROGRAMS) {
    const source = path.join(installed.binFolders['2.1'], program);
    await cp(source, path.join(root, 'usr/bin', program), { force: true });
  }
  // A program that needs a newer C library than Debian 13's would only fail in the machine.
  await run('chroot', [root, '/usr/bin/containerd', '--version']);
}

async function copyKernel(root: string, into: string): Promise<void> {
  const files = await readdir(path.join(root, 'boot'));
  for (const [prefix, target] of [
    ['vmlinuz-', KERNEL],
    ['initrd.img-', INITRD],
  ] as const) {
    const file = files.find((each) => each.startsWith(prefix));
    if (file === undefined) throw new Error(`the root file system has no ${prefix}… in /boot`);
    await copyFile(path.join(root, 'boot', file), path.join(into, target));
  }
}

type Run = (program: string, args: readonly string[]) => Promise<void>;

function runner(signal: AbortSignal): Run {
  const env = { ...process.env, PATH: SEARCH_PATH };
  return async (program, args) => {
    await execute(program, [...args], { env, signal, maxBuffer: 64 * 1024 * 1024 });
  };
}

async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    () => false,
  );
}
