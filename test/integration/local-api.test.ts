import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess } from './podloop-process.js';

let folder: string;
let manifests: string;
let api: LocalApiClient;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-api-test-'));
  manifests = join(folder, 'manifests');
  await mkdir(manifests);
  api = new LocalApiClient(join(folder, 'node/podloop.sock'));
});

afterEach(async () => {
  const client = new CriClient({ endpoint: `unix://${join(folder, 'node/runtime/cri.sock')}` });
  try {
    const { items } = await client.listPodSandbox({});
    await Promise.all(items.map(({ id }) => client.removePodSandbox({ podSandboxId: id })));
  } catch {
    // The runtime has ended with its agent.
  } finally {
    client.close();
  }
  await expect.poll(() => processesNaming(folder), { timeout: 30_000 }).toEqual([]);
  await rm(folder, { recursive: true });
});

async function processesNaming(word: string): Promise<string[]> {
  const found: string[] = [];
  for (const pid of await readdir('/proc')) {
    if (!/^\d+$/.test(pid) || Number(pid) === process.pid) continue;
    const text = await readFile(join('/proc', pid, 'cmdline'), 'utf8').catch(() => '');
    if (text.includes(word)) found.push(`${pid} ${text.replaceAll('\0', ' ')}`);
  }
  return found;
}

function start(...more: readonly string[]): PodloopProcess {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs')];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  return new PodloopProcess(['run', manifests, ...more, ...place, ...runtime, '--node-name', 'test']);
}

const pod = (name: string, script: string, policy = 'Always') => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: {
    ...{ restartPolicy: policy, terminationGracePeriodSeconds: 1 },
    containers: [{ name: 'main', image: 'podloop.local/host', command: ['sh', '-c', script] }],
  },
});
// Both to one stream: nobody promises an order between two.
const STAY = 'trap "exit 0" TERM; echo first; echo second; while :; do sleep 0.2; done';
const PODS = '/api/v1/namespaces/default/pods';

/** Of each pod: its name, phase, and whether it is being deleted. */
async function pods(): Promise<string[]> {
  const { items } = (await api.json(PODS)) as {
    items: { metadata: { name: string; deletionTimestamp?: string }; status: { phase: string } }[];
  };
  return items.map(({ metadata, status }) =>
    [metadata.name, status.phase, ...(metadata.deletionTimestamp === undefined ? [] : ['deleted'])].join(' '),
  );
}

const untilPods = async (...expected: string[]): Promise<void> => {
  await expect.poll(async () => pods().catch(() => ['no answer']), { timeout: 45_000 }).toEqual(expected);
};

it('an agent answers at its socket, and takes objects, execs and deletes there', async () => {
  await using agent = start();
  await agent.line('stderr', /"Started node agent"/);
  await expect.poll(async () => (await api.ask('/healthz')).text, { timeout: 20_000 }).toBe('ok');
  const created = await api.ask(PODS, 'POST', pod('web', STAY));
  expect([created.code, created.headers['podloop-result']]).toEqual([201, 'created']);
  const again = await api.ask(PODS, 'POST', pod('web', STAY));
  expect([again.code, JSON.parse(again.text)]).toMatchObject([409, { reason: 'AlreadyExists' }]);
  expect((await api.ask(`${PODS}/web`, 'PUT', pod('web', STAY))).headers['podloop-result']).toBe('unchanged');
  expect(await readdir(manifests)).toEqual(['default_web.pod.yaml']);
  await untilPods('web-test Running');
  const log = async (query: string) => (await api.ask(`${PODS}/web-test/log?${query}`)).text;
  await expect.poll(() => log('')).toBe('first\nsecond\n');
  expect(await log('tailLines=1')).toBe('second\n');
  const exec = `${PODS}/web-test/exec?command=sh&command=-c&stdin=true&stdout=true&stderr=true`;
  const script = encodeURIComponent('cat; echo oh >&2; exit 3');
  const end = await api.stream(
    `${exec}&command=${script}`,
    ['v5.channel.k8s.io', 'v4.channel.k8s.io'],
    'said',
  );
  expect(end).toMatchObject({ protocol: 'v5.channel.k8s.io', stdout: 'said', stderr: 'oh\n' });
  expect(end.status).toMatchObject({ details: { causes: [{ reason: 'ExitCode', message: '3' }] } });
  await expect(api.stream(`${PODS}/nope/exec?command=true`, ['v5.channel.k8s.io'])).rejects.toThrow('404');
  const invalid = await api.ask(PODS, 'POST', { ...pod('bad', ''), spec: {} });
  expect([invalid.code, invalid.text]).toEqual([422, expect.stringContaining('spec.containers')]);
  const events = await api.json(
    '/api/v1/events?fieldSelector=involvedObject.name%3Dweb-test,reason%3DStarted',
  );
  expect(events).toHaveProperty('items.length', 1);
  const map = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'conf' }, data: { key: 'value' } };
  expect((await api.ask('/api/v1/namespaces/default/configmaps/conf', 'PUT', map)).code).toBe(201);
  expect(await api.json('/api/v1/configmaps')).toMatchObject({ items: [{ data: { key: 'value' } }] });
  expect((await api.ask(`${PODS}/web-test`, 'DELETE')).text).toContain('"deletionTimestamp"');
  await untilPods();
  expect(await agent.end('SIGTERM'), agent.stderr.join('\n')).toEqual({ code: 0, signal: null });
});

it('a pod that was deleted stays away over kills of the agent, until its manifest changes or is applied', async () => {
  const before = pod('web', STAY);
  const file = join(manifests, 'web.json');
  await writeFile(file, JSON.stringify(before));
  await writeFile(join(manifests, 'job.json'), JSON.stringify(pod('job', 'exit 0', 'Never')));
  let created: unknown;
  {
    await using agent = start();
    await untilPods('job-test Succeeded', 'web-test Running');
    created = await api.json(`${PODS}/web-test`);
    // Nothing but the record is there when it is killed.
    await api.ask(`${PODS}/web-test?gracePeriodSeconds=20`, 'DELETE');
    await agent.end('SIGKILL');
  }
  {
    await using agent = start();
    await untilPods('job-test Succeeded');
    await api.ask(`${PODS}/job-test`, 'DELETE');
    await untilPods();
    await agent.end('SIGKILL');
  }
  await using agent = start();
  await agent.line('stderr', /"Started node agent"/);
  await api.ask(`/api/v1/namespaces/default/pods`, 'POST', pod('job', 'exit 0', 'Never'));
  // By then both manifests were read.
  await untilPods('job-test Succeeded');
  await writeFile(file, JSON.stringify({ ...before, metadata: { name: 'web', labels: { edited: 'yes' } } }));
  await untilPods('job-test Succeeded', 'web-test Running');
  const again = await api.json(`${PODS}/web-test`);
  const versionOf = (object: unknown): number =>
    Number((object as { metadata: { resourceVersion: string } }).metadata.resourceVersion);
  expect(versionOf(again)).toBeGreaterThan(versionOf(created));
  await rm(file);
  await untilPods('job-test Succeeded');
  await agent.end('SIGTERM');
});
