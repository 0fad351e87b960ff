import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { emptyPodStatus, type SandboxStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus, BUILT_AT_NS } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { FolderCgroups } from '#support/fakes/folder-cgroups.js';
import { aContainerUsage, aPodUsage, NODE_USAGE } from '#support/builders/usage-builders.js';
import { type CadvisorSubject } from './cadvisor-page.js';
import { readSubjects } from './cadvisor-subjects.js';
import { ContainerGroups, readableCgroups } from './container-groups.js';
import { type LookedPod, type UsageLook } from './usage-looks.js';

const [MAIN, SANDBOX] = ['1', '2'].map((digit) => digit.repeat(64)) as [string, string];
const POD_GROUP = '/kubepods/burstable/poduid-web';
const NOBODY = 2 ** 22 + 1;

let cgroups: FolderCgroups;
let clock: FakeClock;

beforeEach(async () => {
  cgroups = await FolderCgroups.make('v1');
  clock = new FakeClock();
});

afterEach(async () => {
  await cgroups[Symbol.asyncDispose]();
});

/** Makes the groups of a path in every tree. */
async function make(path: string): Promise<void> {
  const trees = ['cpu', 'cpuacct', 'cpuset', 'memory', 'pids', 'freezer'];
  const names = path.split('/').slice(1);
  for (const tree of trees) {
    for (const [at] of names.entries()) {
      const group = join(cgroups.root, tree, ...names.slice(0, at + 1));
      if (cgroups.read(join(group, 'cgroup.procs')) === undefined) await cgroups.makeGroup(group);
    }
  }
}

function web(fields: Partial<LookedPod> = {}, containerId = MAIN): LookedPod {
  const container = aContainer({ id: containerId });
  const status = aContainerStatus(container, {
    ...{ image: 'app:1', startedAtNs: BUILT_AT_NS },
    resources: { cpuShares: 256n, cpuQuotaUs: undefined, cpuPeriodUs: undefined, memoryBytes: 1000n },
  });
  return {
    ...aPodUsage({ sandboxId: SANDBOX }),
    status: emptyPodStatus('uid-web'),
    containers: [{ ...aContainerUsage({ id: containerId }), status }],
    ...fields,
  };
}

async function read(...pods: readonly LookedPod[]): Promise<CadvisorSubject[]> {
  const look: UsageLook = { atMs: clock.now(), node: NODE_USAGE, pods, problem: undefined };
  const layout = readableCgroups(cgroups.mountinfo, cgroups);
  const sources = { layout, clock, groups: new ContainerGroups({ layout, clock }) };
  return await readSubjects(look, sources, new AbortController().signal);
}

it('returns the node, each pod and each container, with the labels of cAdvisor', async () => {
  await make(`${POD_GROUP}/${MAIN}`);
  const subjects = await read(web());
  const pod = { image: '', namespace: 'default', pod: 'web' };
  expect(subjects.map(({ runtimeId, labels }) => [runtimeId, labels])).toEqual([
    ['', { container: '', id: '/', image: '', name: '', namespace: '', pod: '' }],
    [SANDBOX, { ...pod, container: '', id: POD_GROUP, name: '' }],
    [MAIN, { ...pod, container: 'main', id: `${POD_GROUP}/${MAIN}`, image: 'app:1', name: MAIN }],
  ]);
});

it('takes the limits that are in force in the groups of pods and containers before those that the runtime reports', async () => {
  await make(`${POD_GROUP}/${MAIN}`);
  await cgroups.set('memory', POD_GROUP, 'memory.limit_in_bytes', '8192\n');
  await cgroups.set('memory', `${POD_GROUP}/${MAIN}`, 'memory.limit_in_bytes', '4096\n');
  await cgroups.set('memory', `${POD_GROUP}/${MAIN}`, 'memory.memsw.limit_in_bytes', '4096\n');
  const [, pod, main] = await read(web());
  expect(pod!.facts.limits).toMatchObject({ memoryBytes: 8192n, memoryAndSwapBytes: 0n, cpuShares: 1024n });
  expect(main!.facts.limits).toEqual({
    ...{ cpuPeriod: 100_000n, cpuQuota: 0n, cpuShares: 1024n },
    ...{ memoryBytes: 4096n, memoryAndSwapBytes: 4096n },
  });
});

it('uses only what the runtime reports for what is in no readable group', async () => {
  const [node, pod, main] = await read(web());
  expect(main!.facts).toMatchObject({
    usage: { cpu: { totalNs: 1_500_000_000n, userNs: undefined }, memory: { cacheBytes: undefined } },
    limits: { cpuPeriod: undefined, cpuShares: 256n, memoryBytes: 1000n, memoryAndSwapBytes: undefined },
    ...{ processes: undefined, openFiles: undefined, startedAtNs: BUILT_AT_NS },
  });
  expect(main!.labels.id).toBe(MAIN);
  expect(pod!.facts.startedAtNs).toBeUndefined();
  expect(pod!.facts.limits.memoryBytes).toBeUndefined();
  expect(node!.facts.limits.cpuPeriod).toBeUndefined();
});

describe('the group of a pod', () => {
  it.each([
    ['/kubepods.slice/kubepods-poduid_web.slice', 'cri-containerd-ID.scope'],
    ['/kubepods/poduid-web', 'ID'],
    [`/podloop/${SANDBOX}`, 'ID'],
  ])('is the one around its containers that bears its name: %s', async (group, name) => {
    await make(`${group}/${name.replace('ID', MAIN)}`);
    const [, pod] = await read(web());
    expect(pod!.labels.id).toBe(group);
  });

  it.each(['/system.slice', '/kubepods/burstable', '/kubepods/poduid-web-2'])(
    'is never one of others: %s',
    async (group) => {
      await make(`${group}/${MAIN}`);
      const [, pod, main] = await read(web());
      expect(pod!.labels.id).toBe(SANDBOX);
      expect(pod!.facts.limits.cpuPeriod).toBeUndefined();
      expect(main!.labels.id).toBe(`${group}/${MAIN}`);
    },
  );
});

it('has the time at which a group was read, and the runtime’s for what no group shows', async () => {
  await make(`${POD_GROUP}/${MAIN}`);
  const [, pod, main] = await read(web());
  expect(main!.atMs).toMatchObject({ cpu: clock.now(), memory: clock.now(), rest: clock.now() });
  const [, , told] = await read(web({ sandboxId: 'other' }, '3'.repeat(64)));
  expect(told!.atMs).toMatchObject({ cpu: 1_700_000_000_000, memory: 1_700_000_000_000, rest: clock.now() });
  expect(pod!.facts.seenAtNs).toBe(BigInt(clock.now()) * 1_000_000n);
});

describe('the processes of a group', () => {
  const sandbox = { id: SANDBOX, hostNetwork: false, annotations: {}, createdAtNs: 7n } as SandboxStatus;
  const status = { ...emptyPodStatus('uid-web'), sandboxes: [sandbox] };

  it('are counted with what they have open', async () => {
    await make(`${POD_GROUP}/${MAIN}`);
    await cgroups.set('memory', `${POD_GROUP}/${MAIN}`, 'cgroup.procs', String(process.pid));
    const [, pod, main] = await read(web({ status }));
    expect(main!.facts.processes).toBe(1n);
    expect(main!.facts.openFiles?.files).toBeGreaterThan(2n);
    expect(main!.facts.openFileLimit).toBeGreaterThan(0n);
    expect(pod!.facts.startedAtNs).toBe(7n);
  });

  it('count for nothing when their pids are others’ by the time they are looked at', async () => {
    await make(`${POD_GROUP}/${MAIN}`);
    await cgroups.set('memory', `${POD_GROUP}/${MAIN}`, 'cgroup.procs', `${process.pid}\n`);
    let looks = 0;
    const kernel = cgroups.read.bind(cgroups);
    // Who reads the list again finds another process in the group.
    cgroups.read = (path) => {
      if (!path.endsWith('cgroup.procs')) return kernel(path);
      return looks++ % 2 === 0 ? kernel(path) : `${NOBODY}\n`;
    };
    const network = {
      atMs: 5,
      interfaces: [{ name: 'told', rxBytes: 1, rxErrors: 0, txBytes: 2, txErrors: 0 }],
    };
    const [, pod, main] = await read(web({ status, network }));
    expect(main!.facts.openFiles?.files).toBe(0n);
    expect(main!.facts.openFileLimit).toBeUndefined();
    expect(pod!.network).toMatchObject({ atMs: 5, interfaces: [{ name: 'told' }] });
  });
});
