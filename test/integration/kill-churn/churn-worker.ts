import { type SeededRandom } from '../../containerd/churn/random.js';
import { type EmbeddedNode } from '../embedded-node.js';
import { type ChurnHistory, type ContainerHistory, type PodHistory } from './churn-history.js';

/** How the containers of a run are made. */
export interface ChurnImage {
  readonly image: string;
  /** The folder of the marks, as a container sees it. */
  readonly marksInside: string;
  /** The same folder on the host; mounted into each container where the two differ. */
  readonly marks: string;
}

export interface ChurnWorkerOptions {
  readonly node: EmbeddedNode;
  readonly history: ChurnHistory;
  readonly random: SeededRandom;
  readonly image: ChurnImage;
}

const MAX_PODS = 6;

/**
 * Makes, starts, stops and removes pods and containers by chance until a call fails, which is what happens when the
 * runtime is killed. What was asked stands in the history before each call, what was answered after it.
 */
export async function churnUntilKilled(options: ChurnWorkerOptions): Promise<void> {
  // Each worker has its own pods, so that no two calls contradict each other.
  const own: PodHistory[] = [];
  try {
    for (;;) await doSomething(options, own);
  } catch {
    // The kill. Anything else shows in the check that follows.
  }
}

async function doSomething(options: ChurnWorkerOptions, own: PodHistory[]): Promise<void> {
  const { random } = options;
  if (own.length === 0 || (own.length < MAX_PODS && random.chance(0.3))) {
    own.push(await runPod(options));
    return;
  }
  const pod = random.pick(own as [PodHistory]);
  const container = pod.containers.length > 0 ? random.pick(pod.containers as [ContainerHistory]) : undefined;
  if (container === undefined || random.chance(0.4)) await runContainer(options, pod);
  else if (random.chance(0.4)) await stopContainer(options, container);
  else if (random.chance(0.4)) await removeContainer(options, pod, container);
  else if (random.chance(0.5)) {
    own.splice(own.indexOf(pod), 1);
    await endPod(options, pod);
  }
}

async function runPod({ node, history }: ChurnWorkerOptions): Promise<PodHistory> {
  const pod = history.addPod();
  pod.id = await node.runPod(pod.name);
  return pod;
}

async function runContainer(options: ChurnWorkerOptions, pod: PodHistory): Promise<void> {
  const { node, history, random, image } = options;
  const program = random.chance(0.5) ? 'runsOn' : { exitsWith: random.integer(0, 120) };
  const container = history.addContainer(pod, program);
  const mark = `echo ran >> ${image.marksInside}/${container.name}`;
  const rest =
    program === 'runsOn'
      ? 'while :; do sleep 1000; done'
      : `sleep 0.0${random.integer(1, 9)}; exit ${program.exitsWith}`;
  container.id = await node.create(pod.id!, container.name, `${mark}; ${rest}`, {
    image: { image: image.image },
    ...(image.marks === image.marksInside
      ? {}
      : { mounts: [{ hostPath: image.marks, containerPath: image.marksInside }] }),
  });
  container.started = 'perhaps';
  await node.client.startContainer({ containerId: container.id });
  container.started = 'yes';
}

async function stopContainer({ node }: ChurnWorkerOptions, container: ContainerHistory): Promise<void> {
  if (container.stopped !== 'yes') container.stopped = 'perhaps';
  await node.client.stopContainer({ containerId: container.id!, timeout: 0n });
  container.stopped = 'yes';
}

async function removeContainer(
  { node }: ChurnWorkerOptions,
  pod: PodHistory,
  container: ContainerHistory,
): Promise<void> {
  container.removed = 'perhaps';
  await node.client.removeContainer({ containerId: container.id! });
  container.removed = 'yes';
  pod.containers.splice(pod.containers.indexOf(container), 1);
}

async function endPod({ node, random }: ChurnWorkerOptions, pod: PodHistory): Promise<void> {
  pod.stopped = 'perhaps';
  await node.client.stopPodSandbox({ podSandboxId: pod.id! });
  pod.stopped = 'yes';
  if (random.chance(0.3)) return;
  pod.removed = 'perhaps';
  await node.client.removePodSandbox({ podSandboxId: pod.id! });
  pod.removed = 'yes';
}
