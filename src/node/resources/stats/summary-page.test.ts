import { expect, it } from 'vitest';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { aContainerUsage, aPodUsage, NODE_USAGE } from '#support/builders/usage-builders.js';
import { CpuWindows } from './cpu-windows.js';
import { measurePodDisk, type PodDiskPorts } from './pod-disks.js';
import { renderPods, renderSummaryPage, type SummaryHarness } from './summary-page.js';

const AT_MS = 1_700_000_000_000;
const TIME = '2023-11-14T22:13:20Z';
const DISK = {
  atMs: AT_MS,
  capacityBytes: 100,
  availableBytes: 60,
  usedBytes: 40,
  inodes: 10,
  inodesFree: 6,
  inodesUsed: 4,
};

const swap = { atMs: AT_MS, usageBytes: 4, availableBytes: undefined };
const writableLayer = { atMs: AT_MS, mountpoint: '/run/c', usedBytes: 7, inodesUsed: 2 };
const network = {
  atMs: AT_MS,
  interfaces: [{ name: 'eth0', rxBytes: 1, rxErrors: 0, txBytes: 2, txErrors: 0 }],
};
const WEB = {
  ...aPodUsage({ network }),
  status: emptyPodStatus('uid-web'),
  containers: [{ ...aContainerUsage({ swap, writableLayer }), status: aContainerStatus(aContainer()) }],
};
const NO_FILES = { pod: { bytes: 0, inodes: 0 }, containers: new Map() };
const VOLUME = { plugin: 'kubernetes.io~empty-dir', isApart: false } as const;
const SCENE: Omit<SummaryHarness, 'podDisks'> & PodDiskPorts = {
  look: { atMs: AT_MS, node: NODE_USAGE, pods: [WEB], problem: undefined },
  nodeName: 'node1',
  ...{ rootDisk: DISK, imageDisk: DISK, containerDisk: DISK, logDisk: DISK },
  logsDir: '/nonexistent',
  windows: new CpuWindows({ clock: new FakeClock() }),
  volumesOf: () => Promise.resolve([{ ...VOLUME, name: 'data', disk: { atMs: AT_MS, usedBytes: 11 } }]),
  filesOf: () => Promise.resolve(NO_FILES),
  agent: { startedAtMs: AT_MS - 10_000, cpuNs: 5e9, residentBytes: 77 },
};

async function read(
  given: Partial<SummaryHarness & PodDiskPorts> = {},
): Promise<{ node: object; pods: Record<string, unknown>[] }> {
  const more = { ...SCENE, ...given };
  const measured = more.look.pods.map(
    async (pod) => [pod.uid, { atMs: AT_MS, ...(await measurePodDisk(pod, more)) }] as const,
  );
  const scene: SummaryHarness = { podDisks: new Map(await Promise.all(measured)), ...more };
  const pods = await renderPods(scene, new AbortController().signal);
  return JSON.parse(renderSummaryPage(scene, pods)) as never;
}

it('has the shape that readers of a kubelet’s summary know', async () => {
  const { node, pods } = await read();
  expect(node).toMatchObject({
    nodeName: 'node1',
    startTime: '2023-11-14T21:13:20Z',
    systemContainers: [{ name: 'kubelet', cpu: { usageCoreNanoSeconds: 5e9, usageNanoCores: 5e8 } }],
    cpu: { time: TIME, usageCoreNanoSeconds: 100e9, usageNanoCores: 27_777_778 },
    memory: { time: TIME, workingSetBytes: 6 * 2 ** 30, availableBytes: 10 * 2 ** 30, pageFaults: 1000 },
    network: { time: TIME, name: 'eth0', rxBytes: 10, interfaces: [{ name: 'eth0', txBytes: 20 }] },
    fs: {
      time: TIME,
      capacityBytes: 100,
      availableBytes: 60,
      usedBytes: 40,
      inodes: 10,
      inodesFree: 6,
      inodesUsed: 4,
    },
    runtime: { imageFs: { usedBytes: 40 }, containerFs: { usedBytes: 40 } },
    rlimit: { time: TIME, maxpid: 32_768, curproc: 300 },
    swap: { time: TIME, swapUsageBytes: 2 ** 20, swapAvailableBytes: 2 ** 30 - 2 ** 20 },
  });
  expect(pods).toEqual([
    {
      podRef: { name: 'web', namespace: 'default', uid: 'uid-web' },
      containers: [
        {
          name: 'main',
          startTime: '2026-01-02T03:04:00Z',
          cpu: { time: TIME, usageNanoCores: 2e6, usageCoreNanoSeconds: 1.5e9 },
          memory: expect.objectContaining({ time: TIME, workingSetBytes: 2 ** 20 }) as object,
          rootfs: {
            time: TIME,
            capacityBytes: 100,
            availableBytes: 60,
            usedBytes: 7,
            inodes: 10,
            inodesFree: 6,
            inodesUsed: 2,
          },
          swap: { time: TIME, swapUsageBytes: 4 },
        },
      ],
      cpu: { time: TIME, usageNanoCores: 2e6, usageCoreNanoSeconds: 1.5e9 },
      memory: expect.objectContaining({ rssBytes: 2 ** 19 }) as object,
      network: { time: TIME, ...network.interfaces[0], interfaces: network.interfaces },
      volume: [{ time: TIME, name: 'data', usedBytes: 11 }],
      'ephemeral-storage': {
        time: TIME,
        capacityBytes: 100,
        availableBytes: 60,
        usedBytes: 18,
        inodes: 10,
        inodesFree: 6,
      },
      process_stats: { process_count: 2 },
      swap: { time: TIME, swapUsageBytes: 4 },
    },
  ]);
});

it('shows the pressure of the node, and whose a claimed volume is', async () => {
  const some = { avg10: 1.5, avg60: 0.5, avg300: 0.1, totalUs: 7_000n };
  const full = { avg10: 0, avg60: 0, avg300: 0, totalUs: 2n };
  const pressure = { cpu: { some, full }, io: { some: full, full } };
  const claim = { namespace: 'default', name: 'data' };
  const { node, pods } = await read({
    look: { ...SCENE.look, node: { ...NODE_USAGE, pressure } },
    volumesOf: () =>
      Promise.resolve([{ ...VOLUME, name: 'v', claim, isApart: true, disk: { atMs: AT_MS, usedBytes: 5 } }]),
  });
  const share = { total: 2_000, avg10: 0, avg60: 0, avg300: 0 };
  expect(node).toMatchObject({
    cpu: { psi: { some: { total: 7_000_000, avg10: 1.5, avg60: 0.5, avg300: 0.1 }, full: share } },
    io: { time: TIME, psi: { some: share, full: share } },
  });
  expect((node as { memory: object }).memory).not.toHaveProperty('psi');
  expect(pods[0]).toMatchObject({
    volume: [{ time: TIME, name: 'v', usedBytes: 5, pvcRef: { name: 'data', namespace: 'default' } }],
    'ephemeral-storage': { usedBytes: 7 },
  });
});

it('counts the files of a pod and of its containers, those that have ended included', async () => {
  const { pods } = await read({
    filesOf: ({ uid, sandboxId }) =>
      Promise.resolve({
        pod: { bytes: uid === 'uid-web' && sandboxId !== '' ? 100 : 0, inodes: 2 },
        containers: new Map([
          ['main', { bytes: 1_000, inodes: 1 }],
          ['ended', { bytes: 10_000, inodes: 1 }],
        ]),
      }),
  });
  expect(pods[0]).toMatchObject({ 'ephemeral-storage': { usedBytes: 11_118 } });
});

it('leaves out what nobody knows', async () => {
  const nothing = { rootDisk: undefined, imageDisk: undefined, containerDisk: undefined, logDisk: undefined };
  const bare = {
    ...aPodUsage({ cpu: undefined, memory: undefined, processes: undefined }),
    status: emptyPodStatus('u'),
    containers: [],
  };
  const { node, pods } = await read({
    ...nothing,
    look: { ...SCENE.look, pods: [bare] },
    volumesOf: () => Promise.resolve([]),
  });
  expect(node).not.toHaveProperty('fs');
  expect(pods).toEqual([{ podRef: { name: 'web', namespace: 'default', uid: 'uid-web' }, containers: [] }]);
});

it('counts what is in an emptyDir in memory for the volume, and not for the disk', async () => {
  const disk = { atMs: AT_MS, usedBytes: 2 ** 30 };
  const { pods } = await read({
    volumesOf: () => Promise.resolve([{ ...VOLUME, name: 'cache', disk, isApart: true }]),
  });
  expect(pods[0]).toMatchObject({
    volume: [{ name: 'cache', usedBytes: 2 ** 30 }],
    'ephemeral-storage': { usedBytes: 7 },
  });
});

it('has each time at which something was measured, and nothing of disks that were not', async () => {
  const files = { pod: { bytes: 100, inodes: 1 }, containers: new Map() };
  const logs = new Map([[WEB.containers[0]!.id, { usedBytes: 30, inodesUsed: 1 }]]);
  const volumes = [{ ...VOLUME, name: 'data', disk: { atMs: AT_MS - 60_000, usedBytes: 11 } }];
  const podDisks = new Map([['uid-web', { atMs: AT_MS - 9_000, volumes, files, logs }]]);
  const { pods } = await read({ podDisks });
  const earlier = '2023-11-14T22:13:11Z';
  expect(pods[0]).toMatchObject({
    cpu: { time: TIME },
    containers: [{ rootfs: { time: TIME }, logs: { time: earlier, usedBytes: 30 } }],
    volume: [{ time: '2023-11-14T22:12:20Z' }],
    'ephemeral-storage': { time: earlier, usedBytes: 148 },
  });
  const unknown = (await read({ podDisks: new Map() })).pods[0];
  expect(unknown).toHaveProperty('cpu');
  for (const name of ['volume', 'ephemeral-storage']) expect(unknown).not.toHaveProperty(name);
});
