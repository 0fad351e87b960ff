/**
 * Cgroups on the machine's own trees. Needs root and version 1 or 2 to be writable; skipped elsewhere.
 *
 * @module
 */
import { spawn, type ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LinuxContainerResources, PodSandboxConfig } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { Cgroups } from '../../src/box/cgroups/cgroups.js';
import { type ContainerCgroup } from '../../src/box/cgroups/container-cgroup.js';
import { untilTrue } from '#support/until-true.js';
import { SILENT_LOGGER } from '#base/log/logger.js';

const PREFIX = `podloop-it${randomBytes(4).toString('hex')}`;
const mountinfo = readFileSync('/proc/self/mountinfo', 'utf8');
const probe = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: PREFIX });
const { controllers } = probe.describe();
const usable = ['cpu', 'memory', 'pids'].every((name) => controllers.includes(name));
/** All that the machine has, and version 1 alone, where killing needs the freezer. */
const VARIANTS = [
  ['as the machine has them', mountinfo],
  ['without the tree of version 2', mountinfo.replaceAll(/^.* - cgroup2 .*$/gm, '')],
] as const;

/** A shell that joins the group and goes on with a script. */
function run(container: ContainerCgroup, script: string): { child: ChildProcess; end: Promise<string> } {
  const joins = container.joinFiles.map((file) => `echo 0 > ${file} || exit 99`);
  const child = spawn('/bin/sh', ['-c', [...joins, script].join('\n')], {
    stdio: ['ignore', 'pipe', 'ignore'],
  });
  const end = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => resolve(signal ?? String(code)));
  });
  return { child, end };
}

async function said(child: ChildProcess, word: string): Promise<void> {
  let text = '';
  for await (const chunk of child.stdout!) {
    text += String(chunk);
    if (text.includes(word)) return;
  }
  throw new Error(`it ended and said only "${text}"`);
}

function resources(fields: Partial<LinuxContainerResources>): LinuxContainerResources {
  return LinuxContainerResources.fromPartial(fields);
}

describe.runIf(usable).each(VARIANTS)('cgroups %s', (_variant, mounts) => {
  const CONFIG = PodSandboxConfig.fromPartial({});
  let cgroups: Cgroups;
  const usableHere = mounts.includes(' - cgroup ') || mounts.includes(' - cgroup2 ');

  beforeAll(async () => {
    cgroups = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: PREFIX, mountinfo: mounts });
    await cgroups.createPod('pod', CONFIG);
  });

  afterAll(async () => {
    expect(await cgroups.removePod('pod')).toBe(true);
  });

  it.runIf(usableHere)(
    'kill a tree of processes that ignore signals, left their session and go on forking',
    async () => {
      const container = await cgroups.createContainer('pod', 'tree', undefined);
      const { child, end } = run(
        container,
        `trap '' TERM INT HUP
       for i in 1 2 3; do setsid sh -c 'trap "" TERM; while :; do sleep 0.01 & sleep 0.01; done' >/dev/null & done
       echo ready; while :; do sleep 1; done`,
      );
      await said(child, 'ready');
      expect((await container.members()).length).toBeGreaterThanOrEqual(4);
      expect(await container.kill()).toBe(true);
      expect(await end).toBe('SIGKILL');
      expect(await container.members()).toEqual([]);
      expect(await container.remove()).toBe(true);
      expect(container.exists).toBe(false);
    },
  );

  it.runIf(usableHere)('kill what needs more memory than the limit, and say so', async () => {
    const container = await cgroups.createContainer(
      'pod',
      'hungry',
      resources({ memoryLimitInBytes: 32n << 20n }),
    );
    expect(container.oomKilled()).toBe(false);
    // A string of 256 MiB in a process that shares nothing with us.
    const { end } = run(container, `exec ${process.execPath} -e 'Buffer.alloc(256 << 20, 1)'`);
    expect(await end).toBe('SIGKILL');
    expect(container.oomKilled()).toBe(true);
    const again = cgroups.findContainer('pod', 'hungry');
    expect(again.oomKilled()).toBe(true);
    expect(again.usage('metrics')?.memory?.oomKills).toBeGreaterThan(0n);
    expect(await container.remove()).toBe(true);
  });

  it.runIf(usableHere)('limit the number of processes', async () => {
    const container = await cgroups.createContainer(
      'pod',
      'few',
      resources({ unified: { 'pids.max': '3' } }),
    );
    const { child, end } = run(container, 'sleep 5 & sleep 5 & sleep 5 & sleep 5 & echo all; wait');
    const ended = await Promise.race([
      end,
      said(child, 'all').then(
        () => 'all',
        () => 'not all',
      ),
    ]);
    expect(ended).not.toBe('all');
    await container.kill();
    await end;
    expect(await container.remove()).toBe(true);
  });

  it.runIf(usableHere)('count CPU time, memory and processes', async () => {
    const container = await cgroups.createContainer(
      'pod',
      'busy',
      resources({ memoryLimitInBytes: 512n << 20n, cpuQuota: 20_000n, cpuPeriod: 100_000n }),
    );
    const { child, end } = run(
      container,
      `${process.execPath} -e 'const b = Buffer.alloc(64 << 20, 1); process.stdout.write("ready");
       setInterval(() => { for (const t = Date.now(); b[0] && Date.now() - t < 50; ); })'`,
    );
    await said(child, 'ready');
    // It wants more than it may have; on a busy machine it takes a while until it gets as much.
    await untilTrue(() => (container.usage('metrics')?.cpu?.throttledPeriods ?? 0n) > 0n);
    const usage = container.usage('metrics');
    expect(usage?.cpu?.totalNs).toBeGreaterThan(20_000_000n);
    expect(usage?.memory?.rssBytes).toBeGreaterThan(64n << 20n);
    expect(usage?.memory?.workingSetBytes).toBeGreaterThan(64n << 20n);
    expect(usage?.memory?.limitBytes).toBe(512n << 20n);
    expect(usage?.pids?.threads).toBeGreaterThanOrEqual(2n);
    expect(cgroups.podUsage('pod')?.memory?.rssBytes).toBeGreaterThan(64n << 20n);
    await container.update(resources({ memoryLimitInBytes: 300n << 20n }));
    expect(container.usage()?.memory?.limitBytes).toBe(300n << 20n);
    await expect(container.update(resources({ memoryLimitInBytes: 1n << 20n }))).rejects.toThrow('memory.');
    expect(container.usage()?.memory?.limitBytes).toBe(300n << 20n);
    await container.kill();
    await end;
    expect(await container.remove()).toBe(true);
  });

  it.runIf(usableHere)(
    'are removed with their processes when a later runtime knows nothing of them',
    async () => {
      const container = await cgroups.createContainer('pod', 'lost', undefined);
      const { child, end } = run(container, 'echo ready; exec sleep 1000');
      await said(child, 'ready');
      const later = await Cgroups.detect({ logger: SILENT_LOGGER, prefix: PREFIX, mountinfo: mounts });
      const live = [{ sandboxId: 'pod', config: CONFIG, containerIds: [] }];
      expect(await later.restore(live)).toBe(1);
      expect(await end).toBe('SIGKILL');
      expect(container.exists).toBe(false);
    },
  );
});

describe.runIf(usable)('after all this', () => {
  it('no group of ours is left in any tree', async () => {
    const trees = mountinfo
      .split('\n')
      .filter((line) => / - cgroup2? /.test(line))
      .map((line) => line.split(' ')[4]!);
    for (const tree of trees) {
      const groups = await readdir(join(tree, 'podloop')).catch(() => []);
      expect(groups.filter((name) => name.startsWith(PREFIX))).toEqual([]);
    }
  });
});
