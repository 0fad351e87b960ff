/** What only a kernel can show: real mounts, made and taken away by the tools that the agent uses. */
import { execFile } from 'node:child_process';
import {
  link,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  realpath,
  rename,
  rm,
  stat,
  symlink,
  writeFile,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BoundedLooks } from './bounded-looks.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { SystemClock } from '#base/time/clock.js';
import { isBelow, readOwnMounts } from '#base/proc/mountinfo.js';
import { EmptyDir } from './empty-dir.js';
import { HostPath } from './host-path.js';
import { countInodes, measureFolder } from './measure-folder.js';
import { ToolMounter } from './mounter.js';
import { PodVolumes } from './pod-volumes.js';

const run = promisify(execFile);
const NEVER = new AbortController().signal;
const canMount =
  process.getuid?.() === 0 &&
  (await run('unshare', ['-m', 'true']).then(
    () => true,
    () => false,
  ));
let folder: string;
let volumes: PodVolumes;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-disk-')));
  volumes = makeVolumes();
});
afterEach(async () => {
  for (const point of (await mountPoints()).reverse()) await run('umount', ['-l', point]);
  // Paths may be too long for Node.
  await run('rm', ['-rf', folder]);
});

/** As a restarted agent does. */
function makeVolumes(): PodVolumes {
  const clock = new SystemClock();
  const looks = new BoundedLooks({ clock });
  const ports = { mounter: new ToolMounter({ clock }), readMounts: readOwnMounts, looks };
  return new PodVolumes({
    ...{ ...ports, clock, podsFolder: join(folder, 'pods'), events: { record: () => undefined } },
    kinds: {
      emptyDir: new EmptyDir({ ...ports, memoryBytes: 64n << 20n }),
      hostPath: new HostPath({ looks: new BoundedLooks({ clock }) }),
    },
  });
}
async function mountPoints(): Promise<string[]> {
  return (await readOwnMounts())
    .map(({ mountPoint }) => mountPoint)
    .filter((point) => isBelow(point, folder));
}
function pod(spec: Partial<PodSpec>): NodePod {
  const containers = [{ name: 'c', image: 'i' }];
  return {
    ...{ apiVersion: 'v1', kind: 'Pod' },
    metadata: { name: 'web', namespace: 'default', uid: 'u1' },
    spec: { containers, ...spec },
  };
}
const emptyDir = (name: string): string => join(folder, 'pods/u1/volumes/kubernetes.io~empty-dir', name);
const subPathOwner = (subPath: string): NodePod =>
  pod({
    containers: [{ name: 'c', image: 'i', volumeMounts: [{ name: 'data', mountPath: '/data', subPath }] }],
    volumes: [{ name: 'data', emptyDir: {} }],
  });
async function mountsOf(owner: NodePod): Promise<string[]> {
  await volumes.setUp(owner, NEVER);
  const mounts = await volumes.mountsFor(owner, owner.spec.containers[0]!, { find: () => undefined });
  return mounts.map(({ hostPath }) => hostPath);
}

describe.runIf(canMount)('volumes on this machine', () => {
  it('in memory hold what they may and no more, belong to the pod’s group, and are gone with it', async () => {
    const owner = pod({
      securityContext: { fsGroup: 4321 },
      volumes: [{ name: 'cache', emptyDir: { medium: 'Memory', sizeLimit: '1Mi' } }],
    });
    await volumes.setUp(owner, NEVER);
    const facts = await stat(emptyDir('cache'));
    expect([facts.gid, facts.mode & 0o7777]).toEqual([4321, 0o3777]);
    const line = (await readFile('/proc/self/mounts', 'utf8'))
      .split('\n')
      .find((each) => each.includes(emptyDir('cache')));
    expect(line).toMatch(/^tmpfs .* tmpfs rw,.*size=1024k/);
    await expect(writeFile(join(emptyDir('cache'), 'much'), Buffer.alloc(2 << 20))).rejects.toMatchObject({
      code: 'ENOSPC',
    });
    // Somebody else's agent, after a kill of this one.
    await makeVolumes().tearDown(owner);
    expect(await mountPoints()).toEqual([]);
    expect(await readdir(join(folder, 'pods/u1'))).toEqual([]);
  });

  it('on the disk belong to the pod’s group from the first moment', async () => {
    await volumes.setUp(
      pod({ securityContext: { fsGroup: 4321 }, volumes: [{ name: 'data', emptyDir: {} }] }),
      NEVER,
    );
    const facts = await stat(emptyDir('data'));
    expect([facts.gid, facts.mode & 0o7777]).toEqual([4321, 0o2777]);
  });

  it('show parts of themselves, folders and files, again for every start', async () => {
    for (let start = 0; start < 2; start++) {
      const [path] = await mountsOf(subPathOwner('a/b'));
      await writeFile(join(path!, `start-${start}`), '');
    }
    expect(await readdir(join(emptyDir('data'), 'a/b'))).toEqual(['start-0', 'start-1']);
    await writeFile(join(emptyDir('data'), 'file'), 'text');
    const [file] = await mountsOf(subPathOwner('file'));
    expect(await readFile(file!, 'utf8')).toBe('text');
    expect(await mountPoints()).toHaveLength(1);
    await volumes.tearDown(subPathOwner('file'));
    expect(await mountPoints()).toEqual([]);
  });

  it('never show the node’s own files, however often a part is swapped for a link to them', async () => {
    await volumes.setUp(subPathOwner('a/b'), NEVER);
    const [place, aside] = [join(emptyDir('data'), 'a'), join(emptyDir('data'), 'aside')];
    await mkdir(join(place, 'b'), { recursive: true });
    await mkdir(join(folder, 'b'));
    await writeFile(join(folder, 'b/secret'), '');
    let isOver = false;
    const swap = async (): Promise<void> => {
      for (let turns = 1; !isOver; turns++) {
        // Now and then the other side is to come through.
        for (let rest = turns % 4 === 0 ? 60 : 0; rest > 0; rest--) await setImmediate();
        await rename(place, aside).catch(() => undefined);
        await symlink(folder, place).catch(() => undefined);
        await rm(place, { recursive: true, force: true }).catch(() => undefined);
        await rename(aside, place).catch(() => undefined);
      }
    };
    const swapping = swap();
    let shown = 0;
    try {
      for (let tries = 0; tries < 60; tries++) {
        const [path] = await mountsOf(subPathOwner('a/b')).catch(() => []);
        if (path === undefined) continue;
        shown++;
        expect(await readdir(path)).toEqual([]);
      }
    } finally {
      isOver = true;
      await swapping;
    }
    expect(shown).toBeGreaterThan(0);
    await volumes.tearDown(subPathOwner('a/b'));
    expect(await mountPoints()).toEqual([]);
    expect(await readdir(join(folder, 'b'))).toEqual(['secret']);
  });

  it('are never removed through what somebody has mounted in them', async () => {
    const owner = pod({ volumes: [{ name: 'data', emptyDir: {} }] });
    await volumes.setUp(owner, NEVER);
    await mkdir(join(folder, 'precious'));
    await writeFile(join(folder, 'precious/file'), '');
    await mkdir(join(emptyDir('data'), 'inside'));
    await run('mount', ['-o', 'bind', join(folder, 'precious'), join(emptyDir('data'), 'inside')]);
    await expect(volumes.tearDown(owner)).rejects.toMatchObject({ code: 'VOLUME_IN_USE' });
    expect(await readdir(join(folder, 'precious'))).toEqual(['file']);
    await run('umount', [join(emptyDir('data'), 'inside')]);
    await volumes.tearDown(owner);
    expect(await readdir(join(folder, 'precious'))).toEqual(['file']);
  });
});

describe('a folder', () => {
  it('is measured by its blocks: holes count for nothing, second names neither, links are not followed', async () => {
    const measured = join(folder, 'measured');
    await mkdir(join(measured, 'below'), { recursive: true });
    const empty = await measureFolder(measured, NEVER);
    await run('truncate', ['-s', '1G', join(measured, 'sparse')]);
    await writeFile(join(measured, 'below/file'), Buffer.alloc(1 << 20, 1));
    await link(join(measured, 'below/file'), join(measured, 'second'));
    await symlink('/usr', join(measured, 'link'));
    const used = (await measureFolder(measured, NEVER)) - empty;
    expect(used).toBeGreaterThanOrEqual(1n << 20n);
    expect(used).toBeLessThan(1n << 21n);
  });

  it('is counted with all that is in it, each once whatever names it has', async () => {
    const counted = join(folder, 'counted');
    await mkdir(join(counted, 'below'), { recursive: true });
    for (const name of ['one', 'two', 'below/three']) await writeFile(join(counted, name), '');
    await link(join(counted, 'one'), join(counted, 'second'));
    expect(await countInodes(counted, NEVER)).toBe(5n);
  });

  it('that is not there cannot be measured', async () => {
    await expect(measureFolder(join(folder, 'none'), NEVER)).rejects.toThrow('du cannot measure');
    await expect(countInodes(join(folder, 'none'), NEVER)).rejects.toThrow('du cannot measure');
  });

  it('deeper than a path can name is measured and removed', async () => {
    const deep = join(folder, 'pods/u1/volumes/kubernetes.io~empty-dir/data');
    await mkdir(deep, { recursive: true });
    const name = 'x'.repeat(200);
    const step = `fs.mkdirSync('${name}'); process.chdir('${name}');`;
    await run(process.execPath, ['-e', `for (let i = 0; i < 30; i++) { ${step} }`], { cwd: deep });
    expect(await measureFolder(deep, NEVER)).toBeGreaterThan(0n);
    await volumes.tearDown(pod({}));
    expect(await readdir(join(folder, 'pods/u1'))).toEqual([]);
  });
});
