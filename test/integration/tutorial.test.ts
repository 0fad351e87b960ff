/**
 * The tutorial, walked as it is written: its manifests, its commands, and what it says of their answers.
 *
 * @module
 */
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { readText } from '../source-tree.js';
import { runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

/** Each command loads the whole program, which takes long on a busy machine. */
const LIMIT_MS = patiently(240_000);
const PAGE = readText('docs/guides/tutorial.md');

let folder: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(join(tmpdir(), 'podloop-tutorial-')));
  await mkdir(join(folder, 'shop'));
});

afterEach(async () => {
  // What a failed test has left; it is no failure that there is nothing.
  await podloop('down', join(folder, 'shop'), '--root-dir', join(folder, 'root'), '--yes');
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, LIMIT_MS);

const podloop = (...args: string[]): ReturnType<typeof runPodloop> =>
  runPodloop(args, { env: { HOME: folder, PODLOOP_SOCKET: join(folder, 'root/podloop.sock') } });

/** The manifests of the page, in its order. */
const MANIFESTS = [...PAGE.matchAll(/^```yaml\n([\s\S]*?)^```$/gm)].map(([, text]) => text!);
const put = (name: string, at: number): Promise<void> =>
  writeFile(join(folder, 'shop', name), MANIFESTS[at]!);

async function untilSaid(words: RegExp | string, ...args: string[]): Promise<void> {
  await vi.waitFor(async () => expect((await podloop(...args)).stdout).toMatch(words), {
    timeout: LIMIT_MS / 4,
    interval: 500,
  });
}

it.runIf(process.getuid?.() === 0)(
  'leads from nothing to a crash that is understood and mended',
  async () => {
    expect(MANIFESTS).toHaveLength(3);
    await put('web.yaml', 0);
    const up = await podloop(
      ...['up', join(folder, 'shop'), '--runtime-endpoint', 'embedded', '--wait'],
      // Besides what the page says: nothing of this machine.
      ...['--root-dir', join(folder, 'root'), '--pod-logs-dir', join(folder, 'logs'), '--network', 'host'],
      ...['--container-log-links-dir', join(folder, 'links'), '--node-name', 'vm', '--read-only-port', '0'],
    );
    expect([up.code, up.stderr], up.stdout).toEqual([0, '']);
    expect(up.stdout).toContain('2/2 pods are ready');
    expect((await podloop('logs', 'deploy/web')).stdout).toContain('ready');

    await put('worker.yaml', 1);
    await untilSaid(/^worker-vm +0\/1 +CrashLoopBackOff +[12] /m, 'get', 'pods');
    const why = await podloop('doctor', 'pod', 'worker');
    expect(why.code).toBe(1);
    expect(why.stdout).toMatch(/^DOES NOT RUN at back-off .*default\/worker-vm.* exit code 1 \(Error\)/);
    const next = /what to do: See its last words: (podloop .*)\.$/m.exec(why.stdout)?.[1];
    const words = await podloop(...next!.split(' ').slice(1));
    expect(words.stdout).toContain('cat: /etc/shop/settings: No such file or directory');
    const events = await podloop('events', '--for', 'pod/worker');
    expect(events.stdout).toMatch(
      /ContainerDied +Pod\/worker-vm +Container main died with exit code 1: Error/,
    );
    const webs = (await podloop('get', 'pods', '-l', 'app=web')).stdout.replaceAll(/ \S+$/gm, '');

    await put('worker.yaml', 2);
    await untilSaid('every=5s', 'logs', 'worker');
    await untilSaid(/^worker-vm +1\/1 +Running /m, 'get', 'pods');
    const well = await podloop('doctor', 'pod', 'worker');
    expect([well.code, well.stdout]).toEqual([0, expect.stringMatching(/^RUNS /)]);
    expect((await podloop('blame', 'worker')).stdout).toMatch(
      /^TIME +AT +STEP +CONTAINER\n(?:.*\n)*.* start +main/,
    );
    expect((await podloop('get', 'pods', '-l', 'app=web')).stdout.replaceAll(/ \S+$/gm, '')).toBe(webs);

    const down = await podloop('down', join(folder, 'shop'), '--yes');
    expect([down.code, down.stdout]).toEqual([0, expect.stringMatching(/worker-vm ended[\s\S]*The agent/)]);
  },
  LIMIT_MS,
);
