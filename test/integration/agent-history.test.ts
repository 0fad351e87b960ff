import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-history-test-'));
  await mkdir(join(folder, 'manifests'));
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

const SECRET = 'hunter2-and-more';

const MANIFESTS = {
  'a-secret.json': {
    ...{ apiVersion: 'v1', kind: 'Secret', metadata: { name: 'key' } },
    stringData: { password: SECRET },
  },
  'web.json': {
    ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web' } },
    spec: {
      terminationGracePeriodSeconds: 1,
      containers: [
        {
          ...{ name: 'main', image: 'podloop.local/host', command: ['sh', '-c', 'sleep 1; exit 3'] },
          envFrom: [{ secretRef: { name: 'key' } }],
        },
      ],
    },
  },
};

function start(...more: readonly string[]): PodloopProcess {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  const own = ['--node-name', 'test', '--read-only-port', '0', '--healthz-port', '0'];
  return new PodloopProcess(['run', join(folder, 'manifests'), ...more, ...place, ...runtime, ...own]);
}

const socket = (): string => join(folder, 'node/podloop.sock');
const events = async (...args: readonly string[]): Promise<string[]> => {
  const columns = '-o=custom-columns=KIND:.metadata.labels.podloop\\.dev/kind,REASON:.reason';
  const all = ['events', '-A', '--no-headers', '--socket', socket(), columns, ...args];
  const { code, stdout, stderr } = await runPodloop(all);
  expect([code, stderr]).toEqual([0, '']);
  return stdout.split('\n').map((line) => line.trim().replaceAll(/ +/g, ' '));
};

it('what happened on a node is told while its agent is down, after it was killed, and as it goes on', async () => {
  for (const [name, object] of Object.entries(MANIFESTS)) {
    await writeFile(join(folder, 'manifests', name), JSON.stringify(object));
  }
  {
    await using first = start();
    await first.line('stderr', /"Started node agent"/);
    await expect
      .poll(async () => events('--pod', 'web'), { timeout: 45_000 })
      .toContain('restart ContainerRestarted');
    await first.end('SIGKILL');
  }
  const before = await events();
  expect(before).toEqual(
    expect.arrayContaining([
      ...['agent AgentStarted', 'lifecycle ContainerStarted', 'lifecycle ContainerDied'],
      ...['event Started', 'sync Synced', 'restart ContainerRestarted'],
    ]),
  );
  await using watching = new PodloopProcess(['events', '-A', '-w', '--no-headers', '--socket', socket()]);
  await watching.line('stdout', /AgentStarted/);
  {
    await using second = start('--stop-pods');
    await second.line('stderr', /"Started node agent"/);
    await watching.line('stdout', (line) => line.includes('AgentStarted') && line !== watching.stdout[0]);
    await second.end('SIGTERM');
  }
  await watching.line('stdout', /AgentStopped/);
  const after = await events();
  expect(after.slice(0, before.length)).toEqual(before);
  expect(after.at(-1)).toBe('agent AgentStopped');
  expect(after.filter((line) => line === 'agent AgentStarted')).toHaveLength(2);
  expect(watching.stdout).toHaveLength(after.length);
  const { stdout } = await runPodloop(['events', '-A', '-o', 'json', '--socket', socket()]);
  expect(stdout).not.toContain(SECRET);
});
