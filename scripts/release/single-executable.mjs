// The single executable: Node with the files of the npm package inside (Node's "single executable applications"), for machines that
// have no Node, or none that root finds. The program in it is the one of the npm package, byte by byte; what differs is in executable/.
import { execFileSync } from 'node:child_process';
import {
  copyFileSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { inject } from 'postject';
import { rolldown } from 'rolldown';
import { describeLicenses } from '../bundled-licenses.mjs';
import { MINIFIED } from '../bundle-settings.mjs';
import { findNodeBinary, NODE_VERSION } from './node-binary.mjs';

const OWN = path.join(import.meta.dirname, 'executable');
/** Where Node searches for what is inside, and how it knows that there is something. Its documentation names both. */
const RESOURCE = 'NODE_SEA_BLOB';
const FUSE = 'NODE_SEA_FUSE_fce680ab2cc467b6e072b8b5df1996b2';
/** The addon of classic-level for each machine, for glibc as Node's own binaries are. */
const ADDONS = { x64: 'linux-x64/classic-level.node', arm64: 'linux-arm64/classic-level.armv8.node' };

/**
 * Makes the executable `podloop` for one machine in the folder `work`, which is emptied.
 *
 * @param {{ repository: string, tarball: string, work: string, machine: 'x64' | 'arm64', cache: string }} release `tarball` is what
 *   `npm pack` made; `cache` is a folder for Node's binaries
 * @returns {Promise<{ executable: string, licenses: string }>} its path, and the licences of what is in it
 */
export async function makeExecutable({ repository, tarball, work, machine, cache }) {
  rmSync(work, { recursive: true, force: true });
  mkdirSync(work, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', work, 'package/package.json', 'package/dist/program']);
  const program = path.join(work, 'package/dist/program');
  const assets = new Map([['package.json', path.join(work, 'package/package.json')]]);
  for (const name of readdirSync(program).sort())
    assets.set(`dist/program/${name}`, path.join(program, name));
  const database = await bundleDatabase(repository);
  const addon = path.join(repository, 'node_modules/classic-level/prebuilds', ADDONS[machine]);
  const modules = readFileSync(path.join(OWN, 'modules.cjs'), 'utf8');
  const write = (name, content) => {
    const file = path.join(work, name);
    writeFileSync(file, content);
    return file;
  };
  assets.set('classic-level.js', write('classic-level.js', database.code));
  assets.set('classic-level.node', addon);
  assets.set('modules.cjs', write('modules.cjs', modules));
  write('main.cjs', modules + readFileSync(path.join(OWN, 'main.cjs'), 'utf8'));
  const config = {
    // Relative, as the name is inside, too.
    ...{ main: 'main.cjs', output: 'podloop.blob', disableExperimentalSEAWarning: true },
    assets: Object.fromEntries(assets),
    // Both are only good on the machine that makes them.
    ...{ useSnapshot: false, useCodeCache: false },
  };
  // The form of what is inside is that of this very version of Node; it is the same for all machines.
  const maker = findNodeBinary(process.arch, { cache });
  write('config.json', JSON.stringify(config));
  execFileSync(maker, ['--experimental-sea-config', 'config.json'], { cwd: work, env: {}, stdio: 'pipe' });
  const node = findNodeBinary(machine, { cache });
  const executable = path.join(work, 'podloop');
  copyFileSync(node, executable);
  await injectQuietly(executable, readFileSync(path.join(work, 'podloop.blob')));
  const licenses = [
    readFileSync(path.join(program, 'LICENSES.txt'), 'utf8'),
    describeLicenses(database.moduleIds),
    `Node.js ${NODE_VERSION}:\n\n${readFileSync(path.join(path.dirname(node), '../LICENSE'), 'utf8')}`,
  ];
  return { executable, licenses: licenses.join(`\n${'='.repeat(80)}\n\n`) };
}

/**
 * Makes `podloop-VERSION-linux-MACHINE.tar.gz` in the target folder, with the executable, its licences, manual pages, completions and
 * units; returns its path. The same sources and the same time give the same bytes.
 *
 * @param {Parameters<typeof makeExecutable>[0] & {
 *   target: string, version: string, epochS: number, manPages: Map<string, string>, completions: Map<string, string>,
 * }} release
 */
export async function makeExecutableArchive(release) {
  const { repository, target, work, machine, version, epochS, manPages, completions } = release;
  const { executable, licenses } = await makeExecutable(release);
  const name = `podloop-${version}-linux-${machine}`;
  const root = path.join(work, name);
  const put = (file, content, mode = 0o644) => {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), content, { mode });
  };
  put('podloop', readFileSync(executable), 0o755);
  put('LICENSE', readFileSync(path.join(repository, 'LICENSE')));
  put('LICENSES.txt', licenses);
  for (const [file, text] of manPages) put(`man/${file}`, text);
  for (const [file, text] of completions) put(`completions/${path.basename(file)}`, text);
  const units = path.join(repository, 'examples/systemd');
  for (const file of readdirSync(units)) put(`systemd/${file}`, readFileSync(path.join(units, file)));
  setTimes(work, name, epochS);
  const tar = ['-c', '--sort=name', '--format=ustar', '--owner=0', '--group=0', '--numeric-owner'];
  const bytes = execFileSync('tar', [...tar, `--mode=u=rwX,go=rX`, '-C', work, name], { maxBuffer: 2 ** 30 });
  const archive = path.join(target, `${name}.tar.gz`);
  // Without the time that gzip puts into its header.
  writeFileSync(archive, gzipSync(bytes, { level: 9 }));
  return archive;
}

/** classic-level and what it needs in one module, with another way to its addon. */
async function bundleDatabase(repository) {
  const binding = path.join(OWN, 'addon.cjs');
  const build = await rolldown({
    input: path.join(OWN, 'database.mjs'),
    cwd: repository,
    platform: 'node',
    plugins: [{ name: 'addon', resolveId: (specifier) => (specifier === './binding' ? binding : null) }],
  });
  const { output } = await build.generate({ format: 'esm', comments: false, minify: MINIFIED });
  await build.close();
  if (output.length !== 1) throw new Error('classic-level is more than one file');
  return output[0];
}

/** postject writes to the console about symbols of Node that nothing needs. */
async function injectQuietly(executable, blob) {
  const { warn, log } = console;
  Object.assign(console, { warn: () => undefined, log: () => undefined });
  try {
    await inject(executable, RESOURCE, blob, { sentinelFuse: FUSE });
  } finally {
    Object.assign(console, { warn, log });
  }
}

function setTimes(work, name, epochS) {
  const entries = readdirSync(path.join(work, name), { recursive: true });
  for (const entry of [...entries.map((each) => path.join(name, each)), name])
    lutimesSync(path.join(work, entry), epochS, epochS);
}
