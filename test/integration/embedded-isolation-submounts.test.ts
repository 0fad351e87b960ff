/**
 * The mounts of a container, and containers that start while the host mounts and unmounts below their volumes all the
 * time, as the agent and others do below its own folder. None fails for that, and none gets a device or a place to write to that it must not have. Needs
 * root; skipped elsewhere.
 *
 * All in one file, one after the other: a container whose root is the host's sees what is mounted on the host meanwhile.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { visibleMountsBelow } from '#support/fakes/visible-mounts.js';
import { parseMountinfo } from '#base/proc/mountinfo.js';
import { type ContainerParts, HOST_IMAGE } from './embedded-node.js';
import { IsolatedPod } from './isolated-pod.js';
import { PROGRAM_IMAGE } from './program-image.js';

const run = promisify(execFile);
/** Files that are bound: nobody can make a node in them. */
const PLAIN_FILES = ['hosts', 'hostname', 'resolv.conf'].map((name) => `/etc/${name}`);
const ROUNDS = 24;
/** Started at once, as those of several pods are. */
const TOGETHER = 4;
const LIMIT = 240_000;
const { PROPAGATION_PRIVATE, PROPAGATION_HOST_TO_CONTAINER } = cri.MountPropagation;

/** What comes and goes: mounts next to each other, in each other, on each other, and with their folders. */
const CHURN = `cd "$1"; turn=0
while :; do
  turn=$((turn + 1))
  mount -t tmpfs churn next; mount -t tmpfs -o nosuid churn "next to"
  mkdir next/inner; mount -t tmpfs -o noexec churn next/inner
  mkdir "folder $turn"; mount -t tmpfs churn "folder $turn"
  umount next/inner; mount -t tmpfs -o nodev churn next
  umount "folder $turn"; rmdir "folder $turn"
  umount next; umount "next to"; umount next
done 2>/dev/null`;

describe.skipIf(process.getuid?.() !== 0)('a container in namespaces (needs root)', () => {
  it('has no mount on which others than its own could be opened', async () => {
    await using pod = await IsolatedPod.start();
    const folder = await mkdtemp(join(tmpdir(), 'podloop-no-devices-'));
    const mounts = [
      { hostPath: '/', containerPath: '/host' },
      { hostPath: folder, containerPath: '/volume' },
      { hostPath: '/dev/null', containerPath: '/etc/nothing' },
    ];
    for (const image of [PROGRAM_IMAGE, HOST_IMAGE]) {
      const said = await pod.run('cat /proc/self/mountinfo; : >/etc/nothing && echo written', {
        image: { image },
        mounts: image === HOST_IMAGE ? [] : mounts,
      });
      const table = parseMountinfo(`${said.filter((line) => line !== 'written').join('\n')}\n`);
      const open = visibleMountsBelow(table, '/').filter(
        ({ restrictions }) => !restrictions.includes('nodev'),
      );
      const seen = open.map(({ mountPoint }) => mountPoint).filter((path) => !PLAIN_FILES.includes(path));
      const own = ['full', 'null', 'pts', 'random', 'tty', 'urandom', 'zero'].map((name) => `/dev/${name}`);
      const shown = image === HOST_IMAGE ? [] : ['/etc/nothing'];
      expect(seen.sort()).toEqual([...own, ...shown].sort());
      if (image !== HOST_IMAGE) expect(said.at(-1)).toBe('written');
    }
    await rm(folder, { recursive: true });
  });
});

describe.skipIf(process.getuid?.() !== 0)('mounts below the volumes of a container (needs root)', () => {
  let pod: IsolatedPod;
  let folder = '';
  let volume = '';
  let churn: ChildProcess;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-submounts-'));
    volume = join(folder, 'volume');
    await mkdir(volume);
    await run('mount', ['-t', 'tmpfs', '-o', 'nodev', 'podloop-test', volume]);
    await run('mount', ['--make-shared', volume]);
    for (const name of ['next', 'next to', 'stays']) await mkdir(join(volume, name));
    await run('mount', ['-t', 'tmpfs', 'podloop-test', join(volume, 'stays')]);
    pod = await IsolatedPod.start();
    churn = spawn('sh', ['-c', CHURN, 'sh', volume], { stdio: ['ignore', 'pipe', 'ignore'] });
  }, 60_000);
  afterAll(async () => {
    const ended = new Promise((resolve) => churn.once('close', resolve));
    churn.stdout!.resume();
    churn.kill('SIGKILL');
    await ended;
    await pod[Symbol.asyncDispose]();
    await run('umount', ['-R', '--lazy', volume]);
    await rm(folder, { recursive: true, force: true });
  });

  /** Starts many containers, and returns what each saw mounted below a place. */
  async function startMany(place: string, parts: ContainerParts) {
    const seen: ReturnType<typeof parseMountinfo>[number][][] = [];
    for (let round = 0; round < ROUNDS; round += TOGETHER) {
      const all = Array.from({ length: TOGETHER }, () => pod.run('cat /proc/self/mountinfo', parts));
      for (const lines of await Promise.all(all)) {
        seen.push([...visibleMountsBelow(parseMountinfo(lines.join('\n')), place)]);
      }
    }
    return seen;
  }

  it.each([
    ['a volume', { containerPath: '/v' }, ['nodev']],
    ['a read-only volume', { containerPath: '/v', readonly: true }, ['nodev']],
    [
      'a recursively read-only volume',
      { containerPath: '/v', readonly: true, recursiveReadOnly: true },
      ['ro', 'nodev'],
    ],
    ['a volume in /dev', { containerPath: '/dev/v' }, ['nodev']],
  ])(
    'fail no start while they come and go, and have the options of %s',
    async (_what, mount, wanted) => {
      const mounts = [{ hostPath: volume, propagation: PROPAGATION_PRIVATE, ...mount }];
      const seen = await startMany(mount.containerPath, { mounts });
      expect(seen).toHaveLength(ROUNDS);
      // There was something to be missed.
      expect(new Set(seen.map((each) => each.length)).size).toBeGreaterThan(1);
      for (const each of seen) {
        expect(each.map(({ mountPoint }) => mountPoint)).toContain(`${mount.containerPath}/stays`);
        for (const { restrictions } of each) expect(restrictions).toEqual(expect.arrayContaining(wanted));
      }
    },
    LIMIT,
  );

  it(
    'fail no start of a container to which they propagate, or whose root is the host’s',
    async () => {
      const propagation = PROPAGATION_HOST_TO_CONTAINER;
      for (const [place, parts] of [
        [
          '/v',
          {
            image: { image: PROGRAM_IMAGE },
            mounts: [{ hostPath: volume, containerPath: '/v', propagation }],
          },
        ],
        [volume, { image: { image: HOST_IMAGE } }],
      ] as const) {
        const seen = await startMany(place, parts as ContainerParts);
        for (const each of seen) {
          const stays = each.find(({ mountPoint }) => mountPoint === `${place}/stays`);
          expect(stays?.restrictions).toContain('nodev');
        }
      }
    },
    LIMIT,
  );
});
