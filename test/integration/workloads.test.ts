/**
 * Workloads of a folder on the embedded runtime: what people type and see, and agents that are killed.
 *
 * @module
 */
import { appendFile, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { patiently } from '#support/patience.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

const LIMIT = { timeout: patiently(120_000), interval: 300 };

let folder: string;
let agent: PodloopProcess;

const podloop = async (...args: string[]) =>
  runPodloop(args, { env: { PODLOOP_SOCKET: join(folder, 'node/podloop.sock') } });
const file = (name: string): string => join(folder, 'manifests', name);

function startAgent(): PodloopProcess {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  return new PodloopProcess(['run', join(folder, 'manifests'), ...place, ...runtime, '--node-name', 'n1']);
}

const podOf = (script: string, more: object = {}) => ({
  metadata: { labels: { app: 'web' } },
  spec: {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script] }],
    ...more,
  },
});
const STAY = 'trap "exit 0" TERM; while :; do sleep 0.2; done';
const deployment = (version: string) =>
  JSON.stringify({
    ...{ apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web' } },
    spec: {
      ...{ replicas: 2, selector: { matchLabels: { app: 'web' } } },
      template: podOf(`: ${version}; ${STAY}`),
    },
  });
const job = () =>
  JSON.stringify({
    ...{ apiVersion: 'batch/v1', kind: 'Job', metadata: { name: 'sum' } },
    spec: {
      ...{ completions: 4, parallelism: 2 },
      template: podOf(`echo "$HOSTNAME x" >> ${join(folder, 'ran')}; sleep 2`, { restartPolicy: 'Never' }),
    },
  });
const set = () =>
  JSON.stringify({
    ...{ apiVersion: 'apps/v1', kind: 'StatefulSet', metadata: { name: 'db' } },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: { app: 'web' } }, serviceName: 'db' },
      template: podOf(STAY),
      volumeClaimTemplates: [
        {
          metadata: { name: 'data' },
          spec: { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '1Mi' } } },
        },
      ],
    },
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-workloads-test-'));
  await mkdir(join(folder, 'manifests'));
  await writeFile(file('web.json'), deployment('one'));
  await writeFile(file('sum.json'), job());
  await writeFile(file('db.json'), set());
  agent = startAgent();
}, 60_000);

afterAll(async () => {
  await rm(join(folder, 'manifests'), { recursive: true });
  await mkdir(join(folder, 'manifests'));
  await writeFile(file('none.yaml'), 'apiVersion: v1\nkind: List\nitems: []\n');
  await vi.waitFor(async () => {
    expect(await podloop('get', 'pods', '--no-headers')).toMatchObject({ code: 0, stdout: '' });
  }, LIMIT);
  await agent.end('SIGTERM');
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
}, 200_000);

const rows = async (kind: string) =>
  (await podloop('get', kind, '--no-headers')).stdout
    .trim()
    .split('\n')
    .map((line) => line.split(/\s+/));
const podNames = async () => (await rows('pods')).map(([name = '']) => name);

describe('workloads of a folder', () => {
  it('run, and are listed in kubectl’s columns', { timeout: patiently(240_000) }, async () => {
    await vi.waitFor(async () => {
      expect(await rows('deploy')).toEqual([['web', '2/2', '2', '2', expect.any(String)]]);
    }, LIMIT);
    await vi.waitFor(async () => {
      expect((await rows('jobs'))[0]?.slice(0, 3)).toEqual(['sum', 'Complete', '4/4']);
    }, LIMIT);
    await vi.waitFor(async () => {
      expect((await rows('sts'))[0]?.slice(0, 2)).toEqual(['db', '1/1']);
    }, LIMIT);
    expect((await rows('pvc'))[0]?.slice(0, 2)).toEqual(['data-db-0', 'Bound']);
    expect((await rows('rs'))[0]?.slice(1, 4)).toEqual(['2', '2', '2']);
    const { stdout } = await podloop('describe', 'job', 'sum');
    expect(stdout).toMatch(/SuccessfulCreate/);
    expect(stdout).toMatch(/Completed/);
    expect((await podloop('volumes')).stdout).toMatch(/data-db-0 .* 1Mi +(?:yes|no) +db-0/);
  });

  it(
    'are the same after a kill of the agent: nothing runs twice',
    { timeout: patiently(240_000) },
    async () => {
      const before = await podNames();
      await appendFile(join(folder, 'node/claims/default_data-db-0/file'), 'kept');
      await agent.end('SIGKILL');
      agent = startAgent();
      await vi.waitFor(async () => expect(await podNames()).toEqual(before), LIMIT);
      await vi.waitFor(async () => {
        expect((await rows('deploy'))[0]?.slice(0, 2)).toEqual(['web', '2/2']);
      }, LIMIT);
      expect((await rows('jobs'))[0]?.slice(0, 3)).toEqual(['sum', 'Complete', '4/4']);
      const ran = (await readFile(join(folder, 'ran'), 'utf8')).trim().split('\n');
      expect(ran).toHaveLength(4);
    },
  );

  it('are replaced after an edit', { timeout: patiently(240_000) }, async () => {
    const before = (await podNames()).filter((name) => name.startsWith('web-'));
    await writeFile(file('web.json'), deployment('two'));
    await vi.waitFor(async () => {
      const now = (await podNames()).filter((name) => name.startsWith('web-'));
      expect(now).toHaveLength(2);
      expect(now.filter((name) => before.includes(name))).toEqual([]);
    }, LIMIT);
    expect((await rows('rs')).map(([, desired]) => desired).sort()).toEqual(['0', '2']);
  });

  it('replace a pod that somebody has deleted', { timeout: patiently(240_000) }, async () => {
    const [name] = (await podNames()).filter((each) => each.startsWith('web-'));
    const { code } = await podloop('delete', 'pod', name!);
    expect(code).toBe(0);
    await vi.waitFor(async () => {
      const now = (await podNames()).filter((each) => each.startsWith('web-'));
      expect(now).toHaveLength(2);
      expect(now).not.toContain(name);
    }, LIMIT);
  });
});
