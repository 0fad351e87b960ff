import { status } from '@grpc/grpc-js';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';

import { ContainerState, type ContainerEventResponse } from '../../src/watch/cri/generated/runtime/v1/cri.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { codeOf, runtimeService } from './harness/cri-driver.js';
import { RELEASES } from './harness/installed.js';
import { findLeftovers } from './harness/leftovers.js';
import { containerConfig, sandboxConfig } from './harness/pod-configs.js';

/** Runs `script` in a new pod and waits for its end. Answers with the container's and the sandbox's id. */
async function runToEnd(containerd: Containerd, name: string, script: string, hostNetwork: boolean) {
  const { driver } = containerd;
  const sandbox = sandboxConfig({ name, hostNetwork, cgroupParent: containerd.names.cgroupParent });
  const sandboxId = await driver.runSandbox(sandbox);
  const containerId = await driver.runContainer(
    sandboxId,
    containerConfig(sandbox, { name: 'main', script }),
    sandbox,
  );
  for (;;) {
    const { status: container } = await driver.call(runtimeService.containerStatus, {
      containerId,
      verbose: false,
    });
    if (container?.state === ContainerState.CONTAINER_EXITED) return { sandboxId, containerId, container };
    await sleep(20);
  }
}

describe.each(RELEASES)('containerd %s', (release) => {
  it('runs pods, survives kill -9 with them, and leaves nothing behind', async () => {
    const containerd = await startContainerd({ version: release });
    const { driver, names } = containerd;
    const events: ContainerEventResponse[] = [];
    let streamEnd: unknown;
    try {
      const stream = driver.events();
      stream.on('data', (event: ContainerEventResponse) => events.push(event));
      const streamEnded = new Promise<void>((resolve) => {
        stream.once('error', (error) => {
          streamEnd = error;
          resolve();
        });
      });

      const version = await driver.call(runtimeService.version, { version: '' });
      expect(version).toMatchObject({ runtimeName: 'containerd', runtimeApiVersion: 'v1' });
      expect(version.runtimeVersion).toContain(release);

      const onHost = await runToEnd(containerd, 'on-host', 'exit 3', true);
      expect(onHost.container).toMatchObject({ exitCode: 3, reason: 'Error' });
      const onBridge = await runToEnd(containerd, 'on-bridge', 'ip addr show eth0', false);
      expect(onBridge.container).toMatchObject({ exitCode: 0, reason: 'Completed' });
      const sandboxStatus = await driver.call(runtimeService.podSandboxStatus, {
        podSandboxId: onBridge.sandboxId,
        verbose: false,
      });
      expect(sandboxStatus.status?.network?.ip).toContain(`${names.subnet}.`);

      if (release === '1.6') {
        await streamEnded;
        expect(codeOf(streamEnd)).toBe(status.UNIMPLEMENTED);
      } else {
        await expect
          .poll(() => events.filter((event) => event.containerId === onBridge.containerId).length)
          .toBeGreaterThanOrEqual(3);
      }
      stream.cancel();
      await streamEnded;

      await containerd.killAndRestart();
      const { containers } = await driver.call(runtimeService.listContainers, { filter: undefined });
      expect(containers.map((container) => container.id).sort()).toEqual(
        [onHost.containerId, onBridge.containerId].sort(),
      );
    } finally {
      await containerd[Symbol.asyncDispose]();
    }
    expect(await findLeftovers(names)).toEqual([]);
  });
});
