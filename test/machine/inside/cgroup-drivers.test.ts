/**
 * The machine's containerd with each cgroup driver, and an agent that is given none: it finds the driver, gives pods their groups and
 * limits, and goes on with them after a restart, also when the runtime has the other driver by then.
 *
 * @module
 */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type AgentOptions } from '../../../src/node/options/agent-options.js';
import { type CgroupDriver } from '../../../src/node/runtime/config/pod-cgroup-names.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { until } from '../../integration/embedded-node.js';
import { cpuGroupOf, findByWord } from '../../integration/pod-cgroups/machine-groups.js';
import { AgentNode } from '../../integration/pod-stories/agent-node.js';
import { type Containerd, startContainerd } from '../../containerd/harness/containerd.js';
import { findLeftovers } from '../../containerd/harness/leftovers.js';
import { OCI_RUNTIME, RELEASE } from './node-containerd.js';
import { shellOutput } from './node-shell.js';

const TREE = '/sys/fs/cgroup';
const MIB = 1024 * 1024;
const MAX_PIDS = 200;
const SOURCE = RELEASE === '1.7' ? 'Status' : 'RuntimeConfig';
/** What every level above a container has to give to the groups in it. */
const CONTROLLERS = ['cpu', 'cpuset', 'io', 'memory', 'pids', 'hugetlb'];

const wordOf = (pod: string): string => `podloop-drivers-${pod}`;
const manifest = (pod: string): string => `apiVersion: v1
kind: Pod
metadata: { name: ${pod}, uid: ${pod}-0123-45 }
spec:
  hostNetwork: true
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: podloop.test/busybox:1
      command: [sh, -c, 'trap "exit 0" TERM; while :; do sleep 0.2; done', ${wordOf(pod)}]
      resources: { requests: { cpu: 100m, memory: 32Mi }, limits: { cpu: 500m, memory: 64Mi } }
`;

describe.each(['cgroupfs', 'systemd'] as const)('containerd with the cgroup driver %s', (driver) => {
  const other: CgroupDriver = driver === 'systemd' ? 'cgroupfs' : 'systemd';
  let containerd: Containerd;
  let folder: string;
  let logger: LogRecorder;
  let node: AgentNode | undefined;

  const start = async (agent: Partial<AgentOptions> = {}): Promise<void> => {
    logger = new LogRecorder();
    node = await AgentNode.start({
      ...{ folder, endpoint: containerd.endpoint, logger },
      agent: { podPidsLimit: MAX_PIDS, ...agent },
    });
  };
  const stop = async (): Promise<void> => {
    await node?.stop();
    node = undefined;
  };
  const put = async (pod: string): Promise<void> =>
    writeFile(join(folder, 'manifests', `${pod}.yaml`), manifest(pod));
  const untilRuns = async (pod: string): Promise<number> =>
    (await until(
      () => findByWord(wordOf(pod)),
      (pid) => pid !== undefined,
    ))!;
  /** A runtime may start a process and then move it. */
  const groupOf = async (pod: string): Promise<string> =>
    until(
      async () => cpuGroupOf(await untilRuns(pod)),
      (path) => path.includes(pod.replaceAll('-', '_')) || path.includes(pod),
    );
  const read = async (group: string, file: string): Promise<string> =>
    (await readFile(join(TREE, group, file), 'utf8')).trim();

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'podloop-drivers-'));
    containerd = await startContainerd({ version: RELEASE, cgroupDriver: driver, ...OCI_RUNTIME });
    await start();
    await put('first');
  });

  afterAll(async () => {
    await rm(join(folder, 'manifests'), { recursive: true, force: true });
    await stop();
    await containerd[Symbol.asyncDispose]();
    expect(await findLeftovers(containerd.names)).toEqual([]);
    await rm(folder, { recursive: true, force: true });
  });

  it('is found without a flag, logged once and recorded', async () => {
    await untilRuns('first');
    const logged = logger.lines.filter(({ message }) => message === 'Cgroup driver');
    expect(logged.map(({ fields }) => fields)).toEqual([{ cgroupDriver: driver, source: SOURCE }]);
    const record = await readFile(join(folder, 'node/cgroup-driver.json'), 'utf8');
    expect(JSON.parse(record)).toMatchObject({ driver });
  });

  it('makes groups of its form, and each hands all controllers down', async () => {
    // crun puts the processes into a group of its own below the scope.
    const group = (await groupOf('first')).replace(/\/container$/, '');
    expect(group).toMatch(
      driver === 'systemd'
        ? /kubepods-burstable-podfirst_0123_45\.slice\/[^/]+\.scope$/
        : /\/kubepods\/burstable\/podfirst-0123-45\/[^/]+$/,
    );
    const given: Record<string, string[]> = {};
    for (let above = dirname(group); ; above = dirname(above)) {
      const names = (await read(above, 'cgroup.subtree_control')).split(' ');
      given[above] = CONTROLLERS.filter((name) => !names.includes(name));
      if (above === '/') break;
    }
    expect(Object.entries(given).filter(([, missing]) => missing.length > 0)).toEqual([]);
  });

  it('limits the container', async () => {
    const group = await groupOf('first');
    expect(await read(group, 'memory.max')).toBe(String(64 * MIB));
    expect(await read(group, 'cpu.max')).toBe('50000 100000');
  });

  it('limits the pod as a whole, and weighs it', async () => {
    const pod = dirname((await groupOf('first')).replace(/\/container$/, ''));
    expect(await read(pod, 'memory.max')).toBe(String(64 * MIB));
    expect(await read(pod, 'cpu.max')).toBe('50000 100000');
    expect(await read(pod, 'pids.max')).toBe(String(MAX_PIDS));
    // A tenth of a core.
    expect(await read(pod, 'cpu.weight')).toBe('4');
    await until(
      async () => read(dirname(pod), 'cpu.weight'),
      (weight) => weight === '4',
    );
  });

  it('stays that of the pods under the next agent, which reads the record', async () => {
    const [pid, group] = [await untilRuns('first'), await groupOf('first')];
    await stop();
    await start();
    await put('second');
    await untilRuns('second');
    expect([await untilRuns('first'), await groupOf('first')]).toEqual([pid, group]);
    expect(node!.agent.statuses().find(({ pod }) => pod.name === 'first-test')?.status).toMatchObject({
      containerStatuses: [{ restartCount: 0 }],
    });
  });

  it('ends an agent that is given the other one before any pod, with what to change', async () => {
    await stop();
    await expect(start({ cgroupDriver: other })).rejects.toMatchObject({
      code: 'CGROUP_DRIVER_CONFLICT',
      message: expect.stringMatching(
        new RegExp(`is ${other}, but the runtime containerd has ${driver}`),
      ) as string,
    });
    await start({ cgroupDriver: driver });
    expect(logger.lines.find(({ message }) => message === 'Cgroup driver')?.fields).toMatchObject({
      cgroupDriver: driver,
    });
  });

  it('keeps the memory that a container requests, and slows it down before its limit, where that is asked for', async () => {
    await stop();
    await start({ memoryReservationPolicy: 'TieredReservation', memoryThrottlingFactor: 0.5 });
    await put('third');
    const group = (await groupOf('third')).replace(/\/container$/, '');
    expect([await read(group, 'memory.low'), await read(group, 'memory.high')]).toEqual([
      ...[String(32 * MIB), String(48 * MIB)],
    ]);
  });

  it('keeps the memory of all pods in the groups above, those of earlier agents too', async () => {
    const pod = dirname((await groupOf('third')).replace(/\/container$/, ''));
    const above = [pod, dirname(pod), dirname(dirname(pod))];
    const kept = async (): Promise<string[]> =>
      Promise.all([...above.map(async (path) => read(path, 'memory.low')), read(above[2]!, 'memory.min')]);
    const all = String(3 * 32 * MIB);
    await until(kept, (found) => found.join() === [String(32 * MIB), all, all, all].join());
  });

  it('takes that back where it is not asked for any more', async () => {
    const pod = dirname((await groupOf('third')).replace(/\/container$/, ''));
    await stop();
    await start();
    await until(
      async () => read(dirname(dirname(pod)), 'memory.low'),
      (found) => found === '0',
    );
  });

  it.runIf(driver === 'systemd')('leaves nothing of a pod in systemd', async () => {
    await rm(join(folder, 'manifests/third.yaml'));
    const settings = '/run/systemd/system.control/*podthird*';
    await until(
      async () => shellOutput(`ls -d ${settings} 2>/dev/null`),
      (text) => text === '',
    );
  });

  it('gives doctor nothing to say about cgroups', async () => {
    const words = `--socket ${join(folder, 'node/podloop.sock')} -r ${containerd.endpoint} --timeout 5m -o json`;
    const { findings, facts } = JSON.parse(await shellOutput(`podloop doctor ${words}`)) as {
      findings: { code: string }[];
      facts: { runtime: { connection: { connected: boolean } } };
    };
    expect(facts.runtime.connection.connected).toBe(true);
    expect(findings.filter(({ code }) => /cgroup/i.test(code))).toEqual([]);
  });
});
