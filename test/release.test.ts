import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';

const load = async (file: string): Promise<Record<string, (...args: never[]) => unknown>> =>
  (await import(new URL(`../scripts/release/${file}`, import.meta.url).href)) as never;
const { toManPage, listCommands } = await load('man-pages.mjs');
const { chooseParts } = await load('bill-of-materials.mjs');
const { makeDebianPackage } = await load('debian-package.mjs');

const HELP = `Usage: podloop stop [options] [pod...]

Stop pods until they are started again.

Options:
  -t, --time <seconds>         Seconds that the pods get to end (default: each
                               pod's grace period)
  --with-a-name-that-is-rather-long <value>
                               Nothing
  -h, --help                   Show this help

A stopped pod runs again after "podloop
start".

.hidden lines: are text, too

Examples:
  # Stop a pod
  podloop stop web

  'quoted'
`;

describe('a manual page', () => {
  const page = toManPage!({
    ...{ name: 'podloop-stop', summary: 'Stop pods', help: HELP, version: '1.2.3', date: '2026-01-31' },
    related: ['podloop'],
  } as never) as string;

  it('has usage, options with all their words, notes and examples', () => {
    expect(page).toContain('.TH PODLOOP-STOP 1 "2026-01-31" "podloop 1.2.3" "User Commands"');
    expect(page).toContain('.SH SYNOPSIS\n.B podloop stop\n.RI [options]\n.RI [pod...]\n');
    expect(page).toContain(
      ".TP\n.B \\-t, \\-\\-time <seconds>\nSeconds that the pods get to end (default: each pod's grace period)\n",
    );
    expect(page).toContain('.B \\-\\-with\\-a\\-name\\-that\\-is\\-rather\\-long <value>\nNothing\n');
    expect(page).toContain('.SH NOTES\nA stopped pod runs again after "podloop\nstart".\n.PP\n');
    expect(page).toContain('.SH EXAMPLES\n.nf\n  # Stop a pod\n  podloop stop web\n');
  });

  it('makes no request of roff of a line that looks like one', () => {
    expect(page).toContain('\\&.hidden lines');
    const requests = [...page.matchAll(/^[.'](\w+|\S)/gm)].map(([, request]) => request);
    expect(new Set(requests)).toEqual(new Set(['TH', 'SH', 'B', 'BR', 'RI', 'TP', 'PP', 'nf', 'fi']));
  });

  it('lists the commands of the program', () => {
    const help =
      'Usage: podloop [command]\n\nAll.\n\nCommands:\n  run             Keep pods\n                  running\n  help [command]  Show help\n';
    expect(listCommands!(help as never)).toEqual([{ name: 'run', summary: 'Keep pods running' }]);
  });
});

describe('the bill of materials', () => {
  const component = (name: string, version: string) => ({
    ...{ 'bom-ref': `${name}@${version}`, name, version, properties: [] },
    externalReferences: [
      { type: 'distribution', url: 'https://mirror.example/x' },
      { type: 'vcs', url: 'git' },
    ],
  });
  const all = {
    metadata: {
      timestamp: 'now',
      component: { 'bom-ref': 'podloop@1.0.0', name: 'folder', type: 'library' },
    },
    serialNumber: 'urn:uuid:random',
    components: [component('level', '1.0.0'), component('@a/ws', '2.0.0'), component('test-tool', '3.0.0')],
    dependencies: [
      { ref: 'podloop@1.0.0', dependsOn: ['level@1.0.0', 'test-tool@3.0.0'] },
      { ref: 'test-tool@3.0.0', dependsOn: ['@a/ws@2.0.0'] },
    ],
  };
  const options = {
    ...{ name: 'podloop', installed: { components: [component('level', '1.0.0')] }, epochS: 0 },
    licenses: ['Parts of these libraries are here.\n\n@a/ws 2.0.0: MIT\n\nMIT License\n'],
  };

  it('has what is installed and what is bundled, and nothing of what builds it', () => {
    const document = chooseParts!(all as never, options as never) as typeof all;
    expect(document.components.map((each) => [each.name, each.properties])).toEqual([
      ['level', [{ name: 'podloop:delivery', value: 'installed' }]],
      ['@a/ws', [{ name: 'podloop:delivery', value: 'bundled' }]],
    ]);
    expect(document.dependencies).toEqual([{ ref: 'podloop@1.0.0', dependsOn: ['level@1.0.0'] }]);
    expect(document.metadata.component.name).toBe('podloop');
    expect(JSON.stringify(document)).not.toContain('mirror.example');
    const again = chooseParts!({ ...all, serialNumber: 'urn:uuid:other' } as never, options as never);
    expect(again).toEqual(document);
  });

  it('fails when something is bundled that npm does not know', () => {
    const strange = { ...options, licenses: ['Parts.\n\nstrange 9.0.0: MIT\n\n'] };
    expect(() => chooseParts!(all as never, strange as never)).toThrow('strange@9.0.0');
  });
});

const hasDpkg = existsSync('/usr/bin/dpkg-deb');
describe.skipIf(!hasDpkg)('the Debian package (it takes dpkg-deb)', () => {
  let folder: string;
  let repository: string;
  const build = (name: string, epochS = 1_700_000_000): string => {
    const target = path.join(folder, name);
    mkdirSync(target);
    return makeDebianPackage!({
      ...{ repository, target, epochS, architecture: 'amd64', version: '1.2.3', maintainer: 'A <a@b>' },
      ...{ tarball: path.join(folder, 'podloop.tgz'), work: path.join(folder, `work-${name}`) },
      ...{ packages: [path.join(repository, 'node_modules/classic-level')] },
      manPages: new Map([['podloop.1', '.TH PODLOOP 1\n']]),
      completions: new Map([['usr/share/bash-completion/completions/podloop', 'complete\n']]),
    } as never) as string;
  };
  const list = (deb: string): string[] =>
    execFileSync('dpkg-deb', ['--contents', deb], { encoding: 'utf8' }).trim().split('\n');

  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'podloop-deb-'));
    repository = path.join(folder, 'repository');
    const write = (file: string, text: string): void => {
      mkdirSync(path.dirname(path.join(folder, file)), { recursive: true });
      writeFileSync(path.join(folder, file), text);
    };
    cpSync('examples/systemd', path.join(repository, 'examples/systemd'), { recursive: true });
    for (const file of ['LICENSE', 'CHANGELOG.md']) write(`repository/${file}`, file);
    for (const platform of ['linux-x64', 'linux-arm64', 'win32-x64'])
      write(`repository/node_modules/classic-level/prebuilds/${platform}/addon.node`, platform);
    write('repository/node_modules/classic-level/deps/source.c', '');
    for (const file of ['dist/program/podloop.js', 'dist/program/LICENSES.txt', 'dist/lib/index.js'])
      write(`package/${file}`, file);
    write('package/examples/pods/web.yaml', 'kind: Pod\n');
    execFileSync('tar', ['-czf', path.join(folder, 'podloop.tgz'), '-C', folder, 'package']);
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  it('has the program, units that name it, pages, and the addon for its machine alone', () => {
    const files = list(build('first'));
    const paths = files.map((line) => line.split(/\s+/)[5]!.replace(/^\./, ''));
    expect(paths).toEqual(
      expect.arrayContaining([
        ...['/usr/bin/podloop', '/usr/lib/podloop/dist/program/podloop.js'],
        ...['/usr/lib/systemd/system/podloop.service', '/usr/lib/systemd/system/podloop-observe.service'],
        ...['/usr/share/man/man1/podloop.1.gz', '/usr/share/doc/podloop/copyright'],
        '/usr/share/doc/podloop/examples/pods/web.yaml',
        '/usr/lib/podloop/node_modules/classic-level/prebuilds/linux-x64/addon.node',
      ]),
    );
    expect(paths.filter((file) => /arm64|win32|deps|dist\/lib/.test(file))).toEqual([]);
    expect(files.every((line) => line.includes(' root/root '))).toBe(true);
    const out = path.join(folder, 'out');
    execFileSync('dpkg-deb', ['-x', path.join(folder, 'first/podloop_1.2.3_amd64.deb'), out]);
    const unit = readFileSync(path.join(out, 'usr/lib/systemd/system/podloop.service'), 'utf8');
    expect(unit).toContain('ExecStart=/usr/bin/podloop run ');
  });

  it('has the same bytes each time', () => {
    const hashOf = (deb: string): string => createHash('sha256').update(readFileSync(deb)).digest('hex');
    expect(hashOf(build('second'))).toBe(hashOf(build('third')));
    expect(hashOf(build('later', 1_700_000_001))).not.toBe(
      hashOf(path.join(folder, 'second/podloop_1.2.3_amd64.deb')),
    );
  });

  it('has scripts that a shell takes, and that do nothing on a machine without systemd', () => {
    const control = path.join(folder, 'control');
    execFileSync('dpkg-deb', ['-e', build('fourth'), control]);
    for (const [script, word] of [
      ['postinst', 'configure'],
      ['prerm', 'upgrade'],
      ['postrm', 'upgrade'],
    ] as const) {
      execFileSync('sh', ['-n', path.join(control, script)]);
      expect(readFileSync(path.join(control, script), 'utf8')).toContain('/run/systemd/system');
      if (!existsSync('/run/systemd/system'))
        expect(execFileSync('sh', [path.join(control, script), word], { encoding: 'utf8' })).toBe('');
    }
  });
});

describe('npm run release', () => {
  const script = path.resolve(import.meta.dirname, '../scripts/release/main.mjs');
  const run = (...args: string[]) => spawnSync(process.execPath, [script, ...args], { encoding: 'utf8' });

  it('removes nothing of a folder that is no earlier release', () => {
    const folder = mkdtempSync(path.join(tmpdir(), 'podloop-no-release-'));
    try {
      writeFileSync(path.join(folder, 'precious'), 'much');
      const { status, stderr } = run(folder);
      expect([status, stderr]).toEqual([1, expect.stringContaining(`error: ${folder} is not empty`)]);
      expect(readFileSync(path.join(folder, 'precious'), 'utf8')).toBe('much');
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it.each([
    ['--help', 0],
    ['--sign', 1],
  ])('says how it is called: %s', (flag, code) => {
    const { status, stderr } = run(flag);
    expect([status, stderr]).toEqual([code, expect.stringContaining('Usage: npm run release [-- FOLDER]')]);
  });
});
