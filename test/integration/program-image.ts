import { execFile } from 'node:child_process';
import { access, constants, mkdir, readFile, realpath, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OciLayout } from '#support/fakes/oci-layout.js';
import { packTar, type TarMember } from '#support/builders/pack-tar.js';

/** The image of {@link writeProgramImage}: a shell and a few programs of this machine. */
export const PROGRAM_IMAGE = 'podloop.test/programs:1';

/** The same for stories of users, by name and user. */
export const USER_IMAGES = [
  ['podloop.test/user-1234:1', '1234'],
  ['podloop.test/user-nobody:1', 'nobody'],
] as const;

const PROGRAMS = [
  'sh',
  'cat',
  'chmod',
  'echo',
  'env',
  'grep',
  'head',
  'hostname',
  'id',
  'ln',
  'ls',
  'mkdir',
  'mknod',
  'mount',
  'mv',
  'perl',
  'ps',
  'readlink',
  'rm',
  'sleep',
  'stat',
  'test',
  'true',
  'truncate',
  'umount',
];
/** An HTTP server at the port of its first argument, which answers `ok` to everything. */
const SERVE = `#!/bin/perl
socket(S, 2, 1, 6) or die; setsockopt(S, 1, 2, pack('l', 1));
bind(S, pack('S n N x8', 2, $ARGV[0], 0)) or die $!; listen(S, 64) or die;
$SIG{TERM} = sub { exit 0 };
while (1) {
  accept(C, S) or next;
  sysread(C, $_, 4096) and syswrite(C, "HTTP/1.1 200 OK\\r\\nContent-Length: 3\\r\\nConnection: close\\r\\n\\r\\nok\\n");
  close C;
}
`;
const FOLDERS = ['dev', 'etc', 'home', 'proc', 'root', 'sys'];
const USERS = {
  'etc/passwd': 'root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/home:/bin/sh\n',
  'etc/group': 'root:x:0:\nnogroup:x:65534:\n',
};

/**
 * Makes an image of the machine's own shell and coreutils, with the libraries that they need, as an OCI layout
 * below the folder. For tests that must not need anything but this machine.
 *
 * @param more a layer over it, under another name for the image.
 */
export async function writeProgramImage(
  imageDir: string,
  more: {
    readonly name: string;
    readonly members: readonly TarMember[];
    /** What its config says besides. */
    readonly config?: Readonly<Record<string, unknown>>;
  } = { name: PROGRAM_IMAGE, members: [] },
): Promise<void> {
  const layout = new OciLayout();
  const config = { Env: ['PATH=/bin'], Cmd: ['/bin/sh'], ...more.config };
  const layers = [
    packTar(await programMembers()),
    ...(more.members.length > 0 ? [packTar(more.members)] : []),
  ];
  layout.addImage({ names: [more.name], layers, config });
  if (more.name === PROGRAM_IMAGE) {
    for (const [name, User] of USER_IMAGES)
      layout.addImage({ names: [name], layers, config: { ...config, User } });
  }
  for (const [name, content] of layout.toFiles()) {
    const file = path.join(imageDir, more.name.replaceAll(/\W/g, '-'), name);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, content);
  }
}

async function programMembers(): Promise<TarMember[]> {
  const libraries = new Set<string>();
  const programs: TarMember[] = [];
  for (const name of PROGRAMS) {
    const file = await findProgram(name);
    if (file === undefined) continue;
    programs.push({ name: `bin/${name}`, content: await readFile(file) });
    for (const library of await librariesOf(file)) libraries.add(library);
  }
  return [
    ...[...FOLDERS, 'bin'].map((name) => ({ name: `${name}/` })),
    { name: 'tmp/', mode: 0o1777 },
    ...Object.entries(USERS).map(([name, content]) => ({ name, mode: 0o644, content })),
    ...programs,
    { name: 'bin/serve', content: Buffer.from(SERVE) },
    ...(await Promise.all(
      [...libraries].map(async (library) => ({ name: library.slice(1), content: await readFile(library) })),
    )),
  ];
}

async function findProgram(name: string): Promise<string | undefined> {
  for (const folder of ['/bin', '/usr/bin']) {
    const file = path.join(folder, name);
    const found = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (found) return realpath(file);
  }
  return undefined;
}

/** The dynamic linker and the libraries, as `ldd` finds them; none for a static program. */
async function librariesOf(file: string): Promise<string[]> {
  const answer = await promisify(execFile)('ldd', [file]).catch(() => undefined);
  return [...(answer?.stdout ?? '').matchAll(/(?:^|\s)(\/\S+) \(0x/gm)].map((match) => match[1]!);
}
