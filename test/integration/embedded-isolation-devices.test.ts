/**
 * What devices a container in namespaces can open, whatever it is given and whatever it makes. Needs root.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ContainerParts, HOST_IMAGE } from './embedded-node.js';
import { IsolatedPod, secured } from './isolated-pod.js';

const run = promisify(execFile);
const isRoot = process.getuid?.() === 0;
const SECRET = 'BLOCK-OF-THE-HOST';

describe.skipIf(!isRoot)('devices of a container in namespaces (needs root)', () => {
  let pod: IsolatedPod;
  let folder = '';
  /** A disk of the host: its node, and its numbers as mknod takes them. */
  let disk: { readonly path: string; readonly numbers: string };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-devices-'));
    const file = join(folder, 'disk.img');
    await writeFile(file, SECRET.padEnd(1 << 20, '.'));
    const { stdout } = await run('losetup', ['--find', '--show', file]);
    const path = stdout.trim();
    const { rdev } = await stat(path);
    disk = { path, numbers: `b ${rdev >> 8} ${rdev & 0xff}` };
    pod = await IsolatedPod.start();
  }, 60_000);
  afterAll(async () => {
    await pod[Symbol.asyncDispose]();
    await run('losetup', ['--detach', disk.path]);
    await run('umount', ['-R', join(folder, 'mounted')]).catch(() => undefined);
    await rm(folder, { recursive: true, force: true });
  });

  /** Makes the disk's node in a folder and copies its first bytes out and others in. */
  const attack = (place: string) =>
    `mknod ${place}/x ${disk.numbers}; head -c ${SECRET.length} ${place}/x; echo >>${place}/x; rm -f ${place}/x`;

  async function expectRefusal(said: readonly string[]): Promise<void> {
    expect(said.join('\n')).not.toContain(SECRET);
    expect(said.join('\n')).toMatch(/denied|permitted/);
    expect((await readFile(join(folder, 'disk.img'), 'latin1')).slice(0, SECRET.length + 1)).toBe(
      `${SECRET}.`,
    );
  }

  const PLACES = ['/dev', '/', '/tmp', '/dev/shm', '/volume', '/volume/below', '/dev/volume', '/memory'];

  it.each<[string, ContainerParts['linux']]>([
    [
      'MKNOD',
      { securityContext: { capabilities: { dropCapabilities: ['ALL'], addCapabilities: ['MKNOD'] } } },
    ],
    ['all capabilities', { securityContext: { capabilities: { addCapabilities: ['ALL'] } } }],
    [
      'MKNOD as another user',
      {
        securityContext: {
          runAsUser: { value: 1234n },
          capabilities: { addAmbientCapabilities: ['MKNOD', 'DAC_OVERRIDE'] },
        },
      },
    ],
  ])(
    'are made and not opened with %s, in any place, by its program and by commands in it',
    async (_, linux) => {
      const volume = join(folder, 'volume');
      const memory = join(folder, 'mounted');
      for (const each of [join(volume, 'below'), memory]) await mkdir(each, { recursive: true });
      await run('mount', ['-t', 'tmpfs', 'podloop-test', memory]);
      await mkdir(join(memory, 'sub'));
      const parts: ContainerParts = {
        linux,
        mounts: [
          { hostPath: volume, containerPath: '/volume' },
          { hostPath: volume, containerPath: '/dev/volume' },
          { hostPath: memory, containerPath: '/memory' },
        ],
      };
      const script = PLACES.map(attack).join('\n');
      await expectRefusal(await pod.run(script, parts));
      const container = await pod.start('exec sleep 1000', parts);
      await expectRefusal(await pod.exec(container, script));
      await pod.remove(container);
      await run('umount', [memory]);
    },
  );

  it('are not opened where the host has them in a volume, or mounted below one', async () => {
    const inside = join(folder, 'nodes');
    await mkdir(join(inside, 'sub', 'deeper'), { recursive: true });
    await run('mount', ['-t', 'tmpfs', 'podloop-test', join(inside, 'sub')]);
    await mkdir(join(inside, 'sub', 'deeper'));
    await run('mount', ['-t', 'tmpfs', '-o', 'ro,nosuid', 'podloop-test', join(inside, 'sub', 'deeper')]);
    await run('mount', ['-o', 'remount,rw', join(inside, 'sub', 'deeper')]);
    for (const each of ['', 'sub', 'sub/deeper']) {
      await run('mknod', [join(inside, each, 'disk'), ...disk.numbers.split(' ')]);
    }
    const mounts = [
      { hostPath: inside, containerPath: '/nodes' },
      { hostPath: inside, containerPath: '/read-only', readonly: true },
      { hostPath: inside, containerPath: '/all-read-only', readonly: true, recursiveReadOnly: true },
      { hostPath: disk.path, containerPath: '/disk' },
      { hostPath: disk.path, containerPath: '/dev/disk' },
      { hostPath: '/', containerPath: '/host' },
    ];
    const files = ['nodes', 'read-only', 'all-read-only'].flatMap((name) =>
      ['disk', 'sub/disk', 'sub/deeper/disk'].map((file) => `/${name}/${file}`),
    );
    const all = [...files, '/disk', '/dev/disk', `/host${disk.path}`];
    const script = all.map((file) => `test -b ${file} && head -c ${SECRET.length} ${file}`).join('\n');
    const said = await pod.run(script, { mounts });
    await expectRefusal(said);
    expect(said.filter((line) => line.includes('denied'))).toHaveLength(all.length);
    const writes = ['', '/sub', '/sub/deeper'].map(
      (each) => `echo >/all-read-only${each}/new && echo written`,
    );
    expect((await pod.run(writes.join('\n'), { mounts })).join()).not.toContain('written');
    await run('umount', ['-R', join(inside, 'sub')]);
  });

  it('are not opened in the host’s own files as its root', async () => {
    const image = { image: { image: HOST_IMAGE } };
    const script = `cd ${folder}\nmknod there ${disk.numbers}; head -c 17 there; rm there\nhead -c 17 ${disk.path}`;
    await expectRefusal(
      await pod.run(script, { ...image, ...secured({ capabilities: { addCapabilities: ['MKNOD'] } }) }),
    );
  });

  it('are its own: what it does to their modes is not seen by the host or by others', async () => {
    const before = (await stat('/dev/null')).mode;
    const said = await pod.run(
      'chmod 600 /dev/null /dev/zero /proc/keys /proc/timer_list 2>/dev/null; stat -c %a /dev/null; echo >/proc/keys && echo fine',
      secured({ maskedPaths: ['/proc/keys', '/proc/timer_list'] }),
    );
    expect(said.slice(-2)).toEqual(['600', 'fine']);
    expect((await stat('/dev/null')).mode).toBe(before);
    expect(await pod.run('stat -c %a /dev/null')).toEqual(['666']);
  });

  it('are opened when it asked for them, by all that it runs', async () => {
    const devices = [
      { hostPath: disk.path, containerPath: '/dev/deep/disk', permissions: 'rwm' },
      { hostPath: disk.path, containerPath: disk.path, permissions: 'rw' },
    ];
    const read = `head -c ${SECRET.length} /dev/deep/disk; echo; head -c ${SECRET.length} ${disk.path}; echo`;
    expect(await pod.run(read, { devices })).toEqual([SECRET, SECRET]);
    const container = await pod.start('exec sleep 1000', { devices });
    expect(await pod.exec(container, read)).toEqual([SECRET, SECRET]);
    await pod.remove(container);
  });

  it('are all there, also new ones, for a privileged container', async () => {
    const script = `mknod /dev/new ${disk.numbers}; for each in /dev/new ${disk.path} /disk; do head -c ${SECRET.length} $each; echo; done`;
    const mounts = [{ hostPath: disk.path, containerPath: '/disk' }];
    expect(await pod.run(script, { ...secured({ privileged: true }), mounts })).toEqual([
      SECRET,
      SECRET,
      SECRET,
    ]);
  });
});
