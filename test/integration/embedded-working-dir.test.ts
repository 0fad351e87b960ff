/**
 * Working directories that would lead out of a container: of images, of requests and of volumes that somebody hostile
 * writes to. Needs root; skipped elsewhere.
 *
 * @module
 */
import { chmod, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ContainerParts, EmbeddedNode, logLines, until } from './embedded-node.js';
import { PROGRAM_IMAGE, writeProgramImage } from './program-image.js';

const OUTSIDE = 'current working directory is outside of container mount namespace root';
const LINKED_IMAGE = 'podloop.test/linked:1';
const POD = 0;
const NODE = 2;
const ROUNDS = 100;
const LIMIT = 300_000;

/** A container without any power that sees the host's processes. */
const POWERLESS: ContainerParts = {
  image: { image: PROGRAM_IMAGE },
  linux: {
    securityContext: {
      namespaceOptions: { pid: NODE },
      runAsUser: { value: 65_534n },
      capabilities: { dropCapabilities: ['ALL'] },
      noNewPrivs: true,
    },
  },
};
/** The same with the capabilities of every container: it may look into processes of the host's root. */
const STRONG: ContainerParts = {
  image: { image: PROGRAM_IMAGE },
  linux: { securityContext: { namespaceOptions: { pid: NODE } } },
};

describe.skipIf(process.getuid?.() !== 0)('a working directory (needs root)', () => {
  let node: EmbeddedNode;
  let images = '';
  let host = '';
  let pod = '';
  let canary = '';
  let volume = '';
  let count = 0;

  beforeAll(async () => {
    images = await mkdtemp(join(tmpdir(), 'podloop-images-'));
    await writeProgramImage(images);
    await writeProgramImage(images, {
      name: LINKED_IMAGE,
      members: [
        { name: 'self', linkTo: '/proc/self/cwd' },
        { name: 'descriptor', linkTo: 'proc/self/fd/1' },
        { name: 'thread', linkTo: '/proc/thread-self/root' },
        { name: 'twice', linkTo: 'self' },
        { name: 'app', linkTo: 'real/app' },
        { name: 'above', linkTo: '../../../../real' },
      ],
    });
    node = await EmbeddedNode.start({ isolation: 'namespaces', network: 'none', imageDirs: [images] });
    for (const image of [PROGRAM_IMAGE, LINKED_IMAGE]) await node.client.pullImage({ image: { image } });
    pod = await node.runPod('pod');
    const linux = { securityContext: { namespaceOptions: { pid: NODE } } };
    host = await node.runPod('host-pid', { linux: linux as never });
  }, 60_000);
  afterAll(async () => {
    await node[Symbol.asyncDispose]();
    await rm(images, { recursive: true, force: true });
  });
  beforeEach(async () => {
    canary = await mkdtemp(join(node.folder, 'canary-'));
    volume = await mkdtemp(join(node.folder, 'volume-'));
  });
  afterEach(async () => {
    expect(await readdir(canary)).toEqual([]);
  });

  const mounts = () => [{ hostPath: volume, containerPath: '/v' }];

  /** What a start says, or what the container has said when it starts. */
  async function start(sandbox: string, workingDir: string, parts: ContainerParts = {}): Promise<string> {
    const name = `c${count++}`;
    const more = { image: { image: PROGRAM_IMAGE }, mounts: mounts(), ...parts, workingDir };
    const id = await node.create(sandbox, name, 'echo "ran in $(pwd -P)"', more);
    const fault = await node.client.startContainer({ containerId: id }).then(
      () => '',
      (error: unknown) => (error as Error).message,
    );
    await node.exited(id);
    await node.client.removeContainer({ containerId: id });
    const said = logLines(await node.log(name)).map((line) => line.replace(/^std(out|err) [FP] /, ''));
    return [...(fault === '' ? [] : [fault]), ...said].join('\n');
  }

  /** Paths to a folder of the host through the links of /proc, for a container that sees the host's processes. */
  const waysOut = (): string[] => [
    `/proc/${process.pid}/root${canary}`,
    `/proc/${process.pid}/task/${process.pid}/root${canary}`,
    `/proc/self/../${process.pid}/root${canary}`,
    `/proc/./${process.pid}//root/.${canary}`,
  ];

  it.each([
    ['a powerless container', POWERLESS],
    ['one with usual capabilities', STRONG],
  ])('is never made or entered on the host through /proc, for %s', async (_who, parts) => {
    for (const way of waysOut()) {
      expect(await start(host, `${way}/made`, parts)).toContain(OUTSIDE);
      expect(await start(host, way, parts)).toContain(OUTSIDE);
    }
    await symlink(`/proc/${process.pid}/root${canary}`, join(volume, 'out'));
    await symlink('out', join(volume, 'twice'));
    for (const way of ['out', 'twice']) {
      expect(await start(host, `/v/${way}/deep/made`, parts)).toMatch(/\/v\/\w+ is a link|cannot enter \/v/);
      const said = await start(host, `/v/${way}`, parts);
      expect(said).toMatch(
        /outside of container mount namespace root|not a directory|cannot change directory/,
      );
      expect(said).not.toContain('ran in');
    }
  });

  it.each(['/self', '/twice', '/descriptor', '/thread', '/thread/etc'])(
    'is refused when links of the image make %s lead out',
    async (workingDir) => {
      expect(await start(pod, workingDir, { image: { image: LINKED_IMAGE } })).toContain(OUTSIDE);
    },
  );

  it.each(['/proc/self/cwd', '/proc/self/fd/0/x', '/proc/thread-self/cwd', '/proc/1/root'])(
    'is refused when it is %s',
    async (workingDir) => {
      expect(await start(pod, workingDir)).toContain(OUTSIDE);
    },
  );

  /**
   * Runs a container that does nothing, and resolves once its program runs. A container counts as started a moment before
   * its first process enters the working directory: until then a swap of that directory is for its start to notice.
   */
  async function idle(sandbox: string, parts: ContainerParts): Promise<string> {
    const name = `c${count++}`;
    const id = await node.run(sandbox, name, 'echo inside; exec sleep 1000', parts);
    const log = await until(
      () => node.log(name),
      (text) => text !== '',
    );
    expect(logLines(log)).toEqual(['stdout F inside']);
    return id;
  }

  it.each(['/proc/self/cwd', '/proc/self/cwd/..', '/proc/self/cwd/dev'])(
    'is refused when a link in a volume leads to %s, at the start and for a later command',
    async (target) => {
      await mkdir(join(volume, 'dir'));
      const parts = { image: { image: PROGRAM_IMAGE }, mounts: mounts(), workingDir: '/v/dir' };
      const id = await idle(pod, parts);
      const exec = () => node.client.execSync({ containerId: id, cmd: ['sh', '-c', 'pwd -P'], timeout: 20n });
      expect(String((await exec()).stdout)).toBe('/v/dir\n');
      await rm(join(volume, 'dir'), { recursive: true });
      await symlink(target, join(volume, 'dir'));
      const { exitCode, stdout, stderr } = await exec();
      expect([exitCode, String(stdout)]).toEqual([126, '']);
      expect(String(stderr)).toContain(OUTSIDE);
      expect(await start(pod, '/v/dir')).toContain(OUTSIDE);
      await node.client.removeContainer({ containerId: id });
    },
  );

  it('is made where it is not there, through links of the image, and found through links of a volume', async () => {
    expect(await start(pod, '/app/new', { image: { image: LINKED_IMAGE } })).toBe('ran in /real/app/new');
    expect(await start(pod, '/above/x y/$(z)', { image: { image: LINKED_IMAGE } })).toBe(
      'ran in /real/x y/$(z)',
    );
    await mkdir(join(volume, 'releases/1'), { recursive: true });
    await symlink('releases/1', join(volume, 'current'));
    expect(await start(pod, '/v/current')).toBe('ran in /v/releases/1');
    expect(await start(pod, '/v/a/b/../c')).toBe('ran in /v/a/c');
    expect((await stat(join(volume, 'a/c'))).mode & 0o777).toBe(0o755);
    // What the name says counts, not where the link leads.
    expect(await start(pod, `/proc/self/cwd/../../..${canary}/made`)).toBe(`ran in ${canary}/made`);
    expect(await start(pod, '/self/..', { image: { image: LINKED_IMAGE } })).toBe('ran in /');
    expect(await start(pod, '/proc/sys')).toBe('ran in /proc/sys');
    expect(await start(pod, '/dev/own')).toBe('ran in /dev/own');
    expect(await start(pod, '/tmp/as/user', { ...secured(65_534n) })).toBe('ran in /tmp/as/user');
  });

  const secured = (uid: bigint): ContainerParts => ({
    linux: { securityContext: { runAsUser: { value: uid }, namespaceOptions: { pid: POD } } },
  });

  /** Puts folder, link and nothing in one place, as fast as it can. */
  async function swapper(sandbox: string, target: string): Promise<string> {
    const script = `cd /v; while :; do mkdir part; rmdir part/* part; ln -s ${target} part; rm -f part; done 2>/dev/null`;
    return node.run(sandbox, `swapper${count++}`, script, {
      image: { image: PROGRAM_IMAGE },
      mounts: mounts(),
    });
  }

  it(
    'stays inside while a program swaps a part of it for a link to the host, over many starts',
    async () => {
      const id = await swapper(host, `/proc/${process.pid}/root${canary}`);
      const seen = new Set<string>();
      const before = await stat(canary);
      for (let round = 0; round < ROUNDS; round += 4) {
        const said = await Promise.all(
          ['/v/part/made', '/v/part/a/b', '/v/part', '/v/part/made'].map((path) =>
            start(host, path, POWERLESS),
          ),
        );
        for (const each of said) seen.add(each.replaceAll(/c\d+/g, ''));
      }
      await node.client.removeContainer({ containerId: id });
      for (const said of seen) expect(said).not.toContain(`ran in ${canary}`);
      expect((await stat(canary)).mtimeMs).toBe(before.mtimeMs);
    },
    LIMIT,
  );

  it(
    'of a command stays inside while a program swaps it, over many commands',
    async () => {
      await mkdir(join(volume, 'part'));
      const parts = { image: { image: PROGRAM_IMAGE }, mounts: mounts(), workingDir: '/v/part' };
      const id = await idle(pod, parts);
      const other = await swapper(pod, '/proc/self/cwd');
      const outcomes = new Map<string, number>();
      for (let round = 0; round < ROUNDS; round++) {
        const cmd = ['sh', '-c', 'pwd -P; [ -e loader ] && echo outside; echo x >made'];
        const { exitCode, stdout } = await node.client.execSync({ containerId: id, cmd, timeout: 20n });
        const key = exitCode === 0 ? String(stdout) : String(exitCode);
        outcomes.set(key, (outcomes.get(key) ?? 0) + 1);
      }
      for (const containerId of [id, other]) await node.client.removeContainer({ containerId });
      expect([...outcomes.values()].reduce((sum, n) => sum + n, 0)).toBe(ROUNDS);
      expect(await readdir(join(node.root, 'tools')).then((names) => names.length)).toBe(1);
      const [kit = ''] = await readdir(join(node.root, 'tools'));
      expect(await readdir(join(node.root, 'tools', kit))).not.toContain('made');
    },
    LIMIT,
  );

  /** Exchanges a folder and a link as fast as the kernel can, so that one of them is there at every moment. */
  async function exchanger(sandbox: string, target: string): Promise<string> {
    const number = process.arch === 'arm64' ? 276 : 316;
    const script = `cd /v && mkdir -p part && ln -sfn ${target} other && exec perl -e 'my ($p, $o) = ("part", "other"); syscall(${number}, -100, $p, -100, $o, 2) == 0 or die while 1'`;
    const parts = { image: { image: PROGRAM_IMAGE }, mounts: mounts() };
    return node.run(sandbox, `exchanger${count++}`, script, parts);
  }

  it.each([
    ['to the kit', '/proc/self/cwd', 0n],
    ['to the kit, for another user', '/proc/thread-self/cwd', 1234n],
    ['to a descriptor', '/proc/self/fd/0', 0n],
    ['to a folder of the kit', '/proc/self/cwd/dev', 1234n],
  ])(
    'never leads out when it is a link %s at one moment and a folder at the next',
    async (_what, target, uid) => {
      await chmod(volume, 0o777);
      await mkdir(join(volume, 'part'));
      const own = { mounts: mounts(), workingDir: '/v/part', ...secured(uid) };
      const id = await idle(pod, { image: { image: PROGRAM_IMAGE }, ...own });
      const other = await exchanger(pod, target);
      const where = 'echo "began in $(pwd -P)"; [ -e loader ] || [ -e ptmx ] && echo outside';
      let entered = 0;
      const judge = (said: string): void => {
        expect(said).not.toContain('outside\n');
        if (said.includes('began in')) {
          expect(said).toMatch(/^began in \/v\/(part|other)\n$/);
          entered++;
        }
      };
      for (let round = 0; round < ROUNDS / 4; round++) {
        const cmd = ['sh', '-c', where];
        const { stdout } = await node.client.execSync({ containerId: id, cmd, timeout: 20n });
        judge(String(stdout));
      }
      for (let round = 0; round < ROUNDS / 10; round += 4) {
        const command = ['sh', '-c', `${where}; true`];
        const said = await Promise.all(
          Array.from({ length: 4 }, () => start(pod, '/v/part', { ...own, command })),
        );
        for (const each of said) judge(`${each}\n`.replace(/^(?!began in|outside$).*\n/gm, ''));
      }
      expect(entered).toBeGreaterThan(0);
      for (const containerId of [id, other]) await node.client.removeContainer({ containerId });
    },
    LIMIT,
  );
});
