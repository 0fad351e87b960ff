/** An agent that is killed between any two steps leaves nothing that the next one cannot go on with, or clear up. */
import type * as fs from 'node:fs/promises';
import { lstat, mkdir, mkdtemp, readdir, realpath, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { BoundedLooks } from './bounded-looks.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeMounts } from '#support/fakes/fake-mounts.js';
import { ClaimMarks } from './claim-marks.js';
import { ClaimedVolumes } from './claimed-volumes.js';
import { EmptyDir } from './empty-dir.js';
import { HostPath } from './host-path.js';
import { PodVolumes } from './pod-volumes.js';

/** Lets so many steps be taken, and then none: as if the process was no more. */
const life = vi.hoisted(() => ({
  stepsLeft: Infinity,
  step(): void {
    if (this.stepsLeft <= 0) throw new Error('killed');
    this.stepsLeft--;
  },
}));

vi.mock('node:fs/promises', async (importOriginal) => {
  const real = await importOriginal<typeof fs>();
  const steps = ['mkdir', 'chmod', 'chown', 'rename', 'rm', 'rmdir', 'unlink', 'writeFile', 'open'] as const;
  const counted = steps.map((name) => {
    const run = real[name] as (...args: readonly unknown[]) => Promise<unknown>;
    return [
      name,
      async (...args: readonly unknown[]) => {
        life.step();
        return await run(...args);
      },
    ];
  });
  return { ...real, ...(Object.fromEntries(counted) as object) };
});

/** A node's mounts, which outlive any agent. */
class CountedMounts extends FakeMounts {
  override mountTmpfs(...args: Parameters<FakeMounts['mountTmpfs']>): Promise<void> {
    life.step();
    return super.mountTmpfs(...args);
  }

  override bindDescriptor(...args: Parameters<FakeMounts['bindDescriptor']>): Promise<void> {
    life.step();
    return super.bindDescriptor(...args);
  }

  override unmount(...args: Parameters<FakeMounts['unmount']>): Promise<void> {
    life.step();
    return super.unmount(...args);
  }
}

const NEVER = new AbortController().signal;
const POD: NodePod = {
  ...{ apiVersion: 'v1', kind: 'Pod' },
  metadata: { name: 'web', namespace: 'default', uid: 'u1' },
  spec: {
    securityContext: { fsGroup: process.getegid!() },
    volumes: [
      { name: 'disk', emptyDir: {} },
      { name: 'memory', emptyDir: { medium: 'Memory' } },
      { name: 'claimed', persistentVolumeClaim: { claimName: 'local' } },
    ],
    containers: [
      {
        ...{ name: 'c', image: 'i' },
        volumeMounts: [
          { name: 'disk', mountPath: '/a', subPath: 'a/b' },
          { name: 'memory', mountPath: '/b', subPath: 'c' },
        ],
      },
    ],
  },
};

let folder: string;
let mounts: FakeMounts;

beforeEach(async () => {
  life.stepsLeft = Infinity;
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-killed-')));
  mounts = new CountedMounts();
  await mkdir(join(folder, 'local'));
  await writeFile(join(folder, 'local/file'), '');
});
afterEach(async () => {
  life.stepsLeft = Infinity;
  await rm(folder, { recursive: true, force: true });
});

function startAgent(): PodVolumes {
  const clock = new FakeClock();
  const looks = new BoundedLooks({ clock });
  const ports = { mounter: mounts, readMounts: mounts.read, looks };
  const podsFolder = join(folder, 'pods');
  const events = { record: () => undefined };
  const hostPath = new HostPath({ looks: new BoundedLooks({ clock }) });
  const place = { name: 'pv1', kind: 'local', path: join(folder, 'local'), type: '' } as const;
  return new PodVolumes({
    ...{ ...ports, clock, podsFolder, events },
    kinds: {
      emptyDir: new EmptyDir({ ...ports, memoryBytes: 1n << 30n }),
      hostPath,
      persistentVolumeClaim: new ClaimedVolumes({
        ...{ hostPath, events, marks: new ClaimMarks(podsFolder) },
        claims: { getClaimed: () => Promise.resolve(place) },
      }),
    },
  });
}
async function start(volumes: PodVolumes): Promise<void> {
  await volumes.setUp(POD, NEVER);
  await volumes.mountsFor(POD, POD.spec.containers[0]!, { find: () => undefined });
}
/** A whole life, and the next start of the container in it. */
async function live(volumes: PodVolumes): Promise<void> {
  await start(volumes);
  await start(volumes);
  await volumes.tearDown(POD);
}
/** Whether it was killed before it was through. */
async function isKilledAfter(steps: number): Promise<boolean> {
  life.stepsLeft = steps;
  const isKilled = await live(startAgent()).then(
    () => false,
    () => true,
  );
  life.stepsLeft = Infinity;
  return isKilled;
}
async function expectNothingLeft(): Promise<void> {
  expect(mounts.entries).toEqual([]);
  expect(await startAgent().findPods()).toEqual([]);
  expect(await readdir(join(folder, 'pods/u1')).catch(() => [])).toEqual([]);
}

describe('an agent that is killed at any step', () => {
  it('leaves nothing that the next one does not clear up', async () => {
    let steps = 0;
    for (; await isKilledAfter(steps); steps++) {
      await startAgent().tearDown(POD);
      await expectNothingLeft();
    }
    expect(steps).toBeGreaterThan(30);
    await expectNothingLeft();
  });

  it('leaves nothing that keeps the next one from going on', async () => {
    let steps = 0;
    for (; await isKilledAfter(steps); steps++) {
      await start(startAgent());
      expect((await stat(join(folder, 'local'))).mode & 0o2070).toBe(0o2070);
      expect((await stat(join(folder, 'local/file'))).mode & 0o060).toBe(0o060);
      expect(await readdir(join(folder, 'pods/u1/volume-claims'))).toEqual(['claimed']);
      const disk = join(folder, 'pods/u1/volumes/kubernetes.io~empty-dir/disk');
      expect((await stat(disk)).mode & 0o7777).toBe(0o2777);
      expect(await readdir(join(disk, '..'))).toEqual(['disk', 'memory']);
      expect((await lstat(join(folder, 'pods/u1/volume-subpaths/disk/c/0'))).isDirectory()).toBe(true);
      expect(mounts.entries.map(({ mountPoint }) => mountPoint.slice(folder.length)).sort()).toEqual([
        '/pods/u1/volume-subpaths/disk/c/0',
        '/pods/u1/volume-subpaths/memory/c/1',
        '/pods/u1/volumes/kubernetes.io~empty-dir/memory',
      ]);
      await startAgent().tearDown(POD);
      await expectNothingLeft();
    }
    expect(steps).toBeGreaterThan(30);
  });
});
