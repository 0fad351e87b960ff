import { cpus } from 'node:os';
import { expect, it } from 'vitest';
import { NODE_USAGE } from '#support/builders/usage-builders.js';
import { countProcessors, countSockets, machineMetrics, readMachineFacts } from './machine-stats.js';

function processor(number: number, socket: number, core: number): string {
  return `processor\t: ${number}\nphysical id\t: ${socket}\nsiblings\t: 2\ncore id\t\t: ${core}\ncpu cores\t: 1\n`;
}

it('counts processors, cores and sockets, two threads of a core once', () => {
  const cpuinfo = [processor(0, 0, 0), processor(1, 0, 0), processor(2, 1, 0), processor(3, 1, 4)].join('\n');
  expect(countProcessors(cpuinfo)).toBe(4);
  expect(countSockets(cpuinfo)).toEqual({ physicalCores: 3, sockets: 2 });
});

it('knows neither where the kernel does not report them', () => {
  expect(countProcessors('')).toBeUndefined();
  expect(countSockets('processor\t: 0\nBogoMIPS\t: 50.00\n')).toEqual({
    ...{ physicalCores: undefined, sockets: undefined },
  });
});

it('has the names and labels of cAdvisor, and no value for what is not known', () => {
  const facts = {
    ...{ machineId: 'm', systemUuid: 'u', bootId: 'b' },
    ...{ cores: 4, physicalCores: undefined, sockets: 1 },
  };
  const rows = machineMetrics(facts, NODE_USAGE.memory);
  expect(rows.map(({ family, value }) => [family.name, value])).toEqual([
    ['machine_cpu_cores', 4],
    ['machine_cpu_physical_cores', undefined],
    ['machine_cpu_sockets', 1],
    ['machine_memory_bytes', 16 * 2 ** 30],
    ['machine_swap_bytes', 2 ** 30],
  ]);
  for (const { labels } of rows) expect(labels).toEqual({ boot_id: 'b', machine_id: 'm', system_uuid: 'u' });
});

it('reads the whole machine, although this process may use less of it', async () => {
  const { cores, bootId } = await readMachineFacts();
  expect(cores).toBe(cpus().length);
  expect(bootId).toMatch(/^[-0-9a-f]{36}$/);
});
