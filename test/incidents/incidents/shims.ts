import { mkdir, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { cri } from '#watch';
import { runtimeService } from '../../containerd/harness/cri-driver.js';
import { freezerOf } from '../../containerd/harness/leftovers.js';
import { signalProcess } from '../../containerd/harness/processes.js';
import { type Incident, type Scene } from '../harness/incident.js';
import { until } from '../harness/incident-node.js';

/** Longer than any incident. */
const LOCKED_MS = 1_800_000;
const PROBE = { exec: { command: ['/bin/true'] }, periodSeconds: 2, timeoutSeconds: 1 };

async function stop({ pods: [pod], atEnd }: Scene): Promise<void> {
  await signalProcess(pod!.shim, 'SIGSTOP');
  atEnd(() => signalProcess(pod!.shim, 'SIGCONT'));
}

/** Puts a process into a cgroup that is frozen. */
export async function freeze(pid: number, { node, atEnd }: Scene): Promise<void> {
  const folder = freezerOf(node.containerd.names);
  await mkdir(folder, { recursive: true });
  await writeFile(path.join(folder, 'cgroup.procs'), String(pid));
  await writeFile(path.join(folder, 'freezer.state'), 'FROZEN');
  atEnd(async () => {
    await writeFile(path.join(folder, 'freezer.state'), 'THAWED');
    await writeFile(path.join(folder, '../cgroup.procs'), String(pid)).catch(() => undefined);
    await rmdir(folder).catch(() => undefined);
  });
}

/**
 * Has containerd wait for the stopped shim of a container while it holds that container's lock, for which every list waits. Resolves
 * once a list does.
 */
export async function lockLists({ node }: Pick<Scene, 'node'>, containerId: string): Promise<void> {
  const { driver } = node.containerd;
  const update = cri.UpdateContainerResourcesRequest.fromPartial({ containerId, linux: { cpuShares: 100n } });
  void driver
    .call(runtimeService.updateContainerResources, update, { deadlineMs: LOCKED_MS })
    .catch(() => undefined);
  const list = async (): Promise<boolean> =>
    driver
      .call(runtimeService.listContainers, { filter: undefined }, { deadlineMs: 10_000 })
      .then(() => false)
      .catch(() => true);
  await until('the list of containers hangs', 30_000, list);
}

const expectShim = ({ pods: [pod] }: Scene, remedy: RegExp) => ({
  ...{ codes: ['ShimStopped'], pods: [pod!.fullName], pid: pod!.shim.pid, remedy, hasSince: true },
});

/** Shims that are stopped, frozen or deadlocked. */
export const SHIM_INCIDENTS: readonly Incident[] = [
  {
    name: 'a shim is stopped, its pod has an exec probe',
    pods: [{ name: 'web', container: { livenessProbe: PROBE } }, { name: 'db' }],
    make: async (scene) => {
      await stop(scene);
      return expectShim(scene, new RegExp(`kill -CONT ${scene.pods[0]!.shim.pid}`));
    },
  },
  {
    name: 'a shim has all the files open that it may have, its pod has an exec probe',
    pods: [{ name: 'web', container: { livenessProbe: PROBE } }, { name: 'db' }],
    make: async ({ node, pods: [pod], atEnd }) => {
      const { pid } = pod!.shim;
      const before = await node.limitFiles(pid, 1);
      atEnd(() => node.limitFiles(pid, before));
      return {
        ...{ codes: ['FilesUsedUp'], pods: [pod!.fullName], pid },
        remedy: new RegExp(`prlimit --pid ${pid} --nofile`),
      };
    },
  },
  {
    name: 'a shim is stopped, then its pod is deleted',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 20_000,
    make: async (scene) => {
      await stop(scene);
      await scene.node.unwant('web');
      return expectShim(scene, /kill -CONT/);
    },
  },
  {
    name: 'a shim is frozen with its cgroup',
    pods: [{ name: 'web' }, { name: 'db' }],
    make: async (scene) => {
      await freeze(scene.pods[0]!.shim.pid, scene);
      return expectShim(
        scene,
        /^Thaw it, which interrupts nothing: echo THAWED > \/sys\/fs\/cgroup\/freezer\/podloop-ice/,
      );
    },
  },
  {
    name: 'containerd is started again while a shim is stopped',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 5_000,
    make: async (scene) => {
      // A containerd that has started without it knows it no more, and nobody else ends it.
      const { shim, processes } = scene.pods[0]!;
      scene.atEnd(async () => {
        for (const left of [...processes, shim]) await signalProcess(left, 'SIGKILL');
      });
      await stop(scene);
      const starting = scene.node.containerd.killAndRestart().catch(() => undefined);
      scene.atEnd(() => starting);
      scene.atEnd(() => signalProcess(scene.pods[0]!.shim, 'SIGCONT'));
      return expectShim(scene, /kill -CONT/);
    },
  },
  {
    name: 'the list of containers is locked by a stopped shim whose container is updated',
    pods: [{ name: 'web' }, { name: 'db' }],
    ageMs: 5_000,
    make: async (scene) => {
      await stop(scene);
      await lockLists(scene, scene.pods[0]!.containerId);
      return expectShim(scene, /kill -CONT/);
    },
  },
];
