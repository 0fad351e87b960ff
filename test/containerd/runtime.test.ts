import { afterAll, beforeAll, describe, expect, it } from 'vitest';

import { CriClient } from '../../src/watch/cri/index.js';
import { CriRuntime } from '../../src/watch/observed/index.js';
import { RUNTIME_CONFORMANCE } from '#testing/index.js';
import { isUnimplemented } from '#base/errors/errors.js';
import { ContainerdConformanceDriver } from './harness/conformance-driver.js';
import { startContainerd, type Containerd } from './harness/containerd.js';
import { TRIED_RELEASES } from './harness/tried-releases.js';

describe.each(TRIED_RELEASES)('CriRuntime on containerd %s', (release) => {
  let containerd: Containerd;
  let client: CriClient;
  let driver: ContainerdConformanceDriver;

  beforeAll(async () => {
    containerd = await startContainerd({ version: release });
    client = new CriClient({ endpoint: containerd.endpoint });
    driver = new ContainerdConformanceDriver(containerd, new CriRuntime({ client }));
  });

  afterAll(async () => {
    await client[Symbol.asyncDispose]();
    await containerd[Symbol.asyncDispose]();
  });

  it('asks for the version', async () => {
    const { runtimeName, runtimeVersion } = await client.version();
    expect(runtimeName).toBe('containerd');
    expect(runtimeVersion).toContain(release);
  });

  it.each(RUNTIME_CONFORMANCE.filter(({ needsEvents }) => release !== '1.6' || !needsEvents))(
    '$title',
    async (conformance) => {
      await conformance.run(driver, AbortSignal.timeout(60_000));
      expect(await driver.runtime.listPods()).toEqual([]);
    },
  );

  it.runIf(release === '1.6')('says that the runtime has no events', async () => {
    const watching = driver.runtime.watchEvents?.({ onEvent: () => undefined }, AbortSignal.timeout(30_000));
    await expect(watching).rejects.toSatisfy(isUnimplemented);
  });

  it('sees the same pods after containerd was killed and started again', async () => {
    const pod = { uid: 'uid-kept', namespace: 'default', name: 'kept', labels: {}, annotations: {} };
    const sandboxId = await driver.runSandbox(pod);
    const container = { pod, sandboxId, attempt: 0 };
    const exited = await driver.createContainer({ ...container, name: 'exits', program: { exitsWith: 7 } });
    const running = await driver.createContainer({ ...container, name: 'runs', program: 'runsOn' });
    await driver.startContainer(exited);
    await driver.startContainer(running);
    const find = () => driver.runtime.findPod(pod.uid);
    await expect.poll(async () => (await find())?.containers[0]?.state, { timeout: 20_000 }).toBe('exited');
    const before = await find();
    const statusBefore = await driver.runtime.getPodStatus(before!);
    expect(statusBefore.containers.map(({ exitCode }) => exitCode)).toEqual([7, 0]);
    expect(statusBefore.ips[0]).toContain(`${containerd.names.subnet}.`);

    await containerd.kill();
    await expect(find()).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await containerd.start();

    await expect.poll(() => find().catch(() => undefined), { timeout: 20_000 }).toEqual(before);
    expect(await driver.runtime.getPodStatus(before!)).toEqual(statusBefore);
    await driver.stopSandbox(sandboxId);
    await driver.removeSandbox(sandboxId);
  });
});
