import { execFile } from 'node:child_process';
import { access, cp, mkdir, readFile, realpath, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { type InstalledFile } from '../containerd/harness/installed.js';
import { SEARCH_PATH } from './host-tools.js';
import { PATIENCE } from './patience.js';

const execute = promisify(execFile);
const ENV = { ...process.env, PATH: SEARCH_PATH };

/** Where the machine has the project with its tests, whose files everybody may change. */
export const PROJECT_IN_MACHINE = '/srv/podloop';
/** The packed package with the packages that it needs in it: nothing is downloaded in the machine. */
const PACKAGE_IN_MACHINE = '/srv/podloop.tgz';

/** There, where a run has them: the programs of a control plane and of its e2e suite. */
export const KUBERNETES_IN_MACHINE = '/srv/kubernetes';
/** There, where a suite asks for it: what `npm ci --offline --cache` takes packages from. */
export const CACHE_IN_MACHINE = '/srv/npm-cache';
/** There, where a suite asks for it: what `npm run release` makes. */
export const RELEASE_IN_MACHINE = '/srv/release';
/** What `npm run test:e2e` runs, compiled. */
const E2E = 'node_modules/.cache/podloop-e2e';

/** Beside what the sources import, the packages that tests and the build ask for. */
const DEVELOPMENT = [
  'vitest',
  'fast-check',
  'kubernetes-types',
  'typescript',
  'rolldown',
  '@types/node',
  '@types/ws',
];
/** Everything is in memory or on the host's disk: room costs nothing until it is used. */
const DISK_SIZE = '6G';

/** package-lock.json, as far as it is read here. */
interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly dev?: boolean;
  readonly dependencies?: Readonly<Record<string, string>>;
  readonly optionalDependencies?: Readonly<Record<string, string>>;
  readonly peerDependencies?: Readonly<Record<string, string>>;
}

/** What {@link makePayload} may be given. */
export interface PayloadOptions {
  readonly signal: AbortSignal;
  /** The folder with the programs of a control plane and of the e2e suite (default: they are not in it). */
  readonly kubernetes?: string | undefined;
  /** Whether a cache of npm goes into it, with every package of package-lock.json (default: false). */
  readonly packages?: boolean;
  /** Whether what a release is made of goes into it (default: false). */
  readonly release?: boolean;
}

/**
 * Writes a disk with all that goes into a machine: the project as it is checked out now with its build and the packages that it
 * needs, the packed npm package, the same installed by npm, and this machine's npm.
 */
export async function makePayload(
  project: string,
  folder: string,
  { signal, kubernetes, packages = false, release = false }: PayloadOptions,
): Promise<string> {
  const disk = path.join(folder, 'payload.img');
  const root = path.join(folder, 'payload');
  const placeOf = (inMachine: string): string => path.join(root, path.basename(inMachine));
  const run = runner(project, signal);
  await copyProject(project, placeOf(PROJECT_IN_MACHINE), { signal });
  const lock = await readLock(project);
  await packPackage(project, folder, lock, run);
  const tarball = placeOf(PACKAGE_IN_MACHINE);
  await rename(path.join(folder, 'podloop.tgz'), tarball);
  const quiet = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['install', '--global', '--prefix', path.join(root, 'installed'), ...quiet, tarball]);
  await cp(await findNpm(), path.join(root, 'npm'), { recursive: true });
  if (kubernetes !== undefined) {
    await run('node', ['node_modules/typescript/bin/tsc', '-p', 'test/e2e/tsconfig.json']);
    await cp(path.join(project, E2E), path.join(placeOf(PROJECT_IN_MACHINE), E2E), { recursive: true });
    await cp(kubernetes, placeOf(KUBERNETES_IN_MACHINE), { recursive: true, dereference: true });
  }
  if (packages) await fillPackageCache(project, folder, placeOf(CACHE_IN_MACHINE), run);
  if (release) await run('node', ['scripts/release/main.mjs', placeOf(RELEASE_IN_MACHINE)]);
  // Suites run as root and as an ordinary user on the same files.
  await run('chmod', ['-R', 'a+rwX', root]);
  await run('mke2fs', ['-q', '-t', 'ext4', '-L', 'payload', '-d', root, disk, DISK_SIZE]);
  await rm(root, { recursive: true });
  return disk;
}

/**
 * Copies the project as it is checked out now, with its build and the packages that tests need in a machine, or with `everyModule`
 * all packages, without which style and format cannot be checked.
 */
export async function copyProject(
  project: string,
  target: string,
  { signal, everyModule = false }: { readonly signal: AbortSignal; readonly everyModule?: boolean },
): Promise<void> {
  const run = runner(project, signal);
  await mkdir(target, { recursive: true });
  const tracked = await run('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard']);
  const files = await findExisting(project, tracked.split('\0'));
  const { packages } = await readLock(project);
  const needed = [...(await findImportedPackages(project, files)), ...DEVELOPMENT];
  const modules = everyModule ? ['node_modules'] : await findExisting(project, findClosure(packages, needed));
  const list = `${target}.files`;
  await writeFile(list, [...files, 'dist', ...modules].join('\n'));
  const tar = `${target}.tar`;
  await run('tar', ['-cf', tar, '--exclude=node_modules/.cache', '-C', project, '-T', list]);
  await run('tar', ['-xf', tar, '-C', target]);
  await rm(tar);
  await rm(list);
}

async function readLock(project: string): Promise<Lock> {
  return JSON.parse(await readFile(path.join(project, 'package-lock.json'), 'utf8')) as Lock;
}

/**
 * The packages that sources among these files import, sorted. The compiled sources ask for them in the machine; whoever installs the
 * package does not, since they are bundled there.
 */
export async function findImportedPackages(project: string, files: readonly string[]): Promise<string[]> {
  const sources = files.filter((file) => /^src\/.*(?<!\.test)\.ts$/.test(file));
  const texts = await Promise.all(sources.map(async (file) => readFile(path.join(project, file), 'utf8')));
  const imports = texts.flatMap((text) => [
    ...text.matchAll(/(?:\bfrom |^import |\bimport\()'([^'.#][^']*)'/gm),
  ]);
  const packages = imports.map(([, name]) => /^(?:@[^/]+\/)?[^/]+/.exec(name!)![0]);
  return [...new Set(packages.filter((name) => !name.startsWith('node:')))].sort();
}

/** The places of those packages and of all that they need, and of all that users of podloop get. */
export function findClosure(packages: Lock['packages'], names: readonly string[]): string[] {
  const found = new Set<string>();
  const add = (name: string): void => {
    const place = `node_modules/${name}`;
    const locked = packages[place];
    if (locked === undefined || found.has(place)) return;
    found.add(place);
    // What lies deeper comes with its folder, and what that needs may lie at the top.
    const own = Object.entries(packages).filter(
      ([other]) => other === place || other.startsWith(`${place}/`),
    );
    for (const [, { dependencies, optionalDependencies, peerDependencies }] of own)
      Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies }).forEach(add);
  };
  for (const [place, { dev }] of Object.entries(packages))
    if (place !== '' && dev !== true) add(place.slice('node_modules/'.length));
  names.forEach(add);
  return [...found].sort();
}

/**
 * The folder of the tests on a real containerd, as scripts/containerd/install.mjs leaves it, over what the machine has
 * installed: whatever release a test asks for, it gets the machine's.
 */
function containerdScript(): string {
  const folder = `${PROJECT_IN_MACHINE}/node_modules/.cache/podloop-containerd`;
  const release = { version: '$version', bin: 'machine/usr/bin' };
  const runc = 'machine/usr/sbin';
  const tools = {
    ...{ runc, newRunc: `${runc}/runc`, busybox: 'machine/usr/bin/busybox', cni: 'machine/usr/lib/cni' },
  };
  const installed: InstalledFile = {
    ...{ tools, releases: { '1.6': release, '1.7': release, '2.1': release } },
  };
  return [
    `mkdir -p ${folder} && ln -sfn / ${folder}/machine`,
    'version=$(containerd --version | cut -d " " -f 3)',
    `echo ${JSON.stringify(JSON.stringify(installed))} > ${folder}/installed.json`,
  ].join('\n');
}

/**
 * The machine's copy of vitest is as patient as tests there have to be: a worker may take an hour to start, for which there is no
 * option, and every limit of a test or a hook, whoever set it, is multiplied. A vitest in which that finds nothing to change ends the
 * installation.
 */
export function patientVitest(modules: string): string {
  return [
    `sed -i 's/START_TIMEOUT = [69]e4/START_TIMEOUT = 36e5/' ${modules}/vitest/dist/chunks/*.js`,
    `sed -i 's/^function withTimeout(fn, timeout,.*{$/& timeout *= ${PATIENCE};/' ${modules}/@vitest/runner/dist/*.js`,
    `grep -qF 'START_TIMEOUT = 36e5' ${modules}/vitest/dist/chunks/*.js`,
    `grep -qF 'timeout *= ${PATIENCE};' ${modules}/@vitest/runner/dist/*.js`,
  ].join('\n');
}

/** What a fresh machine runs to have the project, npm and podloop itself; after later boots of its disk it has them. */
export function installScript(): string {
  return [
    'set -e',
    'echo "LABEL=payload /srv ext4 rw,nofail 0 0" >> /etc/fstab && systemctl daemon-reload && mount /srv',
    containerdScript(),
    patientVitest(`${PROJECT_IN_MACHINE}/node_modules`),
    'ln -sf /srv/npm/bin/npm-cli.js /usr/local/bin/npm',
    'ln -sf /srv/installed/bin/podloop /usr/local/bin/podloop',
    'podloop --version',
  ].join('\n');
}

type Run = (program: string, args: readonly string[], cwd?: string) => Promise<string>;

/** Runs programs in the project's folder, or in another one. */
function runner(project: string, signal: AbortSignal): Run {
  return async (program, args, cwd = project) =>
    (await execute(program, [...args], { cwd, signal, env: ENV, maxBuffer: 64 * 1024 * 1024 })).stdout;
}

async function findExisting(project: string, files: readonly string[]): Promise<string[]> {
  const isThere = async (file: string): Promise<boolean> =>
    access(path.join(project, file)).then(
      () => true,
      () => false,
    );
  const there = await Promise.all(files.map(async (file) => file !== '' && isThere(file)));
  return files.filter((_, index) => there[index]);
}

/** `npm pack`, and the packages that users of it get put into it, which npm takes from there. */
async function packPackage(project: string, folder: string, lock: Lock, run: Run): Promise<void> {
  const own = path.join(folder, 'package');
  await mkdir(own);
  // Without scripts: what was built is packed.
  const args = ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder];
  const name = (await run('npm', args)).trim().split('\n').at(-1)!;
  await run('tar', ['-xzf', path.join(folder, name), '-C', own, '--strip-components=1']);
  await rm(path.join(folder, name));
  for (const [place, { dev }] of Object.entries(lock.packages)) {
    // The package itself is at ''; what is deeper comes with the package that it is in.
    if (place === '' || dev === true || place.indexOf('node_modules/', 1) !== -1) continue;
    await cp(path.join(project, place), path.join(own, place), { recursive: true });
  }
  const file = path.join(own, 'package.json');
  const description = JSON.parse(await readFile(file, 'utf8')) as { dependencies: Record<string, string> };
  const bundleDependencies = Object.keys(description.dependencies);
  await writeFile(file, JSON.stringify({ ...description, bundleDependencies }));
  await run('tar', ['-czf', path.join(folder, 'podloop.tgz'), '-C', folder, 'package']);
  await rm(own, { recursive: true });
}

/** As `npm ci` in a fresh clone leaves it: with whatever registry this machine's npm uses. */
async function fillPackageCache(project: string, folder: string, cache: string, run: Run): Promise<void> {
  const place = path.join(folder, 'ci');
  await mkdir(place);
  for (const name of ['package.json', 'package-lock.json', '.npmrc'])
    await cp(path.join(project, name), path.join(place, name));
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error'];
  await run('npm', ['ci', '--cache', cache, ...quiet], place);
  await rm(place, { recursive: true });
}

/** The folder of the npm that runs this, else of the one in the PATH. */
export async function findNpm(): Promise<string> {
  const told = process.env['npm_execpath'];
  const program =
    told?.endsWith('npm-cli.js') === true
      ? told
      : (await execute('sh', ['-c', 'command -v npm'])).stdout.trim();
  return path.dirname(path.dirname(await realpath(program)));
}
