/**
 * The few programs that work inside of a container's root before its own program does: mount, setpriv and the like,
 * with their loader and libraries, copied into one folder.
 *
 * Why copies: a container's root has none of them, or hostile ones. Called by their loader with the folder as the
 * only path for libraries they need nothing of the root that they work in. The folder is the working directory of
 * whoever calls them, bound as a mount of its own: nothing leads from there to the host's files.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmod,
  copyFile,
  readFile,
  mkdir,
  mkdtemp,
  readdir,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { findProgram } from '#base/proc/find-program.js';
import { findTool, TOOL_PATH } from '../../process/find-tools.js';
import { syncPath } from '#base/fs/whole-file.js';
import { readElfInterpreter } from './elf-interpreter.js';
import { OPENER, renderStarter } from './program-starter.js';
import { makeFolder } from '#base/fs/make-folder.js';

const INSIDE = [
  'mount',
  'umount',
  'mkdir',
  'setsid',
  'setpriv',
  'chroot',
  'env',
  'pwd',
  'sh',
  'sleep',
] as const;
const OUTSIDE = ['nsenter', 'unshare', 'mount', 'pivot_root', 'cp', 'mkdir'] as const;
const LOADER = 'loader';
/** Only where the machine has it. */
const PERL = 'perl';
const STARTER = 'start.pl';
const OPEN = 'open.pl';
const TRY_MS = 30_000;

/** A program that is called inside of a container's root. */
export type InsideTool = (typeof INSIDE)[number];
/** A program that is called where it is. */
export type OutsideTool = (typeof OUTSIDE)[number];

/** The links that a /dev has, by their names in it. */
export const DEV_LINKS = {
  fd: '/proc/self/fd',
  stdin: '/proc/self/fd/0',
  stdout: '/proc/self/fd/1',
  stderr: '/proc/self/fd/2',
  ptmx: 'pts/ptmx',
};

/** What mount and umount find where there is no other /proc: that `/` is mounted, and nothing else. */
const MOUNTINFO = '1 0 0:1 / / rw - none podloop rw\n';

const run = promisify(execFile);

/** See the module's description. */
export class ToolKit {
  /** The folder with the copies. It also holds `dev`, with the links of a /dev. */
  readonly dir: string;
  /** How to call what {@link renderStarter} describes, when the kit's folder is the working directory; undefined without perl. */
  readonly starter: readonly string[] | undefined;
  /** How to call {@link OPENER}, as the starter. */
  readonly opener: readonly string[] | undefined;
  readonly #outside: ReadonlyMap<OutsideTool, string>;
  readonly #static: ReadonlySet<string>;

  private constructor(
    dir: string,
    outside: ReadonlyMap<OutsideTool, string>,
    statics: ReadonlySet<string>,
    perl: ((script: string) => readonly string[]) | undefined,
  ) {
    this.dir = dir;
    this.#outside = outside;
    this.#static = statics;
    this.starter = perl?.(STARTER);
    this.opener = perl?.(OPEN);
  }

  /**
   * Finds and copies them below a folder, unless the same ones are there already. Throws PLATFORM_UNSUPPORTED when
   * one is missing.
   */
  static async install(folder: string): Promise<ToolKit> {
    const outside = new Map<OutsideTool, string>();
    for (const name of OUTSIDE) outside.set(name, await findTool(name));
    const files = new Map<string, string>();
    const statics = new Set<string>();
    await Promise.all(
      INSIDE.map(async (name) => {
        const path = await realpath(await findTool(name));
        files.set(name, path);
        const interpreter = await readElfInterpreter(path);
        if (interpreter === undefined) statics.add(name);
        else for (const [file, source] of await listLibraries(interpreter, path)) files.set(file, source);
      }),
    );
    const texts = new Map<string, string>();
    const script = renderStarter(process.arch);
    const perl = script === undefined ? undefined : await findPerl();
    for (const [file, source] of perl ?? []) files.set(file, source);
    if (perl !== undefined) texts.set(STARTER, script!).set(OPEN, OPENER);
    const dir = join(folder, await digestOf(files, texts));
    if ((await stat(dir).catch(() => undefined)) === undefined) await copyAll(files, texts, folder, dir);
    const call = (from: string, text: string) => [...callInside(from, PERL), `${from}/${text}`];
    const works = perl !== undefined && (await canStart(call(dir, STARTER)));
    return new ToolKit(dir, outside, statics, works ? (text) => call('.', text) : undefined);
  }

  /** The absolute path of a program of the host. */
  outside(name: OutsideTool): string {
    return this.#outside.get(name)!;
  }

  /** How to call a copy when the kit's folder is the working directory. */
  inside(name: InsideTool): readonly string[] {
    return this.insideFrom('.', name);
  }

  /** How to call a copy by a path of the kit's folder. */
  insideFrom(dir: string, name: InsideTool): readonly string[] {
    return this.#static.has(name) ? [`${dir}/${name}`] : callInside(dir, name);
  }
}

function callInside(dir: string, name: string): string[] {
  return [`${dir}/${LOADER}`, '--library-path', dir, `${dir}/${name}`];
}

/** The files of perl; undefined where there is none that could be copied. */
async function findPerl(): Promise<ReadonlyMap<string, string> | undefined> {
  const found = await findProgram(PERL, TOOL_PATH);
  if (found === undefined) return undefined;
  try {
    const path = await realpath(found);
    const interpreter = await readElfInterpreter(path);
    // Without one it could be a script that calls the real one.
    if (interpreter === undefined) return undefined;
    return new Map([...(await listLibraries(interpreter, path)), [PERL, path]]);
  } catch {
    return undefined;
  }
}

/** Whether the copy works, without anything but itself. */
async function canStart([file = '', ...args]: readonly string[]): Promise<boolean> {
  return run(file, [...args, '/', '0', '/bin/sh', '-c', ':'], { cwd: '/', env: {}, timeout: TRY_MS }).then(
    () => true,
    () => false,
  );
}

/** What a program needs, by the names that it searches for. */
async function listLibraries(interpreter: string, program: string): Promise<Map<string, string>> {
  const { stdout } = await run(interpreter, ['--list', program], { env: {}, timeout: 10_000 });
  const files = new Map([[LOADER, await realpath(interpreter)]]);
  for (const [, name = '', path = ''] of stdout.matchAll(/^\s*(\S+) => (\/\S+)/gm)) {
    files.set(basename(name), await realpath(path));
  }
  return files;
}

/** The files that a loader reads of the root in which it works; musl's has none like them. */
const READ_BY_LOADER = ['/etc/ld.so.preload', '/etc/ld.so.cache'];

/** Makes the names of such files empty, and an empty name names nothing. */
function disarm(loader: Buffer): Buffer {
  const changed = Buffer.from(loader);
  for (const path of READ_BY_LOADER) {
    const name = Buffer.from(`${path}\0`);
    for (let at = changed.indexOf(name); at >= 0; at = changed.indexOf(name)) changed[at] = 0;
  }
  return changed;
}

/** Changes with what is made of the copies. */
const MAKE = 2;

/** Another one after every upgrade of the system, so that copies in use are never changed. */
async function digestOf(
  files: ReadonlyMap<string, string>,
  texts: ReadonlyMap<string, string>,
): Promise<string> {
  const hash = createHash('sha256').update(JSON.stringify([MAKE, ...texts]));
  for (const [name, path] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const { size, mtimeMs, ino } = await stat(path);
    hash.update(JSON.stringify([name, path, size, mtimeMs, ino]));
  }
  return hash.digest('hex').slice(0, 16);
}

async function copyAll(
  files: ReadonlyMap<string, string>,
  texts: ReadonlyMap<string, string>,
  folder: string,
  dir: string,
): Promise<void> {
  await makeFolder(folder, 0o700);
  for (const name of await readdir(folder)) {
    if (name.startsWith('new-')) await rm(join(folder, name), { recursive: true, force: true });
  }
  const draft = await mkdtemp(join(folder, 'new-'));
  await mkdir(join(draft, 'dev'));
  for (const [name, target] of Object.entries(DEV_LINKS)) await symlink(target, join(draft, 'dev', name));
  await makeFolder(join(draft, 'proc', 'self'));
  await writeFile(join(draft, 'proc', 'self', 'mountinfo'), MOUNTINFO);
  await Promise.all(
    [...files].map(async ([name, path]) => {
      if (name === LOADER) await writeFile(join(draft, name), disarm(await readFile(path)));
      else await copyFile(path, join(draft, name));
      // Not the original's mode: some are setuid. Everybody, since users other than root take the last steps.
      await chmod(join(draft, name), 0o755);
      // Else a loss of power could leave empty files under a name that says that they are good.
      await syncPath(join(draft, name));
    }),
  );
  for (const [name, text] of texts) {
    await writeFile(join(draft, name), text);
    await chmod(join(draft, name), 0o644);
    await syncPath(join(draft, name));
  }
  await syncPath(join(draft, 'proc', 'self', 'mountinfo'));
  await chmod(draft, 0o755);
  await syncPath(draft);
  await rename(draft, dir);
  await syncPath(folder);
}
