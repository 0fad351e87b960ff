/**
 * The log of an agent tells the whole life of a pod to whoever searches it for the pod's uid and nothing else.
 *
 * @module
 */
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { LocalApiClient } from './local-api-client.js';
import { PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';

let folder: string;
let manifests: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-trail-test-'));
  manifests = join(folder, 'manifests');
  await mkdir(manifests);
});

afterEach(async () => {
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

const STAY = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const container = (name: string) => ({ name, image: 'podloop.local/host', command: ['sh', '-c', STAY] });
const POD = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'shop' } },
  spec: {
    ...{ terminationGracePeriodSeconds: 2, volumes: [{ name: 'data', emptyDir: {} }] },
    containers: [container('web'), container('cache')],
  },
};

/** Runs an agent with the pod in its folder until the pod runs, and gives its log as it grows. */
async function startAgent(): Promise<{ agent: PodloopProcess; uid: string }> {
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs'), '--stop-pods'];
  const runtime = ['--runtime-endpoint', 'embedded', '--isolation', 'none', '--network', 'host'];
  const ports = ['--node-name', 'test', '-v', '4'];
  await writeFile(join(manifests, 'shop.json'), JSON.stringify(POD));
  const agent = new PodloopProcess(['run', manifests, ...place, ...runtime, ...ports]);
  const api = new LocalApiClient(join(folder, 'node/podloop.sock'));
  const read = async (): Promise<{ metadata: { uid: string }; status: { phase: string } }> =>
    (await api.json('/api/v1/namespaces/default/pods/shop-test')) as never;
  const phase = async (): Promise<string> =>
    read().then(
      ({ status }) => status.phase,
      () => '',
    );
  await expect.poll(phase, { timeout: 60_000 }).toBe('Running');
  return { agent, uid: (await read()).metadata.uid };
}

/** The steps of an end, and how often each is to be found. */
const REMOVE = [/"SyncLoop REMOVE"/];
const DELETE = [/"SyncLoop DELETE"/];
const END = [
  /"Killing container with a grace period".* containerName="(web|cache)"/,
  /"SyncLoop \(PLEG\): .*"Type":"ContainerDied"/,
  /"All volumes are unmounted for pod"/,
];

/** The steps that the lines show, each where it is met first. */
function stepsOf(lines: readonly string[], steps: readonly RegExp[]): string[] {
  const places = steps.map((step) => ({ step, at: lines.findIndex((line) => step.test(line)) }));
  expect(places.filter(({ at }) => at < 0).map(({ step }) => String(step))).toEqual([]);
  return places.sort((one, other) => one.at - other.at).map(({ step }) => String(step));
}

/** Whoever names a pod in a line names its uid in it. */
function expectUidsEverywhere(lines: readonly string[], uid: string): void {
  const withoutUid = lines.filter(
    (line) => /\b(pod|object)="|\bpods=\[|shop-test/.test(line) && !line.includes(uid),
  );
  expect(withoutUid).toEqual([]);
}

it('finds by the uid alone: REMOVE, both containers killed, dead, the volume unmounted, of a manifest that went', async () => {
  const { agent, uid } = await startAgent();
  await using _ = agent;
  await rm(join(manifests, 'shop.json'));
  await agent.line('stderr', /"All volumes are unmounted for pod"/);
  await agent.end('SIGTERM');
  const trail = agent.stderr.filter((line) => line.includes(uid));
  const steps = [...REMOVE, ...END];
  expect(stepsOf(trail, steps)).toEqual(steps.map(String));
  expect(trail.filter((line) => END[0]!.test(line))).toHaveLength(2);
  expect(trail.filter((line) => line.includes('"Generic (PLEG): container finished"'))).toHaveLength(2);
  expect(
    trail.filter((line) => line.includes('UnmountVolume.TearDown succeeded for volume \\"data\\"')),
  ).toHaveLength(1);
  expectUidsEverywhere(agent.stderr, uid);
});

it('finds by the uid alone: DELETE, killed, dead, unmounted, REMOVE, of a pod that was deleted', async () => {
  const { agent, uid } = await startAgent();
  await using _ = agent;
  const socket = join(folder, 'node/podloop.sock');
  const deleted = await runPodloop(['delete', 'pod', 'shop-test', '--socket', socket]);
  expect(deleted.stdout).toMatch(/pod "shop-test" deleted/);
  await agent.line('stderr', /"SyncLoop REMOVE"/);
  await agent.end('SIGTERM');
  const trail = agent.stderr.filter((line) => line.includes(uid));
  const steps = [...DELETE, ...END, ...REMOVE];
  expect(stepsOf(trail, steps)).toEqual(steps.map(String));
  expect(trail.filter((line) => END[0]!.test(line))).toHaveLength(2);
  expectUidsEverywhere(agent.stderr, uid);
  // What the runbook shows are lines as they were written here.
  const page = await readFile(new URL('../../docs/guides/log-trail.md', import.meta.url), 'utf8');
  const examples = page.match(/^[IWE]\d{4} .*$/gm) ?? [];
  expect(examples.length).toBeGreaterThan(8);
  const shapes = new Set(agent.stderr.map((line) => shapeOf(line, uid)));
  const uidOf = (line: string): string => /pod(?:UIDs?|ID)=\[?"([^"]+)"/.exec(line)?.[1] ?? '?';
  expect(examples.filter((line) => !shapes.has(shapeOf(line, uidOf(line))))).toEqual([]);
});

/** A line without what differs from run to run: time, pid, line of the source, ids and measured values. */
function shapeOf(line: string, uid: string): string {
  return line
    .replace(/^([IWE])\S+ \S+ +\d+ (\S+?)\.[jt]s:\d+\]/, '$1 $2]')
    .replaceAll(uid, 'UID')
    .replaceAll(/shop-\w+/g, 'POD')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'ID')
    .replaceAll(/"(web|cache)"/g, '"CONTAINER"');
}
