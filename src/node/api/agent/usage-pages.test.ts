import { status } from '@grpc/grpc-js';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { cri } from '../../../watch/cri/index.js';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { type CriHandlers, CriRuntimeHarness } from '#support/harness/cri-runtime-harness.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { buildUsagePages, type UsagePages } from './usage-pages.js';

const { signal } = new AbortController();
const POD = cri.PodSandboxStats.fromPartial({
  attributes: { id: 's1', metadata: { uid: 'u1', name: 'web', namespace: 'shop' } },
  linux: { cpu: { timestamp: 1n, usageCoreNanoSeconds: { value: 7n } } },
});
const LISTS_POD: CriHandlers['listPodSandboxStats'] = (_call, reply) =>
  reply(null, cri.ListPodSandboxStatsResponse.create({ stats: [POD] }));

let root: string;
let ending: AbortController;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-usage-'));
  ending = new AbortController();
});

afterEach(async () => {
  ending.abort();
  await rm(root, { recursive: true });
});

async function start(handlers: CriHandlers) {
  const clock = new FakeClock();
  const harness = await CriRuntimeHarness.start(handlers, { clock });
  const pages = buildUsagePages({
    ...{ client: harness.client, clock, logger: new LogRecorder(), nodeName: 'node1', ending: ending.signal },
    ...{ cache: { getLastKnown: emptyPodStatus }, statsPeriodMs: 60_000 },
    claimUsages: { ofPod: () => [] },
    paths: new PodPaths({ rootDir: root, podLogsDir: join(root, 'logs') }),
  });
  return { pages, clock, [Symbol.asyncDispose]: () => harness[Symbol.asyncDispose]() };
}

async function textOf(page: Promise<readonly Uint8Array[]>): Promise<string> {
  return Buffer.concat(await page).toString();
}

async function volumesOf(pages: UsagePages): Promise<unknown> {
  const { pods } = JSON.parse(await pages.summary(signal)) as { pods: { volume?: unknown }[] };
  return pods[0]?.volume;
}

it('knows what volumes hold also after a look that has failed', async () => {
  const volume = join(root, 'pods/u1/volumes/kubernetes.io~empty-dir/data');
  await mkdir(volume, { recursive: true });
  await writeFile(join(volume, 'file'), 'x'.repeat(70_000));
  let fails = false;
  await using h = await start({
    listPodSandboxStats: (call, reply) =>
      fails ? reply({ code: status.INTERNAL, details: 'broken' }) : LISTS_POD(call, reply),
  });
  const held = [expect.objectContaining({ name: 'data', usedBytes: expect.any(Number) as number })];
  await vi.waitFor(async () => expect(await volumesOf(h.pages)).toEqual(held), 5_000);
  fails = true;
  await h.clock.advance(1_000);
  // Its last numbers, for two minutes.
  expect(await volumesOf(h.pages)).toEqual(held);
  await h.clock.advance(120_000);
  expect(JSON.parse(await h.pages.summary(signal))).toMatchObject({ pods: [] });
  fails = false;
  await h.clock.advance(1_000);
  // The first answer after it, which waits for nothing that is counted.
  expect(await volumesOf(h.pages)).toEqual(held);
});

it('makes the page of cAdvisor’s names at most once a second', async () => {
  let lists = 0;
  await using h = await start({
    listPodSandboxStats: LISTS_POD,
    listMetricDescriptors: (_call, reply) => reply(null, cri.ListMetricDescriptorsResponse.create()),
    listPodSandboxMetrics: (_call, reply) => {
      lists++;
      reply(null, cri.ListPodSandboxMetricsResponse.create());
    },
  });
  const first = await h.pages.cadvisor(signal);
  expect(await h.pages.cadvisor(signal)).toBe(first);
  expect(lists).toBe(1);
  await h.clock.advance(1_000);
  await h.pages.cadvisor(signal);
  expect(lists).toBe(2);
});

it('waits for a runtime whose answers are slow no longer than one deadline, however many a page needs', async () => {
  const asked: string[] = [];
  let answer = (): void => undefined;
  await using h = await start({
    listPodSandboxStats: LISTS_POD,
    listMetricDescriptors: (_call, reply) => {
      asked.push('descriptors');
      answer = () => reply(null, cri.ListMetricDescriptorsResponse.create());
    },
    listPodSandboxMetrics: () => void asked.push('metrics'),
  });
  const page = textOf(h.pages.cadvisor(signal));
  await vi.waitFor(() => expect(asked).toEqual(['descriptors']));
  await h.clock.advance(7_000);
  answer();
  await vi.waitFor(() => expect(asked).toEqual(['descriptors', 'metrics']));
  await h.clock.advance(1_500);
  expect(await page).toContain('container_cpu_usage_seconds_total{container="",id="s1"');
});
