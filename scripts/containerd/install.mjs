// Fetches what the tests on a real containerd need: three releases of containerd, runc, busybox and the CNI
// plugins, as Debian packages unpacked into a folder of our own. The machine's packages and its apt sources stay
// as they are.
//
//   node scripts/containerd/install.mjs [--cache FOLDER] [--force]
//
// In: a Debian machine whose apt works. Out: the folder, with `installed.json` in it that names every version and
// path (relative to the folder). A second run finds that file and does nothing.
//
// The packages come from three suites, through an apt configuration of our own that takes the mirror's address
// from the machine's. containerd of every suite runs on Debian 12's glibc; runc, busybox and the plugins are
// always Debian 12's, whose needs are the smallest. A second runc, which maps the ids of mounts and so can give pods
// users of their own, is unstable's, with the C library that it was built for.
import { execFile } from 'node:child_process';
import {
  access,
  constants,
  mkdir,
  mkdtemp,
  readFile,
  readdir,
  rename,
  rm,
  writeFile,
} from 'node:fs/promises';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs, promisify } from 'node:util';

const run = promisify(execFile);

/** Raised whenever what lies in the folder changes, so that older folders are made anew. */
const LAYOUT = 2;
const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const TOOLS_SUITE = 'bookworm';
const TOOLS = ['runc', 'busybox-static', 'containernetworking-plugins'];
/** Each release, and the suites that may have it: the first whose containerd runs here is taken. */
const RELEASES = {
  1.6: ['bookworm'],
  1.7: ['trixie'],
  // Unstable moves on; when its containerd needs a newer glibc, testing's may still do.
  2.1: ['sid', 'testing'],
};

/** Where the second runc and its libraries come from; the tool that ties them together is Debian 12's. */
const NEW_RUNC_SUITES = ['sid', 'testing'];
const LIBRARIES = ['libc6', 'libseccomp2'];

/** A failure that needs no stack: what is wrong, and what to do. */
class InstallError extends Error {}

const { values: options } = parseArgs({
  options: {
    cache: { type: 'string' },
    force: { type: 'boolean', default: false },
    help: { type: 'boolean', default: false },
  },
});

try {
  if (options.help) console.log('Usage: node scripts/containerd/install.mjs [--cache FOLDER] [--force]');
  else await install(path.resolve(options.cache ?? defaultCache()), options.force);
} catch (error) {
  if (!(error instanceof InstallError)) throw error;
  console.error(`install: ${error.message}`);
  process.exitCode = 1;
}

function defaultCache() {
  const repository = path.dirname(path.dirname(path.dirname(fileURLToPath(import.meta.url))));
  return path.join(repository, 'node_modules', '.cache', 'podloop-containerd');
}

async function install(cache, force) {
  const present = force ? undefined : await findInstalled(cache);
  if (present !== undefined) return report(present, cache);
  await checkMachine();
  await mkdir(path.dirname(cache), { recursive: true });
  // Made beside its place and renamed as a whole, so that a run that was cut off leaves nothing half done.
  const staging = await mkdtemp(`${cache}.new-`);
  try {
    const apt = await openSuites(path.join(staging, 'apt'));
    const tools = { versions: {} };
    for (const name of TOOLS)
      tools.versions[name] = await unpack(apt, name, TOOLS_SUITE, path.join(staging, 'tools'));
    const installed = {
      layout: LAYOUT,
      tools: { ...tools, runc: 'tools/usr/sbin', busybox: 'tools/bin/busybox', cni: 'tools/usr/lib/cni' },
      releases: {},
    };
    for (const [release, suites] of Object.entries(RELEASES)) {
      installed.releases[release] = await unpackContainerd(apt, release, suites, staging);
    }
    installed.tools.newRunc = await unpackNewRunc(apt, staging, cache);
    await rm(path.join(staging, 'apt'), { recursive: true });
    await writeFile(path.join(staging, 'installed.json'), `${JSON.stringify(installed, null, 2)}\n`);
    await rm(cache, { recursive: true, force: true });
    await rename(staging, cache);
    report(installed, cache);
  } finally {
    await rm(staging, { recursive: true, force: true });
  }
}

function report(installed, cache) {
  const versions = Object.values(installed.releases).map((release) => release.version);
  console.log(`install: containerd ${versions.join(', ')} in ${cache}`);
}

/** What an earlier run left, if all of it is still there. */
async function findInstalled(cache) {
  try {
    const installed = JSON.parse(await readFile(path.join(cache, 'installed.json'), 'utf8'));
    if (installed.layout !== LAYOUT) return undefined;
    if (Object.keys(RELEASES).some((release) => installed.releases[release] === undefined)) return undefined;
    const needed = [
      `${installed.tools.runc}/runc`,
      installed.tools.newRunc,
      installed.tools.busybox,
      `${installed.tools.cni}/bridge`,
    ];
    for (const release of Object.values(installed.releases))
      needed.push(`${release.bin}/containerd`, `${release.bin}/ctr`);
    await Promise.all(needed.map((file) => access(path.join(cache, file), constants.X_OK)));
    return installed;
  } catch {
    return undefined;
  }
}

async function checkMachine() {
  if (process.platform !== 'linux') throw new InstallError('containerd runs on Linux only.');
  if (process.getuid() !== 0)
    throw new InstallError('must run as root: the tests start a container runtime of their own.');
  for (const tool of ['apt-get', 'dpkg-deb']) {
    await run(tool, ['--version']).catch(() => {
      throw new InstallError(`${tool} is not here: this script knows Debian 12 and its relatives only.`);
    });
  }
}

/** An apt configuration of our own over all suites: no file of the machine's is written. */
async function openSuites(folder) {
  const suites = [...new Set([TOOLS_SUITE, ...Object.values(RELEASES).flat(), ...NEW_RUNC_SUITES])];
  const sourceList = path.join(folder, 'sources.list');
  for (const sub of ['lists/partial', 'cache/archives/partial', 'download'])
    await mkdir(path.join(folder, sub), { recursive: true });
  const settings = {
    'Dir::Etc::SourceList': sourceList,
    'Dir::Etc::SourceParts': '-',
    'Dir::State::Lists': path.join(folder, 'lists'),
    'Dir::Cache': path.join(folder, 'cache'),
    // apt's own user may not be able to enter the folder.
    'APT::Sandbox::User': 'root',
    'APT::Update::Error-Mode': 'any',
    'Acquire::Languages': 'none',
    'Acquire::Retries': '2',
    'Acquire::IndexTargets::deb::DEP-11::DefaultEnabled': 'false',
    'Acquire::IndexTargets::deb::Contents-deb::DefaultEnabled': 'false',
  };
  const apt = {
    folder: path.join(folder, 'download'),
    options: Object.entries(settings).flatMap(([key, value]) => ['-o', `${key}=${value}`]),
  };
  const signedBy = await access(KEYRING).then(
    () => `[signed-by=${KEYRING}] `,
    () => '',
  );
  const failures = [];
  for (const mirror of await machineMirrors()) {
    await writeFile(sourceList, suites.map((suite) => `deb ${signedBy}${mirror} ${suite} main\n`).join(''));
    try {
      await run('apt-get', [...apt.options, '-q', 'update']);
      return apt;
    } catch (error) {
      failures.push(lastLines(error));
    }
  }
  throw new InstallError(
    `apt could not read ${suites.join(', ')} from the mirror that this machine uses; is it offline, or not a Debian?\n${failures.join('\n')}`,
  );
}

/** The addresses that the machine's own apt takes packages from. */
async function machineMirrors() {
  // Without release info, so that a machine that never ran `apt-get update` answers too.
  const args = ['indextargets', '--no-release-info', '--format', '$(CREATED_BY) $(COMPONENT) $(SITE)'];
  const { stdout } = await run('apt-get', args);
  const sites = stdout
    .split('\n')
    .map((line) => line.split(' '))
    .filter(([createdBy, component]) => createdBy === 'Packages' && component === 'main')
    .map(([, , site]) => site);
  if (sites.length === 0)
    throw new InstallError('apt has no package sources on this machine (`apt-get indextargets` names none).');
  return [...new Set(sites)];
}

/** Downloads one package of one suite, unpacks it, and answers with its version. */
async function unpack(apt, name, suite, into) {
  let target;
  try {
    await run('apt-get', [...apt.options, '-q', 'download', `${name}/${suite}`], { cwd: apt.folder });
    target = (await readdir(apt.folder)).find((file) => file.startsWith(`${name}_`) && file.endsWith('.deb'));
    if (target === undefined) throw new Error(`apt-get download ${name} left no file`);
  } catch (error) {
    throw new InstallError(`${name} of ${suite} could not be had:\n${lastLines(error)}`);
  }
  const file = path.join(apt.folder, target);
  await mkdir(into, { recursive: true });
  await run('dpkg-deb', ['--extract', file, into]);
  const { stdout } = await run('dpkg-deb', ['--field', file, 'Version']);
  await rm(file);
  return stdout.trim();
}

/**
 * The newest runc, which finds its C library beside it and so runs on older systems, too. Answers with its path. It has
 * to lie at `cache` before it runs, as the path of the loader in a program is absolute.
 */
async function unpackNewRunc(apt, staging, cache) {
  const failures = [];
  await unpack(apt, 'patchelf', TOOLS_SUITE, path.join(staging, 'patchelf'));
  for (const suite of NEW_RUNC_SUITES) {
    const folder = 'new-runc';
    const at = path.join(staging, folder);
    try {
      for (const name of ['runc', ...LIBRARIES]) await unpack(apt, name, suite, at);
      const libraries = path.dirname(await findFile(at, 'libc.so.6'));
      const [loader] = (await readdir(libraries)).filter((name) => name.startsWith('ld-linux'));
      const final = path.join(cache, path.relative(staging, libraries));
      const runc = path.join(at, 'usr/sbin/runc');
      const links = ['--set-interpreter', path.join(final, loader), '--set-rpath', final];
      await run(path.join(staging, 'patchelf/usr/bin/patchelf'), [...links, runc]);
      await rm(path.join(staging, 'patchelf'), { recursive: true });
      return path.relative(staging, runc);
    } catch (error) {
      failures.push(`${suite}: ${lastLines(error)}`);
      await rm(at, { recursive: true, force: true });
    }
  }
  throw new InstallError(`no runc that maps the ids of mounts:\n${failures.join('\n')}`);
}

async function findFile(folder, name) {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const found = entries.find((entry) => entry.name === name && entry.isFile());
  if (found === undefined) throw new Error(`there is no ${name} in ${folder}`);
  return path.join(found.parentPath, name);
}

async function unpackContainerd(apt, release, suites, staging) {
  const failures = [];
  for (const suite of suites) {
    const folder = `containerd-${release}`;
    try {
      const version = await unpack(apt, 'containerd', suite, path.join(staging, folder));
      await run(path.join(staging, folder, 'usr/bin/containerd'), ['--version']);
      return { version, suite, bin: `${folder}/usr/bin` };
    } catch (error) {
      failures.push(`${suite}: ${lastLines(error)}`);
      await rm(path.join(staging, folder), { recursive: true, force: true });
    }
  }
  throw new InstallError(`no containerd ${release} that runs on this machine:\n${failures.join('\n')}`);
}

function lastLines(error) {
  const text = typeof error.stderr === 'string' && error.stderr !== '' ? error.stderr : error.message;
  return text.trim().split('\n').slice(-6).join('\n');
}
