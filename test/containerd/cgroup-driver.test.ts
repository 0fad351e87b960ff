import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriClient } from '../../src/watch/cri/index.js';
import { findDriverInError, readCgroupDriver } from '../../src/node/runtime/cgroup-driver.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { SystemClock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { AgentNode } from '../integration/pod-stories/agent-node.js';
import { type Containerd, startContainerd } from './harness/containerd.js';
import { RELEASES } from './harness/installed.js';
import { sandboxConfig } from './harness/pod-configs.js';

const DRIVERS = ['cgroupfs', 'systemd'] as const;

// No systemd is needed for what is tried here: no pod starts.
describe.each(RELEASES.flatMap((release) => DRIVERS.map((driver) => [release, driver] as const)))(
  'containerd %s with the cgroup driver %s',
  (release, driver) => {
    const other = driver === 'systemd' ? 'cgroupfs' : 'systemd';
    let containerd: Containerd;
    let client: CriClient;
    let folder: string;

    beforeAll(async () => {
      folder = await mkdtemp(join(tmpdir(), 'podloop-driver-'));
      containerd = await startContainerd({ version: release, cgroupDriver: driver });
      client = new CriClient({
        ...{ endpoint: containerd.endpoint, clock: new SystemClock(), logger: SILENT_LOGGER },
      });
    }, 120_000);

    afterAll(async () => {
      client.close();
      await containerd[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    }, 120_000);

    it('reports it', async () => {
      const source = release === '2.1' ? 'RuntimeConfig' : 'Status';
      expect(await readCgroupDriver(client)).toEqual({ driver, source });
    });

    if (driver === 'systemd') {
      it('shows it in the error with which it refuses a path', async () => {
        const config = sandboxConfig({ name: 'refused', hostNetwork: true, cgroupParent: '/podloop-none' });
        const error: unknown = await client
          .runPodSandbox({ config, runtimeHandler: '' })
          .catch((reason: unknown) => reason);
        expect(findDriverInError(messageOf(error))).toBe('systemd');
      });
    }

    it('ends an agent that was told the other one before any pod, with what to change', async () => {
      const start = AgentNode.start({
        ...{ folder, endpoint: containerd.endpoint, logger: new LogRecorder() },
        agent: { cgroupDriver: other },
      });
      await expect(start).rejects.toMatchObject({
        code: 'CGROUP_DRIVER_CONFLICT',
        message: expect.stringMatching(
          new RegExp(`is ${other}, but the runtime containerd has ${driver}.*SystemdCgroup = `),
        ) as string,
      });
    });
  },
);
