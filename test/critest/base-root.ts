import { execFile } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';

import { type TarMember } from '#support/builders/pack-tar.js';
import { type BasePrograms } from './base-programs.js';

const FOLDERS = ['bin', 'dev', 'etc', 'home', 'mnt', 'proc', 'root', 'run', 'sys', 'usr/sbin', 'var/lib'];
const OPEN_FOLDERS = ['tmp', 'var/tmp', 'var/run'];

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
 * The files of the images' common base: every applet of busybox as a hard link, as Docker's busybox has them, users
 * and groups, and the folders that a runtime mounts upon.
 */
export async function makeBaseRoot({ busybox, shell }: BasePrograms): Promise<TarMember[]> {
  const { stdout } = await promisify(execFile)(busybox, ['--list']);
  const shells = shell === undefined ? [] : ['bin/sh', 'bin/ash'];
  const others = new Set([
    'bin/busybox',
    'bin/su',
    ...shells,
    ...Object.keys(SCRIPTS).map((name) => `bin/${name}`),
  ]);
  const applets = stdout
    .trim()
    .split('\n')
    .map((name) => `bin/${name}`)
    .filter((name) => !others.has(name));
  const program = await readFile(busybox);
  return [
    ...FOLDERS.map((name) => ({ name: `${name}/` })),
    ...OPEN_FOLDERS.map((name) => ({ name: `${name}/`, mode: 0o1777 })),
    { name: 'etc/passwd', mode: 0o644, content: PASSWD },
    { name: 'etc/group', mode: 0o644, content: GROUP },
    { name: 'bin/busybox', content: program },
    ...applets.map((name) => ({ name, hardLinkTo: 'bin/busybox' })),
    // A file of its own: the set-user-id bit belongs to the file, not to the name.
    { name: 'bin/su', mode: 0o4755, content: program },
    ...Object.entries(SCRIPTS).map(([name, content]) => ({ name: `bin/${name}`, content })),
    ...(shell === undefined ? [] : await shellMembers(shells, shell)),
  ];
}

async function shellMembers(
  names: readonly string[],
  { file, libraries }: NonNullable<BasePrograms['shell']>,
): Promise<TarMember[]> {
  const content = await readFile(file);
  const folders = new Set(libraries.map((library) => `${path.dirname(library).slice(1)}/`));
  return [
    ...names.map((name) => ({ name, content })),
    ...[...folders].map((name) => ({ name })),
    ...(await Promise.all(
      libraries.map(async (library) => ({ name: library.slice(1), content: await readFile(library) })),
    )),
  ];
}
