import { execFile } from 'node:child_process';
import { mkdir, readdir } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const LIMIT_MS = 120_000;

/**
 * Downloads a package with the machine's own apt and unpacks it into a folder; nothing is installed. Rejects when
 * the machine has no apt, no such package or no network.
 */
export async function unpackDebianPackage(name: string, into: string): Promise<void> {
  const downloads = path.join(into, 'download');
  await mkdir(downloads, { recursive: true });
  // apt's own user may not be able to enter the folder.
  const options = ['-q', '-o', 'APT::Sandbox::User=root'];
  await run('apt-get', [...options, 'download', name], { cwd: downloads, timeout: LIMIT_MS });
  const file = (await readdir(downloads)).find((entry) => entry.startsWith(`${name}_`));
  if (file === undefined) throw new Error(`apt-get download ${name} left no file`);
  await run('dpkg-deb', ['--extract', path.join(downloads, file), into], { timeout: LIMIT_MS });
}
