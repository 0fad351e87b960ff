// The Debian package: the packed npm package with what it needs at run time, units, manual pages and completions.
import { execFileSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  lutimesSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';

/** Where the program lies; nothing in there is for others to run. */
const HOME = 'usr/lib/podloop';
const UNITS = 'usr/lib/systemd/system';
const UNIT_NAMES = [
  'podloop.service',
  'podloop-node.service',
  'podloop-runtime.service',
  'podloop-observe.service',
];
/** Debian's names of machines, and Node's. */
export const ARCHITECTURES = { amd64: 'x64', arm64: 'arm64' };

/**
 * Builds `podloop_VERSION_ARCHITECTURE.deb` in the target folder; returns its path.
 *
 * The same sources and the same time give the same bytes. It takes `dpkg-deb`, an ordinary program of Debian.
 *
 * @param {{
 *   repository: string, tarball: string, packages: string[], target: string, work: string, architecture: 'amd64' | 'arm64',
 *   version: string, epochS: number, manPages: Map<string, string>, completions: Map<string, string>, maintainer: string,
 * }} release `tarball` is what `npm pack` made; `packages` are folders below
 *   the repository, as {@link findRuntimePackages} finds them; `work` a folder that is emptied; `epochS` the time of everything in it
 */
export function makeDebianPackage(release) {
  const { target, work, architecture, version, epochS } = release;
  const root = path.join(work, architecture);
  rmSync(root, { recursive: true, force: true });
  addProgram(root, release);
  addUnits(root, release);
  for (const [name, text] of release.manPages) write(root, `usr/share/man/man1/${name}.gz`, zipped(text));
  for (const [file, text] of release.completions) write(root, file, text);
  addDocuments(root, release);
  addControl(root, release);
  setTimes(root, epochS);
  const deb = path.join(target, `podloop_${version}_${architecture}.deb`);
  execFileSync('dpkg-deb', ['--root-owner-group', '-Zxz', '--build', root, deb], {
    env: { ...process.env, SOURCE_DATE_EPOCH: String(epochS) },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  rmSync(root, { recursive: true });
  return deb;
}

function addProgram(root, { repository, tarball, packages, architecture }) {
  const home = path.join(root, HOME);
  mkdirSync(home, { recursive: true });
  execFileSync('tar', ['-xzf', tarball, '-C', home, '--strip-components=1', '--no-same-owner']);
  // The library is for npm.
  for (const folder of ['dist/lib', 'CHANGELOG.md', 'README.md', 'LICENSE'])
    rmSync(path.join(home, folder), { recursive: true, force: true });
  for (const folder of packages) {
    const inside = path.relative(repository, folder);
    cpSync(folder, path.join(home, inside), { recursive: true, dereference: true });
  }
  const addon = path.join(home, 'node_modules/classic-level');
  // Sources of the addon, which is there for every platform; here it is for one.
  rmSync(path.join(addon, 'deps'), { recursive: true });
  const platforms = path.join(addon, 'prebuilds');
  for (const platform of readdirSync(platforms))
    if (platform !== `linux-${ARCHITECTURES[architecture]}`)
      rmSync(path.join(platforms, platform), { recursive: true });
  // Debian's Node alone, whichever is first in somebody's PATH.
  write(
    root,
    'usr/bin/podloop',
    `#!/bin/sh\nexec /usr/bin/node /${HOME}/dist/program/podloop.js "$@"\n`,
    0o755,
  );
}

/** Folders of the packages that are needed at run time, those of packages too. */
export function findRuntimePackages(repository) {
  const text = execFileSync('npm', ['ls', '--omit=dev', '--all', '--parseable'], {
    cwd: repository,
    encoding: 'utf8',
  });
  return text.split('\n').filter((folder) => folder !== '' && folder !== repository);
}

function addUnits(root, { repository }) {
  for (const name of UNIT_NAMES) {
    const text = readFileSync(path.join(repository, 'examples/systemd', name), 'utf8');
    write(root, `${UNITS}/${name}`, text.replaceAll('/usr/bin/env podloop', '/usr/bin/podloop'));
  }
}

function addDocuments(root, { repository }) {
  const folder = 'usr/share/doc/podloop';
  const license = readFileSync(path.join(repository, 'LICENSE'), 'utf8');
  const libraries = readFileSync(path.join(root, HOME, 'dist/program/LICENSES.txt'), 'utf8');
  write(root, `${folder}/copyright`, `podloop is under the Apache License 2.0:\n\n${license}\n${libraries}`);
  write(root, `${folder}/changelog.gz`, zipped(readFileSync(path.join(repository, 'CHANGELOG.md'), 'utf8')));
  cpSync(path.join(root, HOME, 'examples'), path.join(root, folder, 'examples'), { recursive: true });
  rmSync(path.join(root, HOME, 'examples'), { recursive: true });
}

function addControl(root, { version, architecture, maintainer }) {
  const sizeKiB = Math.ceil(listFiles(root).reduce((sum, file) => sum + statSync(file).size, 0) / 1024);
  const control = [
    'Package: podloop',
    `Version: ${version}`,
    `Architecture: ${architecture}`,
    `Maintainer: ${maintainer}`,
    `Installed-Size: ${sizeKiB}`,
    'Depends: nodejs (>= 20.19)',
    'Recommends: systemd, nftables, iproute2, zstd',
    'Suggests: containerd, cri-o',
    'Section: admin',
    'Priority: optional',
    'Description: Kubernetes-style node agent that sees every change of every pod',
    ' podloop runs pods from a folder of manifests, as a node of a Kubernetes cluster,',
    ' or watches a node beside its kubelet: it records what happened to every',
    ' container, and names the pod, call or process that makes "PLEG is not healthy".',
    '',
  ].join('\n');
  write(root, 'DEBIAN/control', control);
  for (const [name, text] of Object.entries(SCRIPTS)) write(root, `DEBIAN/${name}`, text, 0o755);
}

const NAMES = UNIT_NAMES.join(' ');
/**
 * Pods are the runtime's and outlive the agent (`KillMode=process`): an upgrade restarts the services that run, and a removal ends
 * them, and no pod ends over either.
 */
const SCRIPTS = {
  postinst: `#!/bin/sh
set -e
[ "$1" = configure ] || exit 0
[ -d /run/systemd/system ] || exit 0
systemctl daemon-reload
# On an upgrade: those that run go on with the new version, and their pods with them.
for unit in ${NAMES}; do
  systemctl try-restart "$unit" || echo "podloop: $unit does not start: systemctl status $unit" >&2
done
`,
  prerm: `#!/bin/sh
set -e
[ "$1" = remove ] || exit 0
[ -d /run/systemd/system ] || exit 0
for unit in ${NAMES}; do
  systemctl is-active --quiet "$unit" || continue
  case $unit in
    podloop-observe.service) ;;
    *) echo "podloop: $unit ends, and its pods go on. To end them, install podloop again and run: podloop down" ;;
  esac
  systemctl disable --now "$unit"
done
`,
  postrm: `#!/bin/sh
set -e
[ ! -d /run/systemd/system ] || systemctl daemon-reload
[ "$1" = purge ] || exit 0
# What an observer recorded is only for those who read it; the folder of an agent holds volumes of pods.
rm -rf /var/lib/podloop-observe
[ ! -d /var/lib/podloop ] || echo "podloop: /var/lib/podloop stays, as it has volumes and records of pods; remove it when they have ended" >&2
`,
};

function write(root, file, content, mode = 0o644) {
  const at = path.join(root, file);
  mkdirSync(path.dirname(at), { recursive: true });
  writeFileSync(at, content);
  chmodSync(at, mode);
}

/** Without the time that gzip puts into its header. */
function zipped(text) {
  return gzipSync(text, { level: 9 });
}

function listFiles(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
}

/** One time and usual rights for all, whoever builds it. */
function setTimes(root, epochS) {
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  // What is inside first: a change of rights there is none of the folder's time.
  for (const entry of entries.reverse()) {
    const at = path.join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) continue;
    const isProgram = entry.isDirectory() || (statSync(at).mode & 0o100) !== 0;
    chmodSync(at, isProgram ? 0o755 : 0o644);
    lutimesSync(at, epochS, epochS);
  }
  lutimesSync(root, epochS, epochS);
  if (!existsSync(path.join(root, 'DEBIAN/control'))) throw new Error('the package has no control file');
}
