/**
 * Limits of containers on the embedded runtime, as the machine's own cgroups enforce them. Needs root and cgroups
 * that may be written; skipped elsewhere.
 *
 * @module
 */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { cri } from '../../src/watch/cri/index.js';
import { Cgroups } from '../../src/box/cgroups/cgroups.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { CONTAINER_RUNNING, type ContainerParts, EmbeddedNode, ISOLATIONS, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

const probe = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: `podloop-probe-${process.pid}` });
const { controllers, version } = probe.describe();
const limited = ['cpu', 'memory', 'pids'].every((name) => controllers.includes(name));

type Resources = NonNullable<NonNullable<ContainerParts['linux']>['resources']>;

function limits(resources: Resources): ContainerParts {
  return { linux: { resources } };
}

describe.runIf(limited).each(ISOLATIONS)('limits of containers, isolation %s', (isolation) => {
  it('end what needs more memory, with OOMKilled', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const script = 'dd if=/dev/zero of=/dev/null bs=80M count=1';
    const parts = limits({ memoryLimitInBytes: 20n << 20n, memorySwapLimitInBytes: 20n << 20n });
    const id = await node.run(await node.runPod('p'), 'c', `exec ${script}`, parts);
    expect(await node.exited(id)).toMatchObject({ exitCode: 137, reason: 'OOMKilled' });
    expect((await node.status(id)).resources?.linux?.memoryLimitInBytes).toBe(20n << 20n);
  });

  it('are not there when none were asked for: a plain failure is an error', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const id = await node.run(await node.runPod('p'), 'c', 'kill -9 $$');
    expect(await node.exited(id)).toMatchObject({ exitCode: 137, reason: 'Error' });
  });

  it('are changed while it runs, all or none, and hold after a restart of the runtime', async () => {
    await using program = await RuntimeProgram.build();
    await using node = await EmbeddedNode.prepare({ isolation });
    const runtime = await program.start(node);
    const pod = await node.runPod('p');
    const parts = limits({ memoryLimitInBytes: 256n << 20n, cpuShares: 512n, unified: { 'pids.max': '99' } });
    const containerId = await node.run(pod, 'c', 'exec sleep 1000', parts);
    const available = async (): Promise<bigint | undefined> => {
      const { stats } = await node.client.containerStats({ containerId });
      const { workingSetBytes, availableBytes } = stats?.memory ?? {};
      return (workingSetBytes?.value ?? 0n) + (availableBytes?.value ?? 0n);
    };
    expect(await available()).toBe(256n << 20n);
    const update = (linux: Resources): Promise<unknown> =>
      node.client.updateContainerResources({ containerId, linux });
    await update({ memoryLimitInBytes: 128n << 20n });
    expect(await available()).toBe(128n << 20n);
    await expect(update({ memoryLimitInBytes: 64n << 20n, cpuQuota: 5n })).rejects.toThrow('cannot be set');
    await expect(update({ cpusetCpus: 'x' })).rejects.toThrow('no cpuset');
    await expect(update({ unified: { 'cgroup.procs': '1' } })).rejects.toThrow('no file of a controller');
    expect(await available()).toBe(128n << 20n);
    const held = { memoryLimitInBytes: 128n << 20n, cpuShares: 512n, unified: { 'pids.max': '99' } };
    expect((await node.status(containerId)).resources?.linux).toMatchObject(held);

    await end(runtime, 'SIGKILL');
    await program.start(node);
    expect(await node.status(containerId)).toMatchObject({
      state: CONTAINER_RUNNING,
      resources: { linux: held },
    });
    await update({ memoryLimitInBytes: 192n << 20n });
    expect(await available()).toBe(192n << 20n);
    await node.client.stopContainer({ containerId, timeout: 0n });
    await expect(update({ cpuShares: 2n })).rejects.toThrow('CONTAINER_EXITED');
  });

  it('hold for what is run in it later', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const parts = limits({ unified: { 'pids.max': '40' } });
    const containerId = await node.run(await node.runPod('p'), 'c', 'exec sleep 1000', parts);
    const run = async (script: string): Promise<string> => {
      const { stdout } = await node.client.execSync({ containerId, cmd: ['sh', '-c', script], timeout: 20n });
      return Buffer.from(stdout).toString();
    };
    const groups = await run('cat /proc/self/cgroup');
    if (version === 'v2' && isolation === 'namespaces') {
      // Its group is the root of what it sees: one that is not in it would be told as /../ and so on.
      expect(groups).toBe('0::/\n');
      expect(await run('cat /sys/fs/cgroup/pids.max')).toBe('40\n');
      return;
    }
    expect(groups).toContain(`/${containerId}`);
    for (const line of groups.split('\n').filter((each) => /:(memory|pids|cpu):/.test(each))) {
      expect(line).toContain(containerId);
    }
  });

  it('that cannot be had refuse the container, and leave no group', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const pod = await node.runPod('p', {
      linux: cri.LinuxPodSandboxConfig.fromPartial({ cgroupParent: `/podloop-it-${process.pid}` }),
    });
    const refused = async (resources: Resources): Promise<string> =>
      node.create(pod, 'c', 'true', limits(resources)).then(
        () => 'made',
        (error: unknown) => String(error),
      );
    expect(await refused({ unified: { 'nothing.like.it': '1' } })).toContain('nothing.like.it');
    expect(await refused({ cpusetCpus: '4000' })).toContain('cpuset.cpus');
    expect(await refused({ cpuQuota: -7n })).toContain('cpuQuota');
    expect((await node.client.listContainers({})).containers).toEqual([]);
    // The parent that was made goes with the pod.
    const tree = version === 'v2' ? '/sys/fs/cgroup' : '/sys/fs/cgroup/memory';
    expect(existsSync(`${tree}/podloop-it-${process.pid}`)).toBe(true);
    await node.clear();
    expect(existsSync(`${tree}/podloop-it-${process.pid}`)).toBe(false);
  });

  it('of a pod are taken note of, and give it its weight', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const podSandboxId = await node.runPod('p');
    await node.run(podSandboxId, 'c', 'exec sleep 1000', limits({ cpuShares: 200n }));
    const groupOf = (await readFile('/proc/self/mountinfo', 'utf8'))
      .split('\n')
      .find((line) => (version === 'v2' ? line.includes(' - cgroup2 ') : / - cgroup .*\bcpu\b/.test(line)));
    const tree = groupOf?.split(' ')[4] ?? '';
    const [pod] = (await readdir(`${tree}/podloop`)).filter((name) => name.endsWith(podSandboxId));
    const weight = async (): Promise<string> =>
      (await readFile(`${tree}/podloop/${pod}/cpu.${version === 'v2' ? 'weight' : 'shares'}`, 'utf8')).trim();
    const own = await weight();
    await node.client.updatePodSandboxResources({ podSandboxId, resources: { cpuShares: 4096n } });
    expect(await weight()).not.toBe(own);
    await expect(
      node.client.updatePodSandboxResources({ podSandboxId, resources: { cpuShares: -1n } }),
    ).rejects.toThrow('cpuShares');
    await expect(node.client.updatePodSandboxResources({ podSandboxId: 'f'.repeat(64) })).rejects.toThrow(
      'does not exist',
    );
  });

  it('are seen in the CPU usage of a container that has only just started, its set-up included', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const parts = limits({ cpuQuota: 2_000n, cpuPeriod: 100_000n });
    const containerId = await node.run(await node.runPod('p'), 'c', 'while :; do :; done', parts);
    const { stats } = await node.client.containerStats({ containerId });
    expect(stats?.cpu?.usageNanoCores?.value).toBeLessThan(300_000_000n);
  });

  it('keep CPU time within the quota', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const parts = limits({ cpuQuota: 10_000n, cpuPeriod: 100_000n });
    const containerId = await node.run(await node.runPod('p'), 'c', 'while :; do :; done', parts);
    const throttled = await until(
      async () => {
        const { podMetrics } = await node.client.listPodSandboxMetrics({});
        const metrics = podMetrics.flatMap((pod) => pod.containerMetrics.flatMap((each) => each.metrics));
        return metrics.find(({ name }) => name === 'container_cpu_cfs_throttled_periods_total')?.value?.value;
      },
      (value) => (value ?? 0n) >= 5n,
    );
    expect(throttled).toBeGreaterThanOrEqual(5n);
    const { stats } = await node.client.containerStats({ containerId });
    expect(stats?.cpu?.usageNanoCores?.value).toBeLessThan(300_000_000n);
  });
});
