import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { PodloopProcess, runPodloop } from '../integration/podloop-process.js';
import { openWatchSource } from './churn/watch-source.js';
import { type Containerd, startContainerd } from './harness/containerd.js';
import { runtimeService } from './harness/cri-driver.js';
import { type Release, RELEASES } from './harness/installed.js';
import { containerConfig, sandboxConfig } from './harness/pod-configs.js';

async function runPod(containerd: Containerd, name: string, script: string): Promise<string> {
  const sandbox = sandboxConfig({ name, cgroupParent: containerd.names.cgroupParent });
  const sandboxId = await containerd.driver.runSandbox(sandbox);
  const config = containerConfig(sandbox, { name: 'main', script });
  return containerd.driver.runContainer(sandboxId, config, sandbox);
}

interface Report {
  readonly stream: { readonly state: string; readonly received: number; readonly missed: number };
}

describe('podloop observe beside containerd', () => {
  it.each<[Release]>(RELEASES.map((release): [Release] => [release]))(
    'on %s: hears of ends from its event service, takes none from a reader of CRI, and names it when it is stopped',
    async (release) => {
      await using containerd = await startContainerd({ version: release });
      const root = await mkdtemp(join(tmpdir(), 'podloop-observe-'));
      try {
        const place = ['--socket', join(root, 'podloop.sock')];
        await using observer = new PodloopProcess([
          ...[
            'observe',
            '--runtime-endpoint',
            containerd.endpoint,
            '--root-dir',
            root,
            '--node-name',
            'test',
          ],
          ...['--metrics-bind-address', '0', '--kubelet-url', '', '--healthz-url', '', '-v', '4'],
        ]);
        await observer.line('stderr', /Starting to listen".*socket/);
        const report = async (): Promise<Report> => {
          const { stdout } = await runPodloop(['top', 'pleg', '--once', '-o', 'json', ...place]);
          return JSON.parse(stdout) as Report;
        };
        await expect.poll(async () => (await report()).stream.state).toBe('up');
        // A kubelet with events, which containerd 1.7 gives each event to one reader of.
        await using reader = await openWatchSource(
          containerd.endpoint,
          release === '1.6' ? 'generic' : 'evented',
        );

        const ends = [];
        for (let round = 1; round <= 5; round++)
          ends.push(await runPod(containerd, `pod-${round}`, `sleep 1; exit ${round}`));
        const events = async (): Promise<string> =>
          (await runPodloop(['events', '-A', '--no-headers', ...place])).stdout;
        for (let round = 1; round <= 5; round++)
          await expect.poll(events).toContain(`died with exit code ${round}`);
        const deaths = (await events()).match(/Container main died/g);
        expect(deaths).toHaveLength(5);
        const { received, missed } = (await report()).stream;
        expect(received).toBeGreaterThanOrEqual(10);
        expect(missed).toBe(0);
        for (const id of ends) {
          const seen = (): unknown[] =>
            reader.events.filter(({ containerId, type }) => containerId === id && type === 'ContainerDied');
          await expect.poll(seen).toHaveLength(1);
        }

        process.kill(containerd.pid!, 'SIGSTOP');
        try {
          await observer.line('stderr', /"Finding began" code="RuntimeStopped"/);
        } finally {
          process.kill(containerd.pid!, 'SIGCONT');
        }
        await observer.line('stderr', /"Finding is over" code="RuntimeStopped"/);
        await containerd.driver.call(runtimeService.version, { version: '' });
      } finally {
        await rm(root, { recursive: true, force: true });
      }
    },
  );
});
