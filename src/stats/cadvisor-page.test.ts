import { expect, it } from 'vitest';
import { type RuntimeMetrics, type RuntimeSample } from '../runtime/pod-usage.js';
import { NODE_USAGE } from '../testing/usage-builders.js';
import { CgroupLayout } from '../util/cgroups/cgroup-layout.js';
import { type CgroupIo } from '../util/cgroups/cgroup-io.js';
import { COMMON_LABELS } from '../util/usage/usage-metric.js';
import { type CadvisorScene, type CadvisorSubject, renderCadvisorPage } from './cadvisor-page.js';
import { nodeFacts, readFacts } from './group-facts.js';

const NO_GROUPS = new CgroupLayout({} as CgroupIo, []);
const MACHINE = { machineId: 'm', systemUuid: 'u', bootId: 'b', cores: 4, physicalCores: 2, sockets: 1 };
const AT_MS = 1_700_000_000_000;
const LOOK = { atMs: AT_MS, node: NODE_USAGE, pods: [], problem: undefined };

const reading = { layout: NO_GROUPS, group: undefined, limits: undefined, startedAtNs: 0n, disk: undefined };
const measured = {
  cpu: { atMs: AT_MS, totalNs: 1_250_000_000, nanoCores: 1, pressure: undefined },
  memory: undefined,
};
const MAIN: CadvisorSubject = {
  labels: { container: 'main', id: '/kube/c1', image: 'app:1', name: 'c1', namespace: 'shop', pod: 'web' },
  facts: await readFacts(measured, { ...reading, seenAtMs: AT_MS, isOver: () => false }),
  network: [],
};
const ROOT: CadvisorSubject = {
  labels: { container: '', id: '/', image: '', name: '', namespace: '', pod: '' },
  facts: nodeFacts(NODE_USAGE),
  network: [],
};

function ofRuntime(...samples: readonly [name: string, container: string, value: number][]): RuntimeMetrics {
  return {
    descriptors: new Map(
      samples.map(([name]) => [name, { help: `About ${name}.`, labelKeys: COMMON_LABELS }]),
    ),
    samples: samples.map(([name, container, value]): RuntimeSample => ({
      ...{ name, value, type: 'gauge', atMs: AT_MS },
      labelValues: [container, 'c1', 'app:1', 'c1', 'shop', 'web'],
    })),
  };
}

async function linesOf(scene: Partial<CadvisorScene>): Promise<string[]> {
  const text = await renderCadvisorPage({
    ...{ look: LOOK, subjects: [ROOT, MAIN], machine: MACHINE, runtimeMetrics: undefined },
    ...scene,
  });
  return text.split('\n').filter((line) => !line.startsWith('#'));
}

it('tells what a container and the node use by cAdvisor’s names, in seconds with their fractions', async () => {
  const lines = await linesOf({});
  expect(lines).toContain(
    'container_cpu_usage_seconds_total{container="main",id="/kube/c1",image="app:1",name="c1",namespace="shop",pod="web",cpu="total"} 1.25 1700000000000',
  );
  expect(lines).toContain(
    'container_memory_working_set_bytes{container="",id="/",image="",name="",namespace="",pod=""} 6442450944 1700000000000',
  );
  expect(lines).toContain('machine_cpu_cores{boot_id="b",machine_id="m",system_uuid="u"} 4 1700000000000');
  expect(lines).toContain('container_scrape_error 0');
  // Nobody has told of its memory.
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
  const labels = '{container="main",id="c1",image="app:1",name="c1",namespace="shop",pod="web"}';
  expect(
    lines.filter((line) => line.startsWith('container_cpu_usage_seconds_total{container="main"')),
  ).toHaveLength(1);
  expect(lines).toContain(`container_sockets${labels} 7 1700000000000`);
  expect(lines).toContain(`container_of_its_own${labels} 8 1700000000000`);
  expect(lines.join('\n')).not.toContain('bad name');
});

it('has the node and an error when the runtime did not tell of pods', async () => {
  const lines = await linesOf({ look: { ...LOOK, problem: 'no answer' }, subjects: [ROOT] });
  expect(lines).toContain('container_scrape_error 1');
  expect(lines).toContain('machine_scrape_error 0');
});
