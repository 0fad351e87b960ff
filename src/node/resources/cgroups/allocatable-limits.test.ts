import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { RESERVE_OPTIONS, type ReserveOptions } from '../../options/reserve-options.js';
import { AllocatableLimits, computeForPods, type MachineAmounts, toGroupPath } from './allocatable-limits.js';
import { GroupLimits } from './group-limits.js';
import { GroupTrees } from './group-trees.js';

const NEVER = new AbortController().signal;
const GIB = 1024n ** 3n;
const MACHINE: MachineAmounts = { cores: 4, memoryBytes: 8n * GIB, pids: 32_768n };
const PODS = '/podloop/ab/kubepods';
const ABOVE = ['/podloop', '/podloop/ab'];

const optionsWith = (options: Partial<ReserveOptions>): ReserveOptions => ({
  ...(Object.fromEntries(
    Object.entries(RESERVE_OPTIONS).map(([name, facts]) => [name, facts.default]),
  ) as unknown as ReserveOptions),
  ...options,
});
const RESERVED = optionsWith({
  systemReserved: { cpu: '500m', memory: '1Gi', pid: '1000' },
  kubeReserved: { cpu: '500m', memory: '512Mi', pid: '768' },
});

const trees: FolderCgroups[] = [];
afterEach(async () => {
  for (const each of trees.splice(0)) await each[Symbol.asyncDispose]();
});

async function makeHarness(versions: 'v2' | 'hybrid', options: ReserveOptions) {
  const folders = await FolderCgroups.make(versions);
  trees.push(folders);
  const bench = {
    ...{
      folders,
      machine: MACHINE,
      readings: 0,
      slices: [] as string[],
      sliceError: undefined as Error | undefined,
    },
    ...{
      clock: new FakeClock(),
      logger: new LogRecorder(),
      trees: new GroupTrees(folders.mountinfo, folders),
    },
  };
  const open = (more: ReserveOptions = options): AllocatableLimits =>
    new AllocatableLimits({
      options: more,
      readMachine: () => {
        bench.readings++;
        return Promise.resolve(bench.machine);
      },
      setSlice: (slice, properties) => {
        bench.slices.push([slice, ...properties].join(' '));
        return bench.sliceError === undefined ? Promise.resolve() : Promise.reject(bench.sliceError);
      },
      trees: bench.trees,
      limits: new GroupLimits(folders.mountinfo, folders),
      clock: bench.clock,
      logger: bench.logger,
    });
  return Object.assign(bench, { open, limits: open() });
}

describe('the group of all pods', () => {
  it('gets what the machine has without what is reserved, on version 2', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, ABOVE, NEVER);
    const show = (file: string): string | undefined => bench.folders.show('unified', PODS, file);
    expect(show('memory.max')).toBe(String(8n * GIB - GIB - GIB / 2n));
    expect(show('pids.max')).toBe('31000');
    // Three cores: 3,072 shares.
    expect(show('cpu.weight')).toBe('118');
    for (const group of ABOVE) {
      expect(bench.folders.show('unified', group, 'cpu.weight')).toBe('118');
      expect(bench.folders.show('unified', group, 'memory.max') ?? 'max').toBe('max');
    }
  });

  it('gets the same on version 1', async () => {
    const bench = await makeHarness('hybrid', RESERVED);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, ABOVE, NEVER);
    expect(bench.folders.show('memory', PODS, 'memory.limit_in_bytes')).toBe(
      String(8n * GIB - GIB - GIB / 2n),
    );
    expect(bench.folders.show('cpu', PODS, 'cpu.shares')).toBe('3072');
  });

  it('gets it from systemd where it is a slice, once', async () => {
    const bench = await makeHarness('v2', RESERVED);
    const path = '/podloop.slice/podloop-kubepods.slice';
    for (let time = 0; time < 3; time++) await bench.limits.limitPods(path, ['/podloop.slice'], NEVER);
    expect(bench.slices).toEqual([
      'podloop.slice CPUWeight=118',
      `podloop-kubepods.slice CPUWeight=118 MemoryMax=${8n * GIB - GIB - GIB / 2n} TasksMax=31000`,
    ]);
    await bench.limits.forget(path, NEVER);
    expect(bench.slices.at(-1)).toBe('podloop-kubepods.slice');
    await bench.limits.forget(path, NEVER);
    expect(bench.slices).toHaveLength(3);
  });

  it('follows a machine that is given more or less, within a minute', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    bench.machine = { cores: 2, memoryBytes: 4n * GIB, pids: 32_768n };
    await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.readings).toBe(1);
    await bench.clock.advance(60_000);
    await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.folders.show('unified', PODS, 'memory.max')).toBe(String(4n * GIB - GIB - GIB / 2n));
    expect(bench.folders.show('unified', PODS, 'cpu.weight')).toBe('39');
  });

  it('is limited again when it was removed and made again', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    await bench.trees.removeEmpty(PODS);
    await bench.limits.forget(PODS, NEVER);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.folders.show('unified', PODS, 'pids.max')).toBe('31000');
  });

  it('stays as it is where nothing is reserved, and loses the limits of an earlier run', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    const nothing = bench.open(optionsWith({}));
    await nothing.limitPods(PODS, ABOVE, NEVER);
    expect(bench.folders.show('unified', PODS, 'cpu.weight') ?? '100').toBe('100');
    await bench.limits.limitPods(PODS, [], NEVER);
    await bench.open(optionsWith({})).limitPods(PODS, ABOVE, NEVER);
    expect(bench.folders.show('unified', PODS, 'memory.max')).toBe('max');
    expect(bench.folders.show('unified', PODS, 'pids.max')).toBe('max');
  });

  it('is limited again when somebody else has made it again, which is no news', async () => {
    const bench = await makeHarness('v2', RESERVED);
    const events: string[] = [];
    bench.limits.onEvent(({ reason }) => events.push(reason));
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    await bench.trees.removeEmpty(PODS);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.folders.show('unified', PODS, 'pids.max')).toBe('31000');
    expect(events).toEqual(['NodeAllocatableEnforced']);
  });

  it('keeps its limits when a machine shrinks to what is reserved: with none left the kernel would end all', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    await bench.limits.limitPods(PODS, [], NEVER);
    bench.machine = { ...MACHINE, memoryBytes: GIB };
    await bench.clock.advance(60_000);
    for (let call = 0; call < 3; call++) await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.folders.show('unified', PODS, 'memory.max')).toBe(String(8n * GIB - GIB - GIB / 2n));
    expect(bench.logger.complaints.map(({ fields }) => fields['err'])).toEqual([
      'what is reserved leaves no memory to pods',
    ]);
  });

  it('that is a slice is not limited below what it uses either', async () => {
    const bench = await makeHarness('v2', RESERVED);
    const path = '/podloop.slice/podloop-kubepods.slice';
    await bench.trees.make(path);
    await bench.folders.set('unified', path, 'memory.current', String(7n * GIB));
    await bench.limits.limitPods(path, [], NEVER);
    expect(bench.slices).toEqual([]);
    await bench.folders.set('unified', path, 'memory.stat', `inactive_file ${GIB}\n`);
    await bench.limits.limitPods(path, [], NEVER);
    expect(bench.slices).toHaveLength(1);
  });

  it('is not limited below what it uses, which would kill: that is said once, and tried again', async () => {
    const bench = await makeHarness('v2', RESERVED);
    await bench.trees.make(PODS);
    await bench.folders.write(`${bench.folders.root}/unified${PODS}/memory.current`, String(7n * GIB));
    await bench.limits.limitPods(PODS, [], NEVER);
    await bench.limits.limitPods(PODS, [], NEVER);
    const said = bench.logger.complaints.filter(
      ({ message }) => message === 'Limits of all pods together are not set',
    );
    expect(said).toHaveLength(1);
    await bench.folders.write(`${bench.folders.root}/unified${PODS}/memory.current`, String(GIB));
    await bench.limits.limitPods(PODS, [], NEVER);
    expect(bench.folders.show('unified', PODS, 'memory.max')).toBe(String(8n * GIB - GIB - GIB / 2n));
  });
});

it('reports to the Node what was limited, from before anybody listened on, and each failure once', async () => {
  const bench = await makeHarness('v2', {
    ...RESERVED,
    ...{ enforceNodeAllocatable: ['pods', 'system-reserved'], systemReservedCgroup: '/system.slice' },
  });
  await bench.trees.make('/system.slice');
  await bench.limits.enforceReserved(NEVER);
  const events: string[] = [];
  bench.limits.onEvent(({ type, reason, message }) => events.push(`${type} ${reason}: ${message}`));
  expect(events).toEqual([
    'Normal NodeAllocatableEnforced: Updated limits on system reserved cgroup /system.slice',
  ]);
  bench.sliceError = new Error('Access denied');
  for (let call = 0; call < 3; call++) await bench.limits.limitPods('/pods.slice', [], NEVER);
  bench.sliceError = undefined;
  for (let call = 0; call < 3; call++) await bench.limits.limitPods('/pods.slice', [], NEVER);
  expect(events.slice(1)).toEqual([
    'Warning FailedNodeAllocatableEnforcement: Failed to update Node Allocatable Limits "/pods.slice": Access denied',
    'Normal NodeAllocatableEnforced: Updated Node Allocatable limit across pods',
  ]);
});

describe('the groups of the system and of agents', () => {
  const both = {
    ...{
      systemReserved: { cpu: '1', memory: '1Gi', pid: '500' },
      kubeReserved: { cpu: '500m', memory: '2Gi' },
    },
    ...{ systemReservedCgroup: '/system.slice', kubeReservedCgroup: '/kube/agents' },
  };

  it('get what is reserved for them, whole or the share of the CPU alone', async () => {
    const words = ['pods', 'system-reserved', 'kube-reserved-compressible'];
    const bench = await makeHarness('v2', optionsWith({ ...both, enforceNodeAllocatable: words }));
    await bench.trees.make('/system.slice');
    await bench.trees.make('/kube/agents');
    await bench.limits.enforceReserved(NEVER);
    expect(bench.slices).toEqual([
      `system.slice CPUWeight=39 MemoryMax=${GIB} MemoryMin=${GIB} TasksMax=500`,
    ]);
    expect(bench.folders.show('unified', '/kube/agents', 'cpu.weight')).toBe('20');
    expect(bench.folders.show('unified', '/kube/agents', 'memory.max') ?? 'max').toBe('max');
    expect(bench.folders.show('unified', '/kube/agents', 'memory.min')).toBe('0');
  });

  it('have their memory kept for them by the kernel, on version 2', async () => {
    const bench = await makeHarness(
      'v2',
      optionsWith({ ...both, enforceNodeAllocatable: ['kube-reserved'] }),
    );
    await bench.trees.make('/kube/agents');
    await bench.folders.set('unified', '/kube/agents', 'memory.low', '77');
    await bench.limits.enforceReserved(NEVER);
    const show = (file: string): string | undefined => bench.folders.show('unified', '/kube/agents', file);
    expect([show('memory.max'), show('memory.min'), show('memory.low')]).toEqual([
      ...[String(2n * GIB), String(2n * GIB), '77'],
    ]);
  });

  it.each([
    [{ systemReserved: { memory: '6Gi' }, kubeReserved: { memory: '3Gi' } }, 'memory: 9Gi', '8Gi'],
    [{ systemReserved: { cpu: '4100m' } }, 'cpu: 4100m', '4000m'],
    [{ reservedSystemCpus: '0-7' }, 'cpu: 8000m', '4000m'],
    [{ kubeReserved: { pid: '32769' } }, 'pid: 32769', '32768'],
  ])('fail the start where more is reserved than there is: %j', async (reserved, wanted, all) => {
    const bench = await makeHarness('v2', optionsWith(reserved));
    await expect(bench.limits.enforceReserved(NEVER)).rejects.toThrow(
      `--system-reserved, --kube-reserved: ${wanted} is reserved, and this machine has ${all}; reserve less`,
    );
    const exact = await makeHarness('v2', optionsWith({ systemReserved: { memory: '8Gi', cpu: '4' } }));
    await exact.limits.enforceReserved(NEVER);
  });

  it.each([
    ['system-reserved', '--system-reserved-cgroup: there is no cgroup /system.slice on this machine'],
    ['kube-reserved', '--kube-reserved-cgroup: there is no cgroup /kube/agents on this machine'],
    ['kube-reserved-compressible', '--kube-reserved-compressible-cgroup: there is no cgroup /kube/agents'],
  ])('fail the start where they are missing: %s', async (word, message) => {
    const bench = await makeHarness('v2', optionsWith({ ...both, enforceNodeAllocatable: [word] }));
    const whole = message.replace('-compressible-cgroup', '-cgroup');
    await expect(bench.limits.enforceReserved(NEVER)).rejects.toThrow(whole);
  });

  it('fail the start where they cannot be limited, with the reason', async () => {
    const bench = await makeHarness(
      'v2',
      optionsWith({ ...both, enforceNodeAllocatable: ['system-reserved'] }),
    );
    await bench.trees.make('/system.slice');
    bench.sliceError = new Error('Access denied');
    await expect(bench.limits.enforceReserved(NEVER)).rejects.toThrow(
      '/system.slice cannot be limited: Access denied',
    );
  });

  it('are left alone where nobody asks for more than pods', async () => {
    const bench = await makeHarness('v2', optionsWith(both));
    await bench.limits.enforceReserved(NEVER);
    expect(bench.slices).toEqual([]);
  });
});

it.each([
  ['/system.slice', '/system.slice'],
  ['system.slice', '/system.slice'],
  ['/a-b.slice', '/a.slice/a-b.slice'],
  ['/a.slice/a-b.slice', '/a.slice/a-b.slice'],
  ['/kube/agents/', '/kube/agents'],
])('a group is found by the path that people write: %s', (written, path) => {
  expect(toGroupPath(written)).toBe(path);
});

it('pods never get more than the machine has, and nothing below zero', () => {
  const amount = fc.bigInt({ min: 0n, max: 16n * GIB });
  fc.assert(
    fc.property(amount, amount, fc.nat(16_000), (system, kube, milli) => {
      const options = optionsWith({
        systemReserved: { memory: String(system), cpu: `${milli}m` },
        kubeReserved: { memory: String(kube) },
      });
      const { memoryBytes = 'max', cpuShares } = computeForPods(options, MACHINE) ?? { cpuShares: 2n };
      const gone = system + kube;
      const left = gone < MACHINE.memoryBytes ? MACHINE.memoryBytes - gone : 0n;
      expect(memoryBytes).toBe(gone === 0n ? 'max' : left);
      expect(cpuShares >= 2n && cpuShares <= 4_096n).toBe(true);
    }),
  );
});

it('nothing is limited when the options say none', () => {
  expect(computeForPods({ ...RESERVED, enforceNodeAllocatable: ['none'] }, MACHINE)).toBeUndefined();
  expect(computeForPods({ ...RESERVED, enforceNodeAllocatable: [] }, MACHINE)).toBeUndefined();
});
