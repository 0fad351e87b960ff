import { execFile } from 'node:child_process';
import { access, constants } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** The run cannot take place on this machine, and why: CI says "skipped" and goes on. */
export class CannotRun extends Error {}

/** Programs that a run needs of its own machine, with the Debian package of each. */
const TOOLS: readonly (readonly [program: string, debianPackage: string])[] = [
  ['qemu-system-x86_64', 'qemu-system-x86'],
  ['qemu-img', 'qemu-utils'],
  ['mmdebstrap', 'mmdebstrap'],
  ['mke2fs', 'e2fsprogs'],
  ['ssh', 'openssh-client'],
  ['ssh-keygen', 'openssh-client'],
  ['setpriv', 'util-linux'],
];

/** The PATH of an ordinary user may lack the folders of the administrator's programs. */
export const SEARCH_PATH = `${process.env['PATH'] ?? ''}:/usr/sbin:/sbin`;

/**
 * Looks for all programs that a run needs and installs what is missing with apt-get, as root. Rejects with
 * {@link CannotRun} where that cannot be done.
 */
export async function ensureHostTools(say: (sentence: string) => void): Promise<void> {
  if (process.platform !== 'linux') throw new CannotRun('the emulated machine needs Linux');
  if (process.arch !== 'x64')
    throw new CannotRun(`images are made for x86-64, and this machine is ${process.arch}`);
  const missing = await findMissing();
  if (missing.length > 0) {
    const packages = [...new Set(missing.map(([, name]) => name))];
    const programs = missing.map(([program]) => program).join(', ');
    if (process.getuid?.() !== 0)
      throw new CannotRun(`${programs} not found, and only root can install ${packages.join(', ')}`);
    say(`installing ${packages.join(', ')}`);
    await install(packages);
    const still = await findMissing();
    if (still.length > 0)
      throw new CannotRun(`${still.map(([name]) => name).join(', ')} not found after the installation`);
  }
  if (process.getuid?.() !== 0) throw new CannotRun('the disk of the machine is made as root');
}

async function findMissing(): Promise<(readonly [string, string])[]> {
  const found = await Promise.all(TOOLS.map(async ([program]) => findProgramIn(SEARCH_PATH, program)));
  return TOOLS.filter((_, index) => found[index] === undefined);
}

async function install(packages: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const args = ['-q', '-y', '--no-install-recommends', 'install', ...packages];
  const quiet = { env, maxBuffer: 64 * 1024 * 1024 };
  try {
    await run('apt-get', args, quiet).catch(async () => {
      // The lists of a machine may be as old as its image.
      await run('apt-get', ['-q', 'update'], quiet);
      await run('apt-get', args, quiet);
    });
  } catch (error) {
    throw new CannotRun(`apt-get could not install ${packages.join(', ')}: ${lastLines(error)}`);
  }
}

async function findProgramIn(searchPath: string, program: string): Promise<string | undefined> {
  for (const folder of searchPath.split(':').filter((each) => each !== '')) {
    const file = path.join(folder, program);
    const isThere = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return file;
  }
  return undefined;
}

/** The end of what a failed program wrote to standard error, else the error's own words. */
export function lastLines(error: unknown, count = 6): string {
  const stderr = (error as { stderr?: unknown }).stderr;
  const text = typeof stderr === 'string' && stderr.trim() !== '' ? stderr : String(error);
  return text.trim().split('\n').slice(-count).join('\n');
}
