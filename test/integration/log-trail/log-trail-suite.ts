/**
 * The log of an agent tells the whole life of a pod to whoever searches it for the pod's uid and nothing else.
 *
 * @module
 */
import { spawnSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { findLine, findLinesWithoutKeys } from '../../kubelet-words.js';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess, runPodloop } from '../podloop-process.js';
import { untilNobodyNames } from '../processes-naming.js';

/** A runtime for the pods of these tests. */
export interface TrailRuntime {
  /** What makes an agent use it. */
  readonly flags: readonly string[];
  /** One with a shell. */
  readonly image: string;
  end(): Promise<void>;
}

const STAY = 'trap "exit 0" TERM; while :; do sleep 0.1; done';
const containerOf = (name: string, image: string) => ({ name, image, command: ['sh', '-c', STAY] });
const podOf = (name: string, spec: object) => ({
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name } },
  spec: { terminationGracePeriodSeconds: 2, ...spec },
});
/** With two containers and a volume, and of another name with neither. */
const podsOf = (image: string) => [
  podOf('shop', {
    volumes: [{ name: 'data', emptyDir: {} }],
    containers: [containerOf('web', image), containerOf('cache', image)],
  }),
  podOf('bare', { containers: [containerOf('web', image)] }),
];

interface RunningAgent {
  readonly agent: PodloopProcess;
  /** Of the two pods. */
  readonly uids: Readonly<Record<'shop' | 'bare', string>>;
}

/** Runs an agent with both pods in its folder until they run, and gives its log as it grows. */
async function startAgent(
  folder: string,
  { flags, image }: TrailRuntime,
  log: readonly string[],
): Promise<RunningAgent> {
  const manifests = join(folder, 'manifests');
  await mkdir(manifests);
  const place = ['--root-dir', join(folder, 'node'), '--pod-logs-dir', join(folder, 'logs'), '--stop-pods'];
  for (const pod of podsOf(image)) {
    await writeFile(join(manifests, `${pod.metadata.name}.json`), JSON.stringify(pod));
  }
  const agent = new PodloopProcess(['run', manifests, ...place, '--node-name', 'test', ...flags, ...log]);
  const api = new LocalApiClient(join(folder, 'node/podloop.sock'));
  const read = async (name: string): Promise<{ metadata: { uid: string }; status: { phase: string } }> =>
    (await api.json(`/api/v1/namespaces/default/pods/${name}-test`)) as never;
  const phases = async (): Promise<string[]> =>
    Promise.all(['shop', 'bare'].map(async (name) => (await read(name)).status.phase)).catch(() => []);
  await expect.poll(phases, { timeout: 60_000 }).toEqual(['Running', 'Running']);
  const [shop, bare] = [(await read('shop')).metadata.uid, (await read('bare')).metadata.uid];
  return { agent, uids: { shop, bare } };
}

/** The steps of an end. */
const REMOVE = [/\bSyncLoop REMOVE\b/];
const DELETE = [/\bSyncLoop DELETE\b/];
const END = [
  /Killing container with a grace period\b.*\b(web|cache)\b/,
  /Generic \(PLEG\): container finished/,
  /All volumes are unmounted for pod/,
];
const UNMOUNTED = /UnmountVolume\.TearDown succeeded for volume \\"data\\"/;

/** The steps that the lines show, each where it is met first. */
function stepsOf(lines: readonly string[], steps: readonly RegExp[]): string[] {
  const places = steps.map((step) => ({ step, at: lines.findIndex((line) => step.test(line)) }));
  expect(places.filter(({ at }) => at < 0).map(({ step }) => String(step))).toEqual([]);
  return places.sort((one, other) => one.at - other.at).map(({ step }) => String(step));
}

const count = (lines: readonly string[], step: RegExp): number =>
  lines.filter((line) => step.test(line)).length;

/** Whoever names a pod in a line names its uid in it. */
function expectUidsEverywhere(lines: readonly string[], uids: RunningAgent['uids']): void {
  for (const [name, uid] of Object.entries(uids)) {
    expect(lines.filter((line) => line.includes(`${name}-test`) && !line.includes(uid))).toEqual([]);
  }
  // Of any pod at all.
  const isAboutPod = /\b(pod|object)="|\bpods=\[|"(pod|object)":|"pods":\[/;
  const known = Object.values(uids);
  const nameless = lines.filter((line) => isAboutPod.test(line) && !known.some((uid) => line.includes(uid)));
  expect(nameless).toEqual([]);
}

const guide = (): Promise<string> =>
  readFile(new URL('../../../docs/guides/log-trail.md', import.meta.url), 'utf8');

/** What the runbook's searches for a uid find in a log, the last of each. */
async function searchAsTold(lines: readonly string[]): Promise<string[]> {
  const told = [...(await guide()).matchAll(/^\$ journalctl .*\| (grep -o .*)$/gm)].map(
    ([, search = '']) => search,
  );
  expect(told).toHaveLength(2);
  return told.map((search) => {
    const command = search.replaceAll('shop-node1', 'shop-test');
    const { stdout } = spawnSync('sh', ['-c', command], { input: `${lines.join('\n')}\n`, encoding: 'utf8' });
    return stdout.trim();
  });
}

/** Defines the tests, on the runtime that `startRuntime` starts once for all. */
export function defineTrailTests(startRuntime: () => Promise<TrailRuntime>): void {
  let folder: string;
  let runtime: TrailRuntime;

  beforeAll(async () => {
    runtime = await startRuntime();
  });

  afterAll(async () => {
    await runtime.end();
  });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-trail-test-'));
  });

  afterEach(async () => {
    await untilNobodyNames(folder);
    await rm(folder, { recursive: true });
  });

  it('finds at -v 2 and in JSON, by the uid alone: REMOVE, killed, dead, unmounted, of a pod with a volume and of one without', async () => {
    const { agent, uids } = await startAgent(folder, runtime, ['-v', '2', '--logging-format', 'json']);
    await using _ = agent;
    await Promise.all(['shop', 'bare'].map((name) => rm(join(folder, 'manifests', `${name}.json`))));
    for (const uid of Object.values(uids)) {
      await agent.line('stderr', (line) => line.includes(uid) && END[2]!.test(line));
    }
    await agent.end('SIGTERM');
    const steps = [...REMOVE, ...END];
    for (const [uid, containers, volumes] of [
      [uids.shop, 2, 1],
      [uids.bare, 1, 0],
    ] as const) {
      const trail = agent.stderr.filter((line) => line.includes(uid));
      expect(stepsOf(trail, steps)).toEqual(steps.map(String));
      expect([END[0]!, END[1]!, UNMOUNTED].map((step) => count(trail, step))).toEqual([
        ...[containers, containers, volumes],
      ]);
    }
    expectUidsEverywhere(agent.stderr, uids);
    const [, inJson = ''] = await searchAsTold(agent.stderr);
    expect(inJson).toMatch(new RegExp(`"${uids.shop}$`));
  });

  it('finds by the uid alone: DELETE, killed, dead, unmounted, REMOVE, of a pod that was deleted', async () => {
    const { agent, uids } = await startAgent(folder, runtime, ['-v', '4']);
    await using _ = agent;
    const socket = join(folder, 'node/podloop.sock');
    const deleted = await runPodloop(['delete', 'pod', 'shop-test', '--socket', socket]);
    expect(deleted.stdout).toMatch(/pod "shop-test" deleted/);
    await agent.line('stderr', /"SyncLoop REMOVE"/);
    await agent.end('SIGTERM');
    const uid = uids.shop;
    const trail = agent.stderr.filter((line) => line.includes(uid));
    const steps = [...DELETE, ...END, ...REMOVE];
    expect(stepsOf(trail, steps)).toEqual(steps.map(String));
    expect(count(trail, END[0]!)).toBe(2);
    expect(count(trail, /"SyncLoop \(PLEG\): .*"Type":"ContainerDied"/)).toBeGreaterThanOrEqual(2);
    expectUidsEverywhere(agent.stderr, uids);
    const [inText = ''] = await searchAsTold(agent.stderr);
    expect(inText).toMatch(new RegExp(`"${uid}$`));
    expect(findLinesWithoutKeys(agent.stderr)).toEqual([]);
    const kubelets = agent.stderr.map((line) => findLine(/\] "((?:[^"\\]|\\.)*)"/.exec(line)?.[1] ?? ''));
    // As many of the kubelet's lines as a life and an end without troubles has.
    expect(new Set(kubelets.map((line) => line?.message)).size).toBeGreaterThanOrEqual(35);
    // What the runbook shows are lines as they were written here.
    const examples = (await guide()).match(/^[IWE]\d{4} .*$/gm) ?? [];
    expect(examples.length).toBeGreaterThan(8);
    const shapes = new Set(agent.stderr.map((line) => shapeOf(line, uid)));
    const uidOf = (line: string): string => /pod(?:UIDs?|ID)=\[?"([^"]+)"/.exec(line)?.[1] ?? '?';
    expect(examples.filter((line) => !shapes.has(shapeOf(line, uidOf(line))))).toEqual([]);
  });
}

/** A line without what differs from run to run: time, pid, line of the source, ids and measured values. */
function shapeOf(line: string, uid: string): string {
  return line
    .replace(/^([IWE])\S+ \S+ +\d+ (\S+?)\.[jt]s:\d+\]/, '$1 $2]')
    .replaceAll(uid, 'UID')
    .replaceAll(/shop-\w+/g, 'POD')
    .replaceAll(/\b[0-9a-f]{64}\b/g, 'ID')
    .replaceAll(/\b[a-z-]+:\/\/ID/g, 'RUNTIME://ID')
    .replaceAll(/"(web|cache)"/g, '"CONTAINER"');
}
