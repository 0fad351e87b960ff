/**
 * The single executable as users get it: Node with the program inside, used without any other Node, from the first pod to its end.
 * Whatever starts the program or a part of it again has to work without a script on the disk: agents in the background, the
 * runtime, threads, helpers inside of network namespaces, proxies of host ports, the page.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { findFreePort } from '#support/clients/tcp-client.js';
import { isBuildOutOfDate } from './build-state.js';
import { visit } from './integration/bridge-node.js';
import { whyNoNetworkHarness } from './integration/network-harness.js';
import { PodloopProcess, runPodloop } from './integration/podloop-process.js';
import { untilNobodyNames } from './integration/processes-naming.js';
import { PROGRAM_IMAGE, writeProgramImage } from './integration/program-image.js';
import { readPackageJson } from './installed-package.js';
import { REPOSITORY } from './source-tree.js';

type Make = (release: object) => Promise<{ readonly executable: string; readonly licenses: string }>;
const load = async <T>(file: string): Promise<T> =>
  (await import(path.join(REPOSITORY, 'scripts/release', file))) as T;
const { makeExecutable, makeExecutableArchive } = await load<{
  makeExecutable: Make;
  makeExecutableArchive: (release: object) => Promise<string>;
}>('single-executable.mjs');
const { findNodeBinary } = await load<{ findNodeBinary: (machine: string, options: object) => string }>(
  'node-binary.mjs',
);

const run = promisify(execFile);
const CACHE = path.join(REPOSITORY, 'node_modules/.cache/release');
const LIMIT_MS = 300_000;
const machine = process.arch;
const isMade = process.platform === 'linux' && ['x64', 'arm64'].includes(machine);
const lacking = whyNoNetworkHarness();
/** Runs programs of the other machine, with the libraries of Debian's packages for it (libc6-arm64-cross, libstdc++6-arm64-cross). */
const QEMU = ['/usr/bin/qemu-aarch64-static', '/usr/bin/qemu-aarch64'].find((file) => existsSync(file));
const LIBRARIES = '/usr/aarch64-linux-gnu';
const canEmulate = machine === 'x64' && QEMU !== undefined && existsSync(`${LIBRARIES}/lib/libstdc++.so.6`);

describe.skipIf(!isMade)(
  `the single executable${isMade ? '' : ` (skipped: ${process.platform}-${machine})`}`,
  () => {
    let folder: string;
    let executable: string;
    let licenses: string;
    let tarball: string;
    /** Where no program is, Node least of all. */
    let nowhere: string;
    const make = (work: string, wanted: string = machine): ReturnType<Make> =>
      makeExecutable({
        repository: REPOSITORY,
        tarball,
        work: path.join(folder, work),
        machine: wanted,
        cache: CACHE,
      });
    const podloop = async (args: readonly string[], env: Record<string, string> = {}) =>
      runPodloop(args, { executable, cwd: folder, env: { HOME: folder, ...env } });

    beforeAll(async () => {
      if (isBuildOutOfDate()) await run('npm', ['run', '--silent', 'build'], { cwd: REPOSITORY });
      folder = await mkdtemp(path.join(tmpdir(), 'podloop-single-'));
      nowhere = path.join(folder, 'nowhere');
      await mkdir(nowhere);
      await run('npm', ['pack', '--ignore-scripts', '--silent', '--pack-destination', folder], {
        cwd: REPOSITORY,
      });
      tarball = path.join(folder, `podloop-${readPackageJson().version}.tgz`);
      ({ executable, licenses } = await make('made'));
    }, LIMIT_MS);

    afterAll(async () => {
      await rm(folder, { recursive: true, force: true, maxRetries: 25, retryDelay: 200 });
    });

    it(
      'is in an archive, with the same bytes when it is made again, and with the licences of all that is in it',
      async () => {
        const archive = await makeExecutableArchive({
          ...{ repository: REPOSITORY, tarball, work: path.join(folder, 'again'), machine, cache: CACHE },
          ...{ target: folder, version: '1.2.3', epochS: 1_700_000_000 },
          manPages: new Map([['podloop.1', '.TH PODLOOP 1\n']]),
          completions: new Map([['usr/share/zsh/vendor-completions/_podloop', 'complete\n']]),
        });
        const name = `podloop-1.2.3-linux-${machine}`;
        expect(path.basename(archive)).toBe(`${name}.tar.gz`);
        const { stdout } = await run('tar', ['--utc', '--numeric-owner', '-tvzf', archive]);
        const lines = stdout.trim().split('\n');
        expect(lines.filter((line) => !/^\S+ 0\/0 +\d+ 2023-11-14 22:13 /.test(line))).toEqual([]);
        expect(lines.find((line) => line.endsWith(`${name}/podloop`))).toMatch(/^-rwxr-xr-x /);
        for (const file of ['man/podloop.1', 'completions/_podloop', 'systemd/podloop-observe.service'])
          expect(stdout).toMatch(new RegExp(`^-rw-r--r-- .*/${file}$`, 'm'));
        const hash = 'tar -xOzf "$0" "$1" | sha256sum';
        const { stdout: sum } = await run('sh', ['-c', hash, archive, `${name}/podloop`]);
        expect(sum.slice(0, 64)).toBe(await hashOf(executable));
        for (const words of [/^Node\.js 24\./m, /^classic-level \d/m, /^@grpc\/grpc-js \d/m])
          expect(licenses).toMatch(words);
        await rm(path.join(folder, 'again'), { recursive: true });
        await rm(archive);
      },
      LIMIT_MS,
    );

    it('is the program of the package, without any Node on the machine, under any name', async () => {
      const renamed = path.join(folder, 'a b%20c');
      await copyFile(executable, renamed);
      const options = { executable: renamed, env: { PATH: nowhere } };
      const version = await runPodloop(['version'], options);
      expect(version.stdout).toContain(
        `Client Version: v${readPackageJson().version}\nNode.js Version: v24.`,
      );
      const completion = await runPodloop(['completion', 'bash'], options);
      expect(completion.stdout).toContain('complete -F');
      const help = await runPodloop(['--help'], options);
      expect(help.stdout).toContain('Usage: podloop');
      // Options are the program's, not those of Node.
      expect((await runPodloop(['--eval', '1'], options)).stderr).toContain('unknown flag: --eval');
      await rm(renamed);
    });

    it('does not take modules from folders above it', async () => {
      const modules = path.join(folder, 'node_modules/bufferutil');
      await mkdir(modules, { recursive: true });
      await writeFile(path.join(modules, 'index.js'), 'console.log("taken");');
      await writeFile(path.join(modules, 'package.json'), '{ "name": "bufferutil", "main": "index.js" }');
      const { stdout } = await podloop(['exec', 'web', '--', 'true'], { PODLOOP_SOCKET: '/nowhere' });
      expect(stdout).not.toContain('taken');
    });

    it('names the lines of the code that it was made of when it breaks down', async () => {
      const preload = path.join(folder, 'preload.cjs');
      await writeFile(
        preload,
        `Object.defineProperty(process, 'execArgv', { get() { throw new Error('tried'); } });`,
      );
      const { code, stderr } = await podloop(['version'], { NODE_OPTIONS: `--require="${preload}"` });
      expect([code, stderr]).toEqual([1, expect.stringMatching(/\/dist\/cli\/main\.js:\d+/)]);
    });

    it.skipIf(lacking !== undefined)(
      `keeps a pod running in the background, with all that is started for it${lacking === undefined ? '' : ` (skipped: ${lacking})`}`,
      async () => {
        const [port, root] = [await findFreePort(), path.join(folder, 'root')];
        const pods = path.join(folder, 'pods');
        await mkdir(pods);
        const images = path.join(folder, 'images');
        await writeProgramImage(images);
        const container = {
          ...{ name: 'main', image: PROGRAM_IMAGE, command: ['perl', '/bin/serve', '80'] },
          ports: [{ containerPort: 80, hostPort: port }],
        };
        const spec = { terminationGracePeriodSeconds: 1, containers: [container] };
        const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' }, spec };
        // Large enough for the thread that reads manifests.
        await writeFile(path.join(pods, 'web.yaml'), `${JSON.stringify(manifest)}\n# ${'x'.repeat(8_192)}\n`);
        const places = [
          '--root-dir',
          root,
          '--pod-logs-dir',
          path.join(folder, 'logs'),
          '--image-dir',
          images,
        ];
        const kinds = [
          '--isolation',
          'namespaces',
          '--network',
          'bridge',
          '--node-name',
          'n1',
          '--read-only-port',
          '0',
        ];
        const env = { PODLOOP_SOCKET: path.join(root, 'podloop.sock') };
        try {
          const up = await podloop([
            'up',
            pods,
            '--wait',
            ...places,
            ...kinds,
            '--runtime-endpoint',
            'embedded',
          ]);
          expect([up.code, up.stderr]).toEqual([0, '']);
          // By the proxy of the host port, a process of its own.
          expect(await visit('127.0.0.1', port)).toBe('ok\n');
          // By a helper inside of the pod's network.
          {
            await using forward = new PodloopProcess(['port-forward', 'web-n1', ':80'], { executable, env });
            const line = await forward.line('stdout', /^Forwarding from 127\.0\.0\.1:\d+/);
            expect(await visit('127.0.0.1', Number(/:(\d+) /.exec(line)![1]))).toBe('ok\n');
            await forward.end('SIGINT');
          }
          expect((await podloop(['exec', 'web-n1', '--', 'echo', 'inside'], env)).stdout).toBe('inside');
          // From the database.
          await vi.waitFor(async () => {
            const events = await podloop(['events', '--since', '1h', '--kinds', 'lifecycle'], env);
            expect(events.stdout).toMatch(/web-n1.*main.*started/i);
          }, 30_000);
          const log = await readFile(path.join(root, 'agent.log'), 'utf8');
          expect(log).toMatch(/^I\d{4} [\d:.]+ +\d+ [a-z-]+\.js:\d+] "SyncLoop ADD"/m);
          expect(log).not.toMatch(/^\w\d{4} [\d:.]+ +\d+ (?:unknown|podloop\.js):/m);
          expect(log).not.toContain('restart the agent');
          const doctor = await podloop(['doctor', '--runtime-endpoint', `unix://${root}/runtime/cri.sock`]);
          expect([doctor.stderr, doctor.code]).toEqual(['', expect.any(Number)]);
          const down = await podloop(['down', pods, '--yes', '--root-dir', root]);
          expect(down.stdout).toMatch(/^pod default\/web-n1 ended\n/);
        } finally {
          // What a failure has left.
          await podloop(['down', pods, '--yes', '--root-dir', root]);
          await untilNobodyNames(root);
        }
      },
      LIMIT_MS,
    );

    it(
      'leaves nothing behind where temporary files are, not even after SIGKILL',
      async () => {
        const temporary = path.join(folder, 'temporary');
        await mkdir(temporary);
        const places = [
          '--root-dir',
          path.join(folder, 'killed'),
          '--pod-logs-dir',
          path.join(folder, 'killed-logs'),
        ];
        const kinds = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
        const args = ['run', nowhere, ...places, ...kinds, '--read-only-port', '0'];
        const options = { executable, env: { TMPDIR: temporary, HOME: folder } };
        await using agent = new PodloopProcess(args, options);
        await agent.line('stderr', /"Started node agent"/);
        const maps = await readFile(`/proc/${agent.child.pid!}/maps`, 'utf8');
        expect(maps).toMatch(/temporary\/.*\(deleted\)$/m);
        const current = path.join(folder, 'killed/journal/CURRENT');
        await vi.waitFor(() => expect(existsSync(current)).toBe(true), 30_000);
        await agent.end('SIGKILL');
        expect(await readdir(temporary)).toEqual([]);
        await untilNobodyNames(path.join(folder, 'killed'));
        // One that ends has written its history, for the tests below.
        await using next = new PodloopProcess(args, options);
        await next.line('stderr', /"Started node agent"/);
        expect(await next.end('SIGTERM')).toEqual({ code: 0, signal: null });
      },
      LIMIT_MS,
    );

    it.skipIf(process.getuid?.() !== 0)(
      'loads the database where the folder for temporary files is mounted noexec, and says what to do where nothing else is left',
      async () => {
        const noexec = path.join(folder, 'noexec');
        await mkdir(noexec);
        const env = { PATH: process.env['PATH'], TMPDIR: noexec, HOME: '/root' };
        const question = ['events', '--root-dir', path.join(folder, 'killed'), '--since', '1h'];
        const ask = async (folders: string[]): Promise<string> => {
          const mounts = folders.map((each) => `mount -t tmpfs -o noexec none '${each}'`);
          const script = [...mounts, 'exec "$0" "$@"'].join(' && ');
          const args = ['-m', 'sh', '-c', script, executable, ...question];
          const options = { cwd: '/dev/shm', env };
          const answer = await run('unshare', args, options).catch((error: unknown) => error);
          const { stdout, stderr } = answer as { readonly stdout: string; readonly stderr: string };
          return stdout + stderr;
        };
        expect(await ask([noexec])).toContain('AgentStarted');
        const everywhere = [noexec, '/dev/shm', '/run', '/var/lib', '/var/tmp', '/root'];
        expect(await ask(everywhere)).toMatch(
          /^error: .*set TMPDIR to one that is writable and not mounted noexec/m,
        );
      },
      LIMIT_MS,
    );

    // In an emulator, which takes the libraries of that machine.
    it.skipIf(!canEmulate)(
      'starts on arm64 as well, with its database',
      async () => {
        const made = await make('arm64', 'arm64');
        const emulated = async (...args: string[]): Promise<string> => {
          const { stdout, stderr } = await run(QEMU!, ['-L', LIBRARIES, made.executable, ...args], {
            timeout: LIMIT_MS,
          });
          return stdout + stderr;
        };
        expect(await emulated('version')).toContain(`Client Version: v${readPackageJson().version}`);
        const history = ['--root-dir', path.join(folder, 'killed'), '--since', '1h'];
        expect(await emulated('events', ...history)).toContain('AgentStarted');
        await rm(path.dirname(made.executable), { recursive: true });
      },
      LIMIT_MS,
    );

    it('is made of the very Node that the release names, wherever that comes from', async () => {
      const given = path.join(folder, 'node');
      await writeFile(given, 'another program');
      const variable = `PODLOOP_NODE_${machine.toUpperCase()}`;
      expect(() => findNodeBinary(machine, { cache: CACHE, env: { [variable]: given } })).toThrow(
        new RegExp(`its SHA-256 is .* name another one in ${variable}`),
      );
    });
  },
);

async function hashOf(file: string): Promise<string> {
  return createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
}
