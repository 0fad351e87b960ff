import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { emptyPodStatus } from '../runtime/runtime.js';
import { aContainer, aContainerStatus } from '../testing/builders.js';
import { aContainerUsage, aPodUsage } from '../testing/usage-builders.js';
import { measurePodUses } from './measure-pod-uses.js';
import { type LookedPod } from './usage-looks.js';

const AT_MS = 1_700_000_000_000;
const never = new AbortController().signal;

let logsDir: string;
beforeEach(async () => (logsDir = await mkdtemp(join(tmpdir(), 'podloop-uses-'))));
afterEach(async () => rm(logsDir, { recursive: true }));

function aPodWithLog(logPath: string): LookedPod {
  const writableLayer = { atMs: AT_MS, mountpoint: '/run/c', usedBytes: 7, inodesUsed: 2 };
  const containers = [
    { ...aContainerUsage({ writableLayer }), status: aContainerStatus(aContainer(), { logPath }) },
    { ...aContainerUsage({ name: 'side', memory: undefined }), status: undefined },
  ];
  return { ...aPodUsage(), status: emptyPodStatus('uid-web'), containers };
}

it('is memory and processes of a pod, and what its containers and volumes have on the disk', async () => {
  const folder = join(logsDir, 'default_web_uid-web', 'main');
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, '0.log'), 'x'.repeat(5_000));
  const volumesOf = (uid: string) => (uid === 'uid-web' ? { volumeBytes: 11 } : {});
  const uses = await measurePodUses(
    { pods: [aPodWithLog(join(folder, '0.log'))], logsDir, volumesOf },
    never,
  );
  expect([...uses]).toEqual([
    [
      'uid-web',
      {
        ...{ memoryBytes: 2 ** 20, processes: 2, volumeBytes: 11 },
        containers: [
          {
            ...{ name: 'main', memoryBytes: 2 ** 20, writtenBytes: 7, writtenInodes: 2 },
            ...{ logBytes: expect.toSatisfy((bytes: number) => bytes >= 5_000) as number, logInodes: 1 },
          },
          { name: 'side' },
        ],
      },
    ],
  ]);
});

it('looks at no log unless told where they are', async () => {
  const pods = [aPodWithLog(join(logsDir, 'default_web_uid-web', 'main', '0.log'))];
  const uses = await measurePodUses({ pods, logsDir: undefined, volumesOf: () => ({}) }, never);
  const { volumeBytes, containers } = uses.get('uid-web')!;
  expect(volumeBytes).toBeUndefined();
  expect(containers[0]).toMatchObject({ name: 'main', writtenBytes: 7, logBytes: undefined });
});
