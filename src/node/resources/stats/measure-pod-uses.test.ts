import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus } from '#testing/builders.js';
import { aContainerUsage, aPodUsage } from '#support/builders/usage-builders.js';
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
  const filesOf = () =>
    Promise.resolve({
      pod: { bytes: 100, inodes: 1 },
      containers: new Map([
        ['main', { bytes: 1_000, inodes: 2 }],
        ['ended', { bytes: 10_000, inodes: 4 }],
      ]),
    });
  const uses = await measurePodUses(
    { pods: [aPodWithLog(join(folder, '0.log'))], logsDir, volumesOf, filesOf },
    never,
  );
  expect([...uses]).toEqual([
    [
      'uid-web',
      {
        ...{ memoryBytes: 2 ** 20, processes: 2, volumeBytes: 11, fileBytes: 10_100, fileInodes: 5 },
        containers: [
          {
            ...{ name: 'main', memoryBytes: 2 ** 20, writtenBytes: 7, writtenInodes: 2 },
            ...{ fileBytes: 1_000, fileInodes: 2 },
            ...{ logBytes: expect.toSatisfy((bytes: number) => bytes >= 5_000) as number, logInodes: 1 },
          },
          { name: 'side' },
        ],
      },
    ],
  ]);
});

it('reads no log and no other file without the folder of the logs', async () => {
  const pods = [aPodWithLog(join(logsDir, 'default_web_uid-web', 'main', '0.log'))];
  const filesOf = () => Promise.reject(new Error('nobody asks'));
  const uses = await measurePodUses({ pods, logsDir: undefined, volumesOf: () => ({}), filesOf }, never);
  const { volumeBytes, containers } = uses.get('uid-web')!;
  expect(volumeBytes).toBeUndefined();
  expect(containers[0]).toMatchObject({ name: 'main', writtenBytes: 7, logBytes: undefined });
});
