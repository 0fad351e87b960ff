import { describe, expect, it } from 'vitest';

import { openWatchSource } from './churn/watch-source.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { runtimeService } from './harness/cri-driver.js';
import { type Release } from './harness/installed.js';
import { containerConfig, sandboxConfig } from './harness/pod-configs.js';

/** Runs a pod whose container ends with that code; answers with the container's id. */
async function runPod(containerd: Containerd, name: string, script: string): Promise<string> {
  const sandbox = sandboxConfig({ name, cgroupParent: containerd.names.cgroupParent });
  const sandboxId = await containerd.driver.runSandbox(sandbox);
  const config = containerConfig(sandbox, { name: 'main', script });
  return containerd.driver.runContainer(sandboxId, config, sandbox);
}

describe('podloop watch while containerd is killed', () => {
  it.each<[Release, 'generic' | 'evented']>([
    ['1.6', 'generic'],
    ['1.6', 'evented'],
    ['1.7', 'evented'],
    ['2.1', 'generic'],
  ])('on %s, %s: says that it is gone and that it is back, and loses nothing', async (release, mode) => {
    await using containerd = await startContainerd({ version: release });
    const before = await runPod(containerd, 'before', 'exit 3');
    const lasting = await runPod(containerd, 'lasting', 'exec sleep 100000');
    await using watch = await openWatchSource(containerd.endpoint, mode);
    const ends = (id: string) =>
      watch.events.filter(({ containerId, type }) => containerId === id && type === 'ContainerDied');
    await expect.poll(() => ends(before), { timeout: 20_000 }).toMatchObject([{ exitCode: 3 }]);
    expect(ends(before)[0]?.trigger).toBe('initial');
    const count = (words: string): number => watch.errorLines.filter((line) => line.includes(words)).length;

    for (const round of [1, 2]) {
      await containerd.kill();
      await expect.poll(() => count('Runtime is gone'), { timeout: 20_000 }).toBe(round);
      await containerd.start();
      await expect.poll(() => count('Runtime is back'), { timeout: 20_000 }).toBe(round);
      const during = await runPod(containerd, `after-${round}`, `exit ${40 + round}`);
      await expect.poll(() => ends(during), { timeout: 20_000 }).toMatchObject([{ exitCode: 40 + round }]);
    }
    expect(ends(lasting)).toEqual([]);
    await containerd.driver.call(runtimeService.stopContainer, { containerId: lasting, timeout: 0n });
    await expect.poll(() => ends(lasting), { timeout: 20_000 }).toMatchObject([{ exitCode: 137 }]);
    expect(ends(before)).toHaveLength(1);
    const started = watch.events.filter(
      ({ containerId, type }) => containerId === lasting && type === 'ContainerStarted',
    );
    expect(started).toHaveLength(1);
    if (mode === 'evented') {
      const expected = release === '1.6' ? 'has no container events' : 'to one reader only';
      expect(watch.errorLines.join('\n')).toContain(expected);
    }
  });
});
