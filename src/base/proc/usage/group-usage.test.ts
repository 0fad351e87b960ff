import { describe, expect, it } from 'vitest';
import { type CgroupIo } from '../cgroups/cgroup-io.js';
import { CgroupLayout } from '../cgroups/cgroup-layout.js';
import { CONTAINER_METRICS, type ContainerFacts } from './container-metrics.js';
import { readGroupUsage, type UsageDetail } from './group-usage.js';

/** Names in memory.stat and memory.events of version 2, with the metric of each. */
const STAT_V2 = {
  file_dirty: 'container_memory_file_dirty_bytes',
  file_writeback: 'container_memory_file_writeback_bytes',
  pgscan: 'container_memory_pgscan_total',
  pgsteal: 'container_memory_pgsteal_total',
  workingset_refault_file: 'container_memory_workingset_refault_file_total',
  workingset_refault_anon: 'container_memory_workingset_refault_anon_total',
} as const;
const EVENTS_V2 = {
  high: 'container_memory_events_high_total',
  max: 'container_memory_events_max_total',
} as const;
const STAT_V1 = {
  total_dirty: STAT_V2.file_dirty,
  total_writeback: STAT_V2.file_writeback,
  total_workingset_refault_file: STAT_V2.workingset_refault_file,
  total_workingset_refault_anon: STAT_V2.workingset_refault_anon,
} as const;

/** Gives each name a different number, among names with similar beginnings or ends. */
function table(names: readonly string[], from: number): { text: string; values: Map<string, bigint> } {
  const values = new Map(names.map((name, index) => [name, BigInt(from + index * 7)]));
  const lines = [...values].flatMap(([name, value]) => [
    `${name}_direct 1`,
    `${name} ${value}`,
    `x_${name} 2`,
  ]);
  return { text: `${lines.join('\n')}\n`, values };
}

function readMetrics(
  version: 1 | 2,
  files: Readonly<Record<string, string>>,
  detail: UsageDetail = 'metrics',
): ReadonlyMap<string, bigint | undefined> {
  const read = (path: string): string | undefined => files[path.slice('/cg/pod/'.length)];
  const hierarchy = { version, mountpoint: '/cg', controllers: ['memory', 'pids', 'cpu'] };
  const layout = new CgroupLayout({ read } as unknown as CgroupIo, [hierarchy]);
  const usage = readGroupUsage(layout, '/pod', detail);
  const facts = { usage, limits: {} } as unknown as ContainerFacts;
  const wanted = new Set<string>([...Object.values(STAT_V2), ...Object.values(EVENTS_V2)]);
  const metrics = CONTAINER_METRICS.filter(({ name }) => wanted.has(name));
  return new Map(metrics.map(({ name, read: values }) => [name, [...values(facts)][0]?.value]));
}

const expected = (
  values: ReadonlyMap<string, bigint>,
  names: Readonly<Record<string, string>>,
): [string, bigint][] => [...values].map(([name, value]) => [names[name]!, value]);

describe("the kernel's reclaim of a group's memory", () => {
  it.each([1, 1_000, 2 ** 40])('is read from the files of version 2, numbers from %i on', (from) => {
    const stat = table(Object.keys(STAT_V2), from);
    const events = table(Object.keys(EVENTS_V2), from + 100);
    const metrics = readMetrics(2, {
      'memory.current': '1',
      ...{ 'memory.stat': stat.text, 'memory.events': events.text },
    });
    expect([...metrics].sort()).toEqual(
      [...expected(stat.values, STAT_V2), ...expected(events.values, EVENTS_V2)].sort(),
    );
  });

  it('is on version 1 what that counts, and nothing else', () => {
    const stat = table(Object.keys(STAT_V1), 5);
    const metrics = readMetrics(1, { 'memory.usage_in_bytes': '1', 'memory.stat': stat.text });
    const known = [...metrics].filter(([, value]) => value !== undefined);
    expect(known.sort()).toEqual(expected(stat.values, STAT_V1).sort());
    expect(metrics.size).toBe(8);
    const unknown = [...metrics].flatMap(([name, value]) => (value === undefined ? [name] : []));
    const marked = CONTAINER_METRICS.flatMap(({ name, cgroupVersion }) =>
      cgroupVersion === 2 ? [name] : [],
    );
    expect(marked.sort()).toEqual(unknown.sort());
  });

  it('is omitted if a kernel does not count it', () => {
    expect(new Set(readMetrics(2, { 'memory.current': '1' }).values())).toEqual(new Set([undefined]));
    expect(new Set(readMetrics(2, {}).values())).toEqual(new Set([undefined]));
  });
});
