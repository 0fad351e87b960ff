/**
 * Host paths on a node with allowed paths, swapped for links by a program or a container that may write beside them,
 * with real mounts. Needs root and perl.
 *
 * @module
 */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AllowedHostPaths } from '../../src/node/volumes/allowed-host-paths.js';
import { BoundedLooks } from '../../src/node/volumes/bounded-looks.js';
import { HostPath } from '../../src/node/volumes/host-path.js';
import { ToolMounter } from '../../src/node/volumes/mounter.js';
import { PodVolumes } from '../../src/node/volumes/pod-volumes.js';
import { type VolumeMount } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type HostPathType } from '#kube/pod/volume.js';
import { readOwnMounts } from '#base/proc/mountinfo.js';
import { SystemClock } from '#base/time/clock.js';
import { AgentNode } from './pod-stories/agent-node.js';
import { startEmbedded } from './pod-stories/start-embedded.js';

const run = promisify(execFile);
const NEVER = new AbortController().signal;
const SECRET = 'what-nobody-may-read';
const ROUNDS = 40;
const STARTS = 10;
const SLOW = { timeout: 180_000 };
/** Exchanges its two arguments as fast as the kernel can, so that one of both is there at every moment. */
const EXCHANGE = `my ($p, $o) = @ARGV; syscall(${process.arch === 'arm64' ? 276 : 316}, -100, $p, -100, $o, 2) == 0 or die while 1`;

let folder: string;
beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-swapped-')));
  await mkdir(join(folder, 'open/x'), { recursive: true });
  await writeFile(join(folder, 'open/x/own'), 'own\n');
  await symlink('../canary', join(folder, 'open/other'));
  await mkdir(join(folder, 'canary'));
  await writeFile(join(folder, 'canary/secret'), `${SECRET}\n`);
});
afterEach(async () => {
  expect(await readdir(join(folder, 'canary'))).toEqual(['secret']);
  await rm(folder, { recursive: true, force: true });
});

/** What is mounted below the test's folder. */
async function mountsBelow(path = folder): Promise<string[]> {
  return (await readOwnMounts()).map(({ mountPoint }) => mountPoint).filter((each) => each.startsWith(path));
}

describe.skipIf(process.getuid?.() !== 0)('a host path that is mounted for a container (needs root)', () => {
  let mounter: ToolMounter;
  let volumes: PodVolumes;
  let swapper: ChildProcess | undefined;

  beforeEach(() => {
    const clock = new SystemClock();
    mounter = new ToolMounter({ clock });
    const looks = new BoundedLooks({ clock });
    const allowed = new AllowedHostPaths([{ path: join(folder, 'open'), readOnly: false }]);
    volumes = new PodVolumes({
      ...{ podsFolder: join(folder, 'pods'), mounter, readMounts: readOwnMounts, looks, clock },
      ...{ events: { record: () => undefined }, kinds: { hostPath: new HostPath({ looks, allowed }) } },
    });
  });
  afterEach(async () => {
    const closed = swapper && new Promise((resolve) => swapper!.once('close', resolve));
    swapper?.kill('SIGKILL');
    await closed;
    swapper = undefined;
    await volumes.tearDown(pod('open'));
    await mounter[Symbol.asyncDispose]();
    expect(await mountsBelow(join(folder, 'pods'))).toEqual([]);
  });

  const pod = (path: string, mount: Partial<VolumeMount> = {}, type: HostPathType = ''): NodePod => ({
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'default', uid: 'u1' } },
    spec: {
      volumes: [{ name: 'v', hostPath: { path: join(folder, path), type } }],
      containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'v', mountPath: '/v', ...mount }] }],
    },
  });
  async function start(owner: NodePod): Promise<string> {
    await volumes.setUp(owner, NEVER);
    const [mount] = await volumes.mountsFor(owner, owner.spec.containers[0]!, { find: () => undefined });
    return mount!.hostPath;
  }

  it.each<[string, Partial<VolumeMount>, HostPathType]>([
    ['open/x', {}, ''],
    ['open/x', {}, 'DirectoryOrCreate'],
    ['open/x/made', {}, 'DirectoryOrCreate'],
    ['open/x/made', {}, ''],
    ['open/x/file', {}, 'FileOrCreate'],
    ['open/x', { subPath: 'made' }, ''],
    ['open/x', { subPath: 'made/deeper' }, 'Directory'],
    ['open', { subPath: 'x/made' }, ''],
  ])(
    'stays inside while a program swaps it, over many starts: %s %j %s',
    { timeout: 240_000 },
    async (path, mount, type) => {
      const [x, other] = [join(folder, 'open/x'), join(folder, 'open/other')];
      swapper = spawn('perl', ['-e', EXCHANGE, x, other], { stdio: 'ignore' });
      const counts = { done: 0, refused: 0 };
      for (let round = 0; round < ROUNDS || (counts.done === 0 && round < 10 * ROUNDS); round++) {
        try {
          const shown = await start(pod(path, mount, type));
          expect(await readdir(shown).catch(() => [])).not.toContain('secret');
          counts.done++;
        } catch (error) {
          expect(String(error)).toMatch(
            /is not allowed|leads out|has become a link|is not a|ENOENT|ELOOP|ENOTDIR/,
          );
          counts.refused++;
        }
      }
      expect(counts.done).toBeGreaterThan(0);
    },
  );

  it('shows what is mounted below it, and unmounts that in the copy alone', async () => {
    const x = join(folder, 'open/x');
    try {
      await run('mount', ['-t', 'tmpfs', '--make-shared', 'test', x]);
      await mkdir(join(x, 'below'));
      await run('mount', ['-t', 'tmpfs', '--make-shared', 'test', join(x, 'below')]);
      await writeFile(join(x, 'below/file'), 'deep');
      for (const mountPropagation of ['None', 'HostToContainer', 'Bidirectional'] as const) {
        const shown = await start(pod('open/x', { mountPropagation }));
        expect(await readFile(join(shown, 'below/file'), 'utf8')).toBe('deep');
        await mkdir(join(x, 'later'), { recursive: true });
        await run('mount', ['-t', 'tmpfs', 'test', join(x, 'later')]);
        await writeFile(join(x, 'later/file'), 'late');
        expect(await readFile(join(shown, 'later/file'), 'utf8')).toBe('late');
        await mkdir(join(shown, 'inside'), { recursive: true });
        await run('mount', ['-t', 'tmpfs', 'test', join(shown, 'inside')]);
        const outside = (await mountsBelow(x)).filter((each) => each.endsWith('inside'));
        expect(outside).toHaveLength(mountPropagation === 'Bidirectional' ? 1 : 0);
        // Once for the next start, once for good.
        if (mountPropagation === 'HostToContainer') await start(pod('open/x', { mountPropagation }));
        await volumes.tearDown(pod('open/x'));
        expect(await mountsBelow(join(folder, 'pods'))).toEqual([]);
        expect(await readFile(join(x, 'below/file'), 'utf8')).toBe('deep');
        expect(await readFile(join(x, 'later/file'), 'utf8')).toBe('late');
        await run('umount', [join(x, 'later')]);
      }
    } finally {
      await run('umount', ['-R', x]);
    }
  });
});

describe.skipIf(process.getuid?.() !== 0)('a pod on a node with allowed paths (needs root)', () => {
  it(
    'gets nothing from outside of them, whatever its own container swaps',
    { timeout: 400_000 },
    async () => {
      const runtime = await startEmbedded(folder, 'host');
      const agent = { allowedHostPaths: [join(folder, 'open')], stopPods: true };
      const node = await AgentNode.start({ folder, endpoint: runtime.endpoint, agent });
      const names = Array.from({ length: STARTS }, (_, index) => `c${index}`);
      const script = `for f in /m/*; do echo "$f"; cat "$f"; done; echo shown; sleep 1000`;
      await writeFile(
        join(folder, 'manifests/pod.json'),
        JSON.stringify({
          ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'swap' } },
          spec: {
            terminationGracePeriodSeconds: 1,
            volumes: [
              { name: 'all', hostPath: { path: join(folder, 'open') } },
              { name: 'x', hostPath: { path: join(folder, 'open/x'), type: 'DirectoryOrCreate' } },
            ],
            initContainers: [
              {
                ...{ name: 'swapper', image: 'podloop.test/programs:1', restartPolicy: 'Always' },
                command: ['perl', '-e', EXCHANGE, '/all/x', '/all/other'],
                volumeMounts: [{ name: 'all', mountPath: '/all' }],
              },
            ],
            containers: names.map((name, index) => ({
              ...{ name, image: 'podloop.test/programs:1', command: ['sh', '-c', script] },
              volumeMounts: [{ name: 'x', mountPath: '/m', ...(index % 2 === 1 && { subPath: 'made' }) }],
            })),
          },
        }),
      );
      try {
        let said: string[] = [];
        await expect
          .poll(async () => {
            const logs = await Promise.all(names.map((name) => node.logOf('swap', name)));
            said = logs.flat();
            return logs.filter((lines) => lines.includes('shown')).length;
          }, SLOW)
          .toBe(STARTS);
        expect(said).toContain('own');
        expect(said.join('\n')).not.toContain(SECRET);
      } finally {
        await node.stop();
        await runtime.end();
      }
      expect(await mountsBelow()).toEqual([]);
    },
  );
});
