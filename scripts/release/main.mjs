// `npm run release`: what users get of a version, in release/. It publishes nothing.
//
//   podloop-VERSION.tgz            the npm package
//   podloop_VERSION_amd64.deb      Debian packages (and arm64), where dpkg-deb is there
//   podloop-VERSION-linux-x64.tar.gz  the program as one file with Node inside (and arm64); see node-binary.mjs for where Node is from
//   podloop-VERSION.cdx.json       what is in it: a bill of materials (CycloneDX), by npm sbom
//   SHA256SUMS                     of all of these; with MINISIGN_KEY, a secret key of minisign, SHA256SUMS.minisig too
//
// Two runs on one commit give the same bytes: all times are those of the commit, or SOURCE_DATE_EPOCH.
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { ARCHITECTURES, findRuntimePackages, makeDebianPackage } from './debian-package.mjs';
import { makeBillOfMaterials } from './bill-of-materials.mjs';
import { makeManPages } from './man-pages.mjs';
import { makeExecutableArchive } from './single-executable.mjs';

const repository = path.resolve(import.meta.dirname, '../..');
const USUAL_TARGET = path.join(repository, 'release');
const target = readTarget(process.argv.slice(2));
const program = path.join(repository, 'dist/program/podloop.js');
const { version } = JSON.parse(readFileSync(path.join(repository, 'package.json'), 'utf8'));
const epochS = Number(process.env.SOURCE_DATE_EPOCH ?? run('git', 'log', '-1', '--format=%ct'));
const maintainer = process.env.DEBEMAIL ?? 'podloop <podloop@localhost>';

rmSync(target, { recursive: true, force: true });
mkdirSync(target, { recursive: true });
const work = mkdtempSync(path.join(os.tmpdir(), 'podloop-release-'));
try {
  say('packing, which builds');
  const packed = run('npm', 'pack', '--pack-destination', target, '--silent').split('\n').at(-1);
  const tarball = path.join(target, packed);
  say('writing manual pages and completions');
  const date = new Date(epochS * 1_000).toISOString().slice(0, 10);
  const manPages = makeManPages(program, { version, date });
  const complete = (shell) => run(process.execPath, program, 'completion', shell) + '\n';
  const completions = new Map([
    ['usr/share/bash-completion/completions/podloop', complete('bash')],
    ['usr/share/zsh/vendor-completions/_podloop', complete('zsh')],
    ['usr/share/fish/vendor_completions.d/podloop.fish', complete('fish')],
  ]);
  writeFileSync(path.join(target, `podloop-${version}.cdx.json`), makeBillOfMaterials(repository, epochS));
  if (isThere('dpkg-deb')) {
    for (const architecture of Object.keys(ARCHITECTURES)) {
      say(`building the Debian package for ${architecture}`);
      makeDebianPackage({
        ...{ repository, tarball, target, work, architecture, version, epochS, manPages, completions },
        ...{ packages: findRuntimePackages(repository), maintainer },
      });
    }
  } else say('skipping the Debian packages: there is no dpkg-deb');
  for (const machine of Object.values(ARCHITECTURES)) {
    say(`making the single executable for ${machine}`);
    const cache = path.join(repository, 'node_modules/.cache/release');
    const own = path.join(work, `executable-${machine}`);
    await makeExecutableArchive({
      ...{ repository, tarball, target, work: own, cache, machine, version, epochS, manPages, completions },
    });
  }
  writeSums();
} finally {
  rmSync(work, { recursive: true, force: true });
}

/** The folder to write into; it is emptied first, so it has to be one that a release was written into, or empty. */
function readTarget([folder = USUAL_TARGET, ...more]) {
  if (folder.startsWith('-') || more.length > 0) {
    process.stderr.write(
      'Usage: npm run release [-- FOLDER]\n\nWrites a release into FOLDER (default: release).\n',
    );
    process.exit(folder === '--help' || folder === '-h' ? 0 : 1);
  }
  const chosen = path.resolve(folder);
  const isOurs = chosen === USUAL_TARGET || existsSync(path.join(chosen, 'SHA256SUMS'));
  if (existsSync(chosen) && !isOurs && readdirSync(chosen).length > 0) {
    process.stderr.write(
      `error: ${chosen} is not empty and no earlier release: name another folder, or remove it\n`,
    );
    process.exit(1);
  }
  return chosen;
}

function writeSums() {
  const lines = readdirSync(target)
    .sort()
    .map((name) => {
      const hash = createHash('sha256')
        .update(readFileSync(path.join(target, name)))
        .digest('hex');
      return `${hash}  ${name}`;
    });
  const sums = path.join(target, 'SHA256SUMS');
  writeFileSync(sums, `${lines.join('\n')}\n`);
  process.stdout.write(`${lines.join('\n')}\n`);
  const key = process.env.MINISIGN_KEY;
  if (key === undefined) say('not signed: name a secret key of minisign in MINISIGN_KEY');
  else execFileSync('minisign', ['-S', '-s', key, '-m', sums], { stdio: 'inherit' });
}

function isThere(name) {
  try {
    run(name, '--version');
    return true;
  } catch {
    return false;
  }
}

function run(name, ...args) {
  const options = { cwd: repository, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] };
  return execFileSync(name, args, { ...options, maxBuffer: 64 * 1024 * 1024 }).trim();
}

function say(what) {
  process.stderr.write(`release: ${what}\n`);
}
