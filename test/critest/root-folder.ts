import { execFile } from 'node:child_process';
import { chmod, copyFile, link, mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { type BasePrograms } from './base-programs.js';

const FOLDERS = ['bin', 'dev', 'etc', 'home', 'mnt', 'proc', 'root', 'run', 'sys', 'usr/sbin', 'var/lib'];

const PASSWD = `root::0:0:root:/root:/bin/sh
www-data:x:33:33:www-data:/var/www:/bin/false
nobody:x:65534:65534:nobody:/home:/bin/false
default-user:x:1000:1000::/home:/bin/sh
`;
const GROUP = `root:x:0:
www-data:x:33:
default-user:x:1000:
group-defined-in-image:x:50000:default-user
nogroup:x:65534:
`;

/** Commands that the suite runs and Debian's busybox lacks. */
const SCRIPTS: Readonly<Record<string, string>> = {
  pgrep: '#!/bin/sh\nexec pidof "$1"\n',
  ipcs: '#!/bin/sh\nexec cat /proc/sysvipc/shm\n',
};

/**
 * Fills a folder with the files of the images' common base: every applet of busybox as a hard link, as Docker's
 * busybox has them, users and groups, and the folders that a runtime mounts upon.
 */
export async function makeBaseRoot(root: string, { busybox, shell }: BasePrograms): Promise<void> {
  for (const folder of FOLDERS) await mkdir(path.join(root, folder), { recursive: true });
  for (const folder of ['tmp', 'var/tmp', 'var/run']) await makeOpenFolder(path.join(root, folder));
  await writeFile(path.join(root, 'etc/passwd'), PASSWD);
  await writeFile(path.join(root, 'etc/group'), GROUP);
  const bin = path.join(root, 'bin');
  await copyProgram(busybox, path.join(bin, 'busybox'));
  const { stdout } = await promisify(execFile)(busybox, ['--list']);
  const applets = stdout.trim().split('\n');
  const shells = shell === undefined ? [] : ['sh', 'ash'];
  const linked = applets.filter((name) => ![...shells, 'busybox', 'su'].includes(name) && !(name in SCRIPTS));
  for (const name of linked) await link(path.join(bin, 'busybox'), path.join(bin, name));
  // A file of its own: the set-user-id bit belongs to the file, not to the name.
  await copyProgram(busybox, path.join(bin, 'su'), 0o4755);
  for (const [name, script] of Object.entries(SCRIPTS))
    await writeFile(path.join(bin, name), script, { mode: 0o755 });
  if (shell === undefined) return;
  for (const name of shells) await copyProgram(shell.file, path.join(bin, name));
  for (const library of shell.libraries) {
    await mkdir(path.join(root, path.dirname(library)), { recursive: true });
    await copyProgram(library, path.join(root, library));
  }
}

/** Writes a script into a root, executable. */
export async function writeScript(root: string, name: string, script: string): Promise<void> {
  const file = path.join(root, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, script);
  await chmod(file, 0o755);
}

async function makeOpenFolder(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o1777);
}

async function copyProgram(from: string, to: string, mode = 0o755): Promise<void> {
  await copyFile(from, to);
  await chmod(to, mode);
}
