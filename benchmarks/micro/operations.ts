import { cri, type CriClient, CriRuntime, type ObservedPod, PodCache } from '#watch';
import { diffPods } from '../../src/watch/pleg/diff.js';
import { toContainerStatus } from '../../src/watch/observed/convert.js';
import { SystemClock } from '#base/time/clock.js';

/** Something small that is done often. */
export interface Operation {
  readonly name: string;
  /** `at` counts up, for whoever takes one thing after the other. */
  readonly run: (at: number) => unknown;
}

/** The operations on what a runtime answers: decode, convert, diff, cache. */
export async function createOperations(client: CriClient): Promise<Operation[]> {
  const counters = { unknownEnums: 0 };
  const runtime = new CriRuntime({ client });
  const pods = await runtime.listPods();
  const copies = structuredClone(pods);
  const pod = pods[0]!;
  const { containers } = await client.listContainers({ filter: { podSandboxId: pod.sandboxes[0]!.id } });
  const listed = Buffer.from(cri.Container.encode(containers[0]!).finish());
  const { id, sandboxId } = pod.containers[0]!;
  const answer = await client.containerStatus({ containerId: id });
  const statusBytes = Buffer.from(cri.ContainerStatusResponse.encode(answer).finish());
  const status = await runtime.getPodStatus(pod);
  const ended: ObservedPod = {
    ...pod,
    containers: pod.containers.map((container) => ({ ...container, state: 'exited' })),
  };
  const clock = new SystemClock();
  const cache = new PodCache();
  for (const { uid } of pods) cache.set(uid, { ...status, uid }, undefined, clock.stamp());
  return [
    {
      name: 'decode a container of a list, whole',
      run: () => cri.Container.decode(client.newReader(listed)),
    },
    {
      name: 'decode a container’s status',
      run: () => cri.ContainerStatusResponse.decode(client.newReader(statusBytes)),
    },
    {
      name: 'convert a container’s status',
      run: () => toContainerStatus(answer.status!, { id, sandboxId }, counters),
    },
    {
      // What an idle relist does: its runtime hands out the same objects where nothing changed.
      name: 'diff a pod with itself, the same object',
      run: (at) => diffPods(pods[at % pods.length], pods[at % pods.length]),
    },
    {
      name: 'diff a pod with an equal copy',
      run: (at) => diffPods(pods[at % pods.length], copies[at % pods.length]),
    },
    { name: 'diff a pod whose containers ended', run: () => diffPods(pod, ended) },
    { name: 'read a pod from the cache', run: (at) => cache.get(pods[at % pods.length]!.uid) },
    {
      name: 'write a pod into the cache',
      run: (at) => cache.set(pods[at % pods.length]!.uid, status, undefined, clock.stamp()),
    },
  ];
}
