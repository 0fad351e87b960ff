import { expect, it } from 'vitest';
import { type RuntimeMetrics, type RuntimeSample } from '../../../watch/observed/pod-usage.js';
import { NODE_USAGE } from '#support/builders/usage-builders.js';
import { CgroupLayout } from '#base/proc/cgroups/cgroup-layout.js';
import { type CgroupIo } from '#base/proc/cgroups/cgroup-io.js';
import { COMMON_LABELS } from '#base/proc/usage/usage-metric.js';
import { type CadvisorHarness, type CadvisorSubject, renderCadvisorPage } from './cadvisor-page.js';
import { nodeFacts, readFacts } from './group-facts.js';

const NO_GROUPS = new CgroupLayout({} as CgroupIo, []);
const MACHINE = { machineId: 'm', systemUuid: 'u', bootId: 'b', cores: 4, physicalCores: 2, sockets: 1 };
const AT_MS = 1_700_000_000_000;
const LOOK = { atMs: AT_MS, node: NODE_USAGE, pods: [], problem: undefined };

const bare = { layout: NO_GROUPS, group: undefined, limits: undefined, startedAtNs: 0n, disk: undefined };
const clock = { now: () => AT_MS };
const NOTHING_OF_MEMORY = {
  ...{ usageBytes: undefined, availableBytes: undefined, rssBytes: undefined },
  ...{ pageFaults: undefined, majorPageFaults: undefined },
};
const measured = {
  cpu: { atMs: AT_MS, totalNs: 1_250_000_000, nanoCores: 1, pressure: undefined },
  memory: undefined,
};
const MAIN: CadvisorSubject = {
  runtimeId: 'c1',
  labels: { container: 'main', id: '/kube/c1', image: 'app:1', name: 'c1', namespace: 'shop', pod: 'web' },
  ...(await readFacts(measured, { ...bare, clock, isOver: () => false })),
  network: undefined,
};
const ROOT: CadvisorSubject = {
  runtimeId: '',
  labels: { container: '', id: '/', image: '', name: '', namespace: '', pod: '' },
  ...nodeFacts(NODE_USAGE),
  network: undefined,
};

function reading(samples: readonly RuntimeSample[]): RuntimeMetrics['readSamples'] {
  return (isWanted) => Promise.resolve(samples.filter(({ subjectId, name }) => isWanted(subjectId, name)));
}

function ofRuntime(...samples: readonly [name: string, container: string, value: number][]): RuntimeMetrics {
  return {
    descriptors: new Map(
      samples.map(([name]) => [name, { help: `About ${name}.`, labelKeys: COMMON_LABELS }]),
    ),
    readSamples: reading(
      samples.map(([name, container, value]): RuntimeSample => ({
        ...{ name, value, subjectId: 'c1', type: 'gauge', atMs: AT_MS },
        labelValues: [container, 'c1', 'app:1', 'c1', 'shop', 'web'],
      })),
    ),
  };
}

async function textOf(scene: Partial<CadvisorHarness>): Promise<string> {
  const pieces = await renderCadvisorPage({
    ...{ look: LOOK, subjects: [ROOT, MAIN], machine: MACHINE, runtimeMetrics: undefined },
    ...scene,
  });
  return Buffer.concat(pieces).toString();
}

async function linesOf(scene: Partial<CadvisorHarness>): Promise<string[]> {
  const text = await textOf(scene);
  return text.split('\n').filter((line) => !line.startsWith('#'));
}

it('shows what a container and the node use by cAdvisor’s names, in seconds with their fractions', async () => {
  const lines = await linesOf({});
  expect(lines).toContain(
    'container_cpu_usage_seconds_total{container="main",id="/kube/c1",image="app:1",name="c1",namespace="shop",pod="web",cpu="total"} 1.25 1700000000000',
  );
  expect(lines).toContain(
    'container_memory_working_set_bytes{container="",id="/",image="",name="",namespace="",pod=""} 6442450944 1700000000000',
  );
  expect(lines).toContain('machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="u"} 4 1700000000000');
  expect(lines).toContain('container_scrape_error 0');
  // Nobody has reported its memory.
  expect(lines.filter((line) => line.startsWith('container_memory_rss{container="main"'))).toEqual([]);
});

it('takes over from the runtime what it does not know itself, and nothing else', async () => {
  const lines = await linesOf({
    runtimeMetrics: ofRuntime(
      ['container_cpu_usage_seconds_total', 'main', 1],
      ['container_sockets', 'main', 7],
      ['container_of_its_own', 'main', 8],
      ['bad name', 'main', 9],
    ),
  });
  const labels = '{container="main",id="/kube/c1",image="app:1",name="c1",namespace="shop",pod="web"}';
  expect(
    lines.filter((line) => line.startsWith('container_cpu_usage_seconds_total{container="main"')),
  ).toHaveLength(1);
  expect(lines).toContain(`container_sockets${labels} 7 1700000000000`);
  expect(lines).toContain(`container_of_its_own${labels} 8 1700000000000`);
  expect(lines.join('\n')).not.toContain('bad name');
});

it('joins the runtime’s values by their ids, where its labels name no pod', async () => {
  const labelKeys = ['id', 'name', 'image', 'device'];
  const sample = (subjectId: string, name: string, value: number): RuntimeSample => ({
    ...{ subjectId, name, value, type: 'counter', atMs: AT_MS },
    labelValues: [subjectId, 'POD', '', 'sda'],
  });
  const runtimeMetrics: RuntimeMetrics = {
    descriptors: new Map(
      ['container_cpu_usage_seconds_total', 'container_fs_reads_total'].map((name) => [
        name,
        { help: '', labelKeys: name.includes('cpu') ? labelKeys.slice(0, 3) : labelKeys },
      ]),
    ),
    readSamples: reading([
      sample('c1', 'container_cpu_usage_seconds_total', 1),
      sample('c1', 'container_fs_reads_total', 2),
      // One that has ended.
      sample('c0', 'container_fs_reads_total', 3),
    ]),
  };
  const lines = await linesOf({ runtimeMetrics });
  const of = (name: string): string[] => lines.filter((line) => line.startsWith(`${name}{`));
  expect(of('container_cpu_usage_seconds_total')).toHaveLength(2);
  expect(of('container_fs_reads_total')).toEqual([
    'container_fs_reads_total{container="main",id="/kube/c1",image="app:1",name="c1",namespace="shop",pod="web",device="sda"} 2 1700000000000',
  ]);
  const failed = await linesOf({ runtimeMetrics, look: { ...LOOK, problem: 'no answer' }, subjects: [ROOT] });
  expect(failed.filter((line) => line.startsWith('container_fs_reads_total{'))).toEqual([
    'container_fs_reads_total{id="c1",name="POD",image="",device="sda"} 2 1700000000000',
    'container_fs_reads_total{id="c0",name="POD",image="",device="sda"} 3 1700000000000',
  ]);
});

it('begins no family twice, whatever the runtime makes', async () => {
  const names = ['machine_cpu_cores', 'machine_scrape_error', 'container_scrape_error', 'machine_of_its_own'];
  const runtimeMetrics = ofRuntime(...names.map((name) => [name, 'main', 7] as [string, string, number]));
  const text = await textOf({ runtimeMetrics });
  const begun = text.split('\n').filter((line) => line.startsWith('# TYPE'));
  expect(new Set(begun).size).toBe(begun.length);
  expect(text).toContain('machine_of_its_own');
  expect(text).toContain('\ncontainer_scrape_error 0\n');
});

it('leaves out what nobody reported, and does not make it zero', async () => {
  const told = ['container_cpu_usage_seconds_total', 'container_last_seen'];
  const lines = await linesOf({ subjects: [MAIN] });
  expect(lines.filter((line) => line.includes('container="main"')).map((line) => line.split('{')[0])).toEqual(
    told,
  );
});

it('has the time at which each number was measured, also when the runtime was slow to report', async () => {
  const late = { now: () => AT_MS + 8_000 };
  const memory = { atMs: AT_MS + 5, workingSetBytes: 1, pressure: undefined };
  const slow = await readFacts(
    { ...measured, memory: { ...NOTHING_OF_MEMORY, ...memory } },
    { ...bare, clock: late, isOver: () => false },
  );
  const lines = await linesOf({ subjects: [{ ...MAIN, ...slow }] });
  const timeOf = (name: string): string | undefined =>
    lines
      .find((line) => line.startsWith(`${name}{`))
      ?.split(' ')
      .at(-1);
  expect(timeOf('container_cpu_usage_seconds_total')).toBe(String(AT_MS));
  expect(timeOf('container_memory_working_set_bytes')).toBe(String(AT_MS + 5));
  expect(timeOf('container_last_seen')).toBe(String(AT_MS + 8_000));
});

it('has the node and an error when the runtime did not report pods', async () => {
  const lines = await linesOf({ look: { ...LOOK, problem: 'no answer' }, subjects: [ROOT] });
  expect(lines).toContain('container_scrape_error 1');
  expect(lines).toContain('machine_scrape_error 0');
});
