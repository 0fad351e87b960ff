import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { expect, it } from 'vitest';
import { readNodeRoom, readNodeUsage } from './node-usage.js';

const FILES = {
  stat: 'cpu  100 20 30 9999 50 1 2 3 40 5\ncpu0 1 1 1 1 1 1 1 1 1 1\nbtime 1700000000\n',
  meminfo:
    'MemTotal:        1000 kB\nMemFree:          400 kB\nInactive(file):   150 kB\nAnonPages:        120 kB\nCached: 200 kB\nMapped: 7 kB\nSwapTotal: 50 kB\nSwapFree: 20 kB\n',
  vmstat: 'pgfault 77\npgmajfault 7\noom_kill 3\n',
  'net/dev': `Inter-|   Receive\n face |bytes\n  lo: ${'1 '.repeat(16)}\n  wlan0: ${'1 '.repeat(16)}\n  eth0: 10 2 3 0 0 0 0 0 20 5 6 0 0 0 0 0\n veth1: ${'1 '.repeat(16)}\n`,
  'net/route': 'Iface\tDestination\tGateway\neth0\t00000000\t0100000A\nwlan0\t0000000A\t00000000\n',
  'pressure/memory':
    'some avg10=1.50 avg60=0.50 avg300=0.10 total=7000\nfull avg10=0.50 avg60=0.00 avg300=0.00 total=3000\n',
  'pressure/cpu': 'some avg10=2.00 avg60=0.00 avg300=0.00 total=9\n',
  loadavg: '0.1 0.2 0.3 2/345 6789\n',
  'sys/kernel/pid_max': '32768\n',
  'sys/kernel/threads-max': '1000\n',
};

it('reads what the node uses from /proc', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podloop-proc-'));
  try {
    for (const [name, text] of Object.entries(FILES)) {
      await mkdir(dirname(join(root, name)), { recursive: true });
      await writeFile(join(root, name), text);
    }
    expect(await readNodeUsage(5, root)).toEqual({
      atMs: 5,
      cpuTotalNs: (100 + 20 + 30 + 1 + 2 + 3) * 1e7,
      memory: {
        capacityBytes: 1000 * 1024,
        usageBytes: 600 * 1024,
        workingSetBytes: 450 * 1024,
        availableBytes: 550 * 1024,
        rssBytes: 120 * 1024,
        cacheBytes: 200 * 1024,
        mappedBytes: 7 * 1024,
        pageFaults: 77,
        majorPageFaults: 7,
        oomKills: 3,
        swapBytes: 50 * 1024,
        swapUsageBytes: 30 * 1024,
      },
      interfaces: [
        { name: 'eth0', rxBytes: 10, rxErrors: 3, txBytes: 20, txErrors: 6 },
        { name: 'wlan0', rxBytes: 1, rxErrors: 1, txBytes: 1, txErrors: 1 },
      ],
      tasks: 345,
      taskLimit: 1000,
      startedAtMs: 1_700_000_000_000,
      pressure: {
        cpu: {
          some: { avg10: 2, avg60: 0, avg300: 0, totalUs: 9n },
          full: { avg10: 0, avg60: 0, avg300: 0, totalUs: 0n },
        },
        memory: {
          some: { avg10: 1.5, avg60: 0.5, avg300: 0.1, totalUs: 7_000n },
          full: { avg10: 0.5, avg60: 0, avg300: 0, totalUs: 3_000n },
        },
        io: undefined,
      },
    });
  } finally {
    await rm(root, { recursive: true });
  }
});

it('knows nothing where nothing can be read, and does not fail', async () => {
  expect(await readNodeUsage(5, '/nonexistent')).toEqual({
    ...{ atMs: 5, cpuTotalNs: undefined, memory: undefined, interfaces: [] },
    ...{ tasks: undefined, taskLimit: undefined, startedAtMs: undefined, pressure: {} },
  });
});

it('reads this machine', async () => {
  const { cpuTotalNs, memory, tasks } = await readNodeUsage(0);
  expect(cpuTotalNs).toBeGreaterThan(0);
  expect(memory?.workingSetBytes).toBeGreaterThan(0);
  expect(memory?.workingSetBytes).toBeLessThanOrEqual(memory?.capacityBytes ?? 0);
  expect(tasks).toBeGreaterThan(1);
});

it('counts memory that is set apart for huge pages as used', async () => {
  const root = await mkdtemp(join(tmpdir(), 'podloop-proc-'));
  try {
    const lines = ['MemTotal: 1000 kB', 'MemFree: 300 kB', 'Inactive(file): 100 kB', 'HugePages_Total: 1'];
    await writeFile(join(root, 'meminfo'), `${lines.join('\n')}\nHugePages_Free: 1\nHugepagesize: 512 kB\n`);
    await writeFile(join(root, 'loadavg'), FILES.loadavg);
    const { memory, tasks, taskLimit } = await readNodeRoom(root);
    expect(memory).toMatchObject({ availableBytes: 400 * 1024, capacityBytes: 1000 * 1024 });
    expect([tasks, taskLimit]).toEqual([345, undefined]);
  } finally {
    await rm(root, { recursive: true, force: true });
  }
});
