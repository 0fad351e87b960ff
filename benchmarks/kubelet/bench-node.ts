import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Container,
  ContainerState,
  type ContainerStatus,
  ContainerStatusRequest,
  ListContainersRequest,
} from '#watch/messages';
import { type Containerd, startContainerd } from '../../test/containerd/harness/containerd.js';
import { runtimeService } from '../../test/containerd/harness/cri-driver.js';
import { BUSYBOX_IMAGE } from '../../test/containerd/harness/image.js';
import { type Release } from '../../test/containerd/harness/installed.js';
import { findProcess, type ProcessIdentity } from '../../test/containerd/harness/processes.js';
import {
  NODE_FOLDER_PREFIX,
  ownNodeFolder,
  removeAbandonedNodes,
  removeNodeFolder,
} from './abandoned-nodes.js';

/** A container that runs, and its first process, which is the one that is to be killed though its pid is another's by then. */
export interface Target extends ProcessIdentity {
  readonly containerId: string;
  readonly podName: string;
}

/** What is waited for, and for how long. */
export interface RunningWait {
  readonly count: number;
  /** Containers that do not count. */
  readonly gone?: ReadonlySet<string>;
  readonly waitMs: number;
  readonly signal: AbortSignal;
  /** Throws when there is nothing to wait for any more. */
  readonly check?: () => void;
}

/** The node's name, which agents append to those of pods that come from files. */
export const NODE_NAME = 'bench';
/** The release that the kubelet's figures are known of. */
export const KUBELET_RELEASE: Release = '1.7';
/** Seldom enough that the runtime does not notice. */
const POLL_MS = 200;
const SCRIPT = 'while :; do sleep 1000; done';

/** A containerd of its own and a folder of manifests, on which one agent after the other may run. */
export class BenchNode implements AsyncDisposable {
  readonly containerd: Containerd;
  readonly folder: string;

  /** What benchmarks that were killed have left is taken away before. */
  static async start(release: Release): Promise<BenchNode> {
    await removeAbandonedNodes();
    const folder = await mkdtemp(path.join(tmpdir(), NODE_FOLDER_PREFIX));
    try {
      await ownNodeFolder(folder);
      await mkdir(path.join(folder, 'manifests'));
      // Last: a containerd that is there and nobody's would stay.
      return new BenchNode(await startContainerd({ version: release }), folder);
    } catch (error) {
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(containerd: Containerd, folder: string) {
    this.containerd = containerd;
    this.folder = folder;
  }

  /** Moves the manifest of a pod into the folder, whole; gives the wall-clock milliseconds just before. */
  async writeManifest(name: string, { inits = 0 }: { readonly inits?: number } = {}): Promise<number> {
    const image = { image: BUSYBOX_IMAGE, imagePullPolicy: 'IfNotPresent' };
    const initContainers = Array.from({ length: inits }, (_, at) => ({
      ...{ name: `init-${at}`, ...image, command: ['true'] },
    }));
    const spec = {
      ...{ hostNetwork: true, terminationGracePeriodSeconds: 1, restartPolicy: 'Always' },
      ...(inits > 0 && { initContainers }),
      containers: [{ name: 'main', ...image, command: ['sh', '-c', SCRIPT] }],
    };
    const manifest = { apiVersion: 'v1', kind: 'Pod', metadata: { name }, spec };
    const temporary = path.join(this.folder, `${name}.json`);
    await writeFile(temporary, JSON.stringify(manifest));
    const atMs = Date.now();
    await rename(temporary, path.join(this.folder, 'manifests', `${name}.json`));
    return atMs;
  }

  /** Every container there is, running or not. */
  async containers(): Promise<Container[]> {
    const { driver } = this.containerd;
    const { containers } = await driver.call(
      runtimeService.listContainers,
      ListContainersRequest.fromPartial({}),
    );
    return containers;
  }

  /** The main containers that run. */
  async running(): Promise<Container[]> {
    return (await this.containers()).filter(isRunningMain);
  }

  /** What the runtime itself remembers of a container. */
  async statusOf(containerId: string): Promise<ContainerStatus> {
    return (await this.#inspect(containerId)).status;
  }

  /** Running main containers with their processes; one that ends meanwhile is left out. */
  async targets(): Promise<Target[]> {
    const targets: Target[] = [];
    for (const { id } of await this.running()) {
      const { status, pid } = await this.#inspect(id);
      // To kill 0 is to kill ourselves, with all that is in our group.
      const identity = pid > 0 ? await findProcess(pid) : undefined;
      if (identity !== undefined) targets.push({ ...identity, containerId: id, podName: podNameOf(status) });
    }
    return targets;
  }

  /** Until so many main containers run; gives them. Throws when it takes too long. */
  async untilRunning({ count, gone = new Set(), waitMs, signal, check }: RunningWait): Promise<Container[]> {
    const deadlineMs = performance.now() + waitMs;
    for (;;) {
      const running = (await this.running()).filter(({ id }) => !gone.has(id));
      if (running.length >= count) return running;
      check?.();
      if (performance.now() > deadlineMs)
        throw new Error(`only ${running.length} of ${count} containers ran after ${waitMs / 1_000} s`);
      await sleep(POLL_MS, undefined, { signal });
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.containerd[Symbol.asyncDispose]();
    } finally {
      await removeNodeFolder(this.folder);
    }
  }

  async #inspect(containerId: string): Promise<{ status: ContainerStatus; pid: number }> {
    const request = ContainerStatusRequest.fromPartial({ containerId, verbose: true });
    const { status, info } = await this.containerd.driver.call(runtimeService.containerStatus, request);
    if (status === undefined) throw new Error(`the runtime says nothing of ${containerId}`);
    return { status, pid: (JSON.parse(info['info'] ?? '{}') as { pid?: number }).pid ?? 0 };
  }
}

/** Nanoseconds of the runtime's clock, as wall-clock milliseconds. */
export function toMs(ns: bigint): number {
  return Number(ns / 1_000n) / 1_000;
}

/** The pod's name as its labels have it. */
export function podNameOf({ labels }: Pick<ContainerStatus, 'labels'>): string {
  return labels['io.kubernetes.pod.name'] ?? '';
}

/** Whether it is the one of a pod that stays, and runs. */
export function isRunningMain({ state, metadata }: Pick<Container, 'state' | 'metadata'>): boolean {
  return state === ContainerState.CONTAINER_RUNNING && metadata?.name === 'main';
}
