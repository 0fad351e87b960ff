import { mkdir, readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient, cri } from '../../../src/watch/cri/index.js';
import { until } from '../embedded-node.js';

const IMAGE = 'podloop.test/programs:1';

/** A pod as somebody else makes it through CRI. */
export interface ForeignPod {
  readonly name: string;
  readonly uid: string;
  readonly namespace?: string;
  /** On the sandbox and its containers, besides those of a kubelet. */
  readonly labels?: Readonly<Record<string, string>>;
  /** Whether they carry a kubelet's labels; true unless told. */
  readonly hasKubeletLabels?: boolean;
  readonly containers: readonly ForeignContainer[];
  readonly cgroupParent?: string;
  /** The sandbox is stopped in the end. */
  readonly isDead?: boolean;
}

/** One container of it. */
export interface ForeignContainer {
  readonly name: string;
  /** A shell script; it is waited for when it is to end. */
  readonly script: string;
  /** What the script is called by in the list of processes. */
  readonly word?: string;
  readonly attempt?: number;
  readonly ends?: boolean;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** Everybody but the agent, on its runtime. */
export class ForeignNode implements Disposable {
  readonly client: CriClient;
  readonly #podLogsDir: string;

  constructor(options: { readonly endpoint: string; readonly podLogsDir: string }) {
    this.client = new CriClient({ endpoint: options.endpoint });
    this.#podLogsDir = options.podLogsDir;
  }

  /** Makes a pod, with its logs where a kubelet has them; gives the ids of its containers in their order. */
  async make(pod: ForeignPod): Promise<{ readonly sandboxId: string; readonly containerIds: string[] }> {
    const { name, uid, namespace = 'default', hasKubeletLabels = true } = pod;
    const kubelet = {
      'io.kubernetes.pod.name': name,
      'io.kubernetes.pod.namespace': namespace,
      'io.kubernetes.pod.uid': uid,
    };
    const labels = { ...(hasKubeletLabels ? kubelet : {}), ...pod.labels };
    const namespaceOptions = { network: cri.NamespaceMode.NODE, pid: cri.NamespaceMode.CONTAINER };
    const config = {
      metadata: { name, uid, namespace, attempt: 0 },
      logDirectory: join(this.#podLogsDir, `${namespace}_${name}_${uid}`),
      labels,
      linux: { securityContext: { namespaceOptions }, cgroupParent: pod.cgroupParent ?? '' },
    };
    await mkdir(config.logDirectory, { recursive: true });
    const { image } = await this.client.imageStatus({ image: { image: IMAGE } });
    if (image === undefined) await this.client.pullImage({ image: { image: IMAGE } });
    const { podSandboxId: sandboxId } = await this.client.runPodSandbox({ config });
    const containerIds: string[] = [];
    for (const { name: containerName, script, word, attempt = 0, ends, annotations } of pod.containers) {
      const { containerId } = await this.client.createContainer({
        podSandboxId: sandboxId,
        config: {
          metadata: { name: containerName, attempt },
          image: { image: IMAGE },
          command: ['/bin/sh', '-c', script, ...(word === undefined ? [] : [word])],
          labels: {
            ...labels,
            ...(hasKubeletLabels ? { 'io.kubernetes.container.name': containerName } : {}),
          },
          annotations: { 'io.kubernetes.container.restartCount': String(attempt), ...annotations },
          logPath: `${containerName}_${attempt}.log`,
          linux: { securityContext: { namespaceOptions } },
        },
        sandboxConfig: config,
      });
      await this.client.startContainer({ containerId });
      if (ends === true) {
        const ended = cri.ContainerState.CONTAINER_EXITED;
        await until(
          async () => (await this.client.containerStatus({ containerId })).status?.state,
          (state) => state === ended,
        );
      }
      containerIds.push(containerId);
    }
    if (pod.isDead === true) await this.client.stopPodSandbox({ podSandboxId: sandboxId });
    return { sandboxId, containerIds };
  }

  /** All that can be seen of the pods: state, times and labels of every part; and the images. */
  async look(uids: ReadonlySet<string>): Promise<unknown> {
    const { items } = await this.client.listPodSandbox({});
    const { containers } = await this.client.listContainers({});
    const sandboxes = items.filter(({ metadata }) => uids.has(metadata?.uid ?? ''));
    const ids = new Set(sandboxes.map(({ id }) => id));
    const own = containers.filter(({ podSandboxId }) => ids.has(podSandboxId));
    const states = await Promise.all(
      own.map(async ({ id }) => {
        const { status } = await this.client.containerStatus({ containerId: id });
        const { state, startedAt, finishedAt, exitCode, labels } = status!;
        return { id, state, startedAt, finishedAt, exitCode, labels };
      }),
    );
    const { images } = await this.client.listImages({});
    return {
      sandboxes: sandboxes.map(({ id, state, labels }) => ({ id, state, labels })).toSorted(byId),
      containers: states.toSorted(byId),
      images: images.map(({ id }) => id).toSorted(),
    };
  }

  /** The uids of all pods that the runtime has, in order. */
  async uids(): Promise<string[]> {
    const { items } = await this.client.listPodSandbox({});
    return items.map(({ metadata }) => metadata?.uid ?? '').toSorted();
  }

  /** Everything of all pods goes. */
  async clear(): Promise<void> {
    const { items } = await this.client.listPodSandbox({});
    await Promise.all(
      items.map(async ({ id: podSandboxId }) => {
        await this.client.stopPodSandbox({ podSandboxId });
        await this.client.removePodSandbox({ podSandboxId });
      }),
    );
  }

  [Symbol.dispose](): void {
    this.client.close();
  }
}

/** Every file below a folder with its content, and every link with where it leads. */
export async function readTree(folder: string): Promise<Record<string, string>> {
  const tree: Record<string, string> = {};
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    if (entry.isSymbolicLink()) tree[path] = `-> ${await readlink(path)}`;
    else tree[path] = entry.isFile() ? await readFile(path, 'utf8') : 'folder';
  }
  return tree;
}

function byId(one: { readonly id: string }, other: { readonly id: string }): number {
  return one.id < other.id ? -1 : 1;
}
