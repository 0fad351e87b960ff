/**
 * An agent and its embedded runtime on a disk without room or without inodes. Needs root for the small file system;
 * skipped elsewhere.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { fillDisk, useUpInodes } from './fill-disk.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { processesWith } from './processes-with.js';

const run = promisify(execFile);
const LIMIT = { timeout: patiently(30_000), interval: 200 };
/** No start makes more files, and they are soon used up. */
const SIZE = 'size=32m,nr_inodes=3000,mode=700';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-full-disk-'));
  for (const name of ['disk', 'manifests']) await mkdir(join(folder, name));
});
afterEach(async () => rm(folder, { recursive: true }));

const at = (...names: string[]): string => join(folder, ...names);
const flags = (): string[] => [
  ...['--root-dir', at('disk/root'), '--pod-logs-dir', at('disk/logs'), '--node-name', 'n1'],
  ...['--runtime-endpoint', 'embedded', '--network', 'host', '--read-only-port', '0'],
];
const podloop = async (...args: string[]) =>
  runPodloop(args, { env: { PODLOOP_SOCKET: at('disk/root/podloop.sock') } });

async function write(name: string): Promise<void> {
  const command = ['sh', '-c', 'trap "exit 0" TERM; while :; do sleep 0.2; done'];
  const spec = {
    terminationGracePeriodSeconds: 1,
    volumes: [{ name: 'v', emptyDir: {} }],
    containers: [
      {
        ...{ name: 'main', image: 'podloop.local/host', command },
        volumeMounts: [{ name: 'v', mountPath: '/v' }],
      },
    ],
  };
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
  await writeFile(at('manifests', `${name}.json`), JSON.stringify(pod));
}

/** `name ready status restarts` of each pod. */
async function pods(): Promise<string[]> {
  const { stdout } = await podloop('get', 'pods', '--no-headers');
  return stdout
    .trim()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => line.split(/\s+/).slice(0, 4).join(' '));
}

const running = (...names: string[]): string[] => names.map((name) => `${name}-n1 1/1 Running 0`);

describe.skipIf(process.getuid?.() !== 0)('an agent on a full disk (needs root)', () => {
  it.each([
    ['bytes', async () => fillDisk(at('disk/filler'))],
    ['inodes', async () => useUpInodes(at('disk/filler'))],
  ])(
    'without %s left starts after a kill of all, and ends the pods that nobody wants any more',
    async (_what, fill) => {
      await run('mount', ['-t', 'tmpfs', '-o', SIZE, 'podloop-test', at('disk')]);
      try {
        for (const name of ['a', 'b', 'c', 'd', 'e']) await write(name);
        const start = (): PodloopProcess =>
          new PodloopProcess(['run', at('manifests'), ...flags(), '--stop-pods']);
        await using first = start();
        const all = running('a', 'b', 'c', 'd', 'e');
        await vi.waitFor(async () => expect(await pods()).toEqual(all), LIMIT);
        const runtime = `runtime\0--listen\0unix://${at('disk/root')}`;
        await first.end('SIGKILL');
        for (const pid of await processesWith(runtime)) process.kill(pid, 'SIGKILL');
        await vi.waitFor(async () => expect(await processesWith(runtime)).toEqual([]), LIMIT);
        await fill();
        await using agent = start();
        await vi.waitFor(async () => expect(await pods()).toEqual(all), LIMIT);
        for (const words of [
          ['stop', 'a'],
          ['delete', 'pod', 'b'],
          ['restart', 'c'],
        ]) {
          await fill();
          expect(await podloop(...words)).toMatchObject({ code: 0 });
        }
        await rm(at('manifests/d.json'));
        const left = running('c', 'e');
        await vi.waitFor(async () => {
          expect((await pods()).filter((line) => !line.startsWith('c-'))).toEqual(left.slice(1));
          expect(await readdir(at('disk/logs'))).toHaveLength(2);
          expect(await readdir(at('disk/root/pods'))).toHaveLength(2);
        }, LIMIT);
        await rm(at('disk/filler'), { recursive: true });
        await vi.waitFor(async () => {
          expect(await pods()).toEqual(left);
          const stopped = JSON.parse(await readFile(at('disk/root/stopped-pods.json'), 'utf8')) as {
            readonly pods: readonly { readonly name: string }[];
          };
          expect(stopped.pods.map(({ name }) => name)).toEqual(['a-n1', 'b-n1']);
        }, LIMIT);
        await fill();
        expect(await agent.end('SIGINT')).toMatchObject({ code: 0 });
        expect(await readdir(at('disk/logs'))).toEqual([]);
        await untilNobodyNames(at('disk'));
      } finally {
        await run('umount', ['-l', at('disk')]);
      }
    },
    patiently(150_000),
  );

  it('whose log has no room says so to podloop up', async () => {
    await run('mount', ['-t', 'tmpfs', '-o', SIZE, 'podloop-test', at('disk')]);
    try {
      await mkdir(at('disk/root'));
      await fillDisk(at('disk/filler'));
      const { code, stderr } = await podloop('up', at('manifests'), ...flags());
      expect([code, stderr]).toEqual([
        1,
        `error: its log cannot be written, make room there first: ENOSPC: no space left on device, write\n` +
          `The agent ended with 1. Its log: ${at('disk/root/agent.log')}`,
      ]);
      await untilNobodyNames(at('disk'));
    } finally {
      await run('umount', ['-l', at('disk')]);
    }
  });
});
