/**
 * A cluster for stories: a real control plane, three podloop nodes on the embedded runtime and one on containerd, and
 * somebody who watches all of them from the first moment to the last.
 *
 * What a story does is up to it. At its end {@link StoryCluster.untilAgreed} says in words whatever is not as it must be:
 * what API server, agents and runtimes do not agree on, what is left over, and what went wrong on the way.
 *
 * @module
 */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KubeList, type Node, type Pod } from '../../../src/cluster/client/kube-objects.js';
import { type ClusterBinaries } from '../harness/cluster-binaries.js';
import { ControlPlane } from '../harness/control-plane.js';
import { isReady } from '../harness/is-ready.js';
import { untilAsync } from '../harness/until-async.js';
import { findDisagreements, statusesOf, uidOf } from './find-disagreements.js';
import { PodHistory } from './pod-history.js';
import { StoryNode } from './story-node.js';
import { findContainerdProblem } from './story-size.js';

/** Until everything that was asked for has been done, on a loaded machine. */
const MAX_WAIT_MS = 300_000;
const LOOK_EVERY_MS = 500;
const LOG_TAIL = 4_000;
const PODS = '/api/v1/pods';

/** What {@link StoryCluster.start} takes. */
export interface StoryClusterOptions {
  readonly binaries: ClusterBinaries;
  /** A node that says nothing is given up in seconds instead of minutes, and its pods with it; not unless told. */
  readonly isHasty?: boolean;
}

/** Of a hasty cluster. */
const NODE_GRACE_S = 20;
const NODE_CONFIG = {
  ...{ apiVersion: 'kubelet.config.k8s.io/v1beta1', kind: 'KubeletConfiguration' },
  nodeLeaseDurationSeconds: 20,
};
const TOLERATION_S = 3;

/** See the module. */
export class StoryCluster implements AsyncDisposable {
  readonly plane: ControlPlane;
  readonly history: PodHistory;
  readonly #nodes: StoryNode[] = [];
  readonly #end = new AbortController();
  readonly #watching: Promise<void>[] = [];

  /** Starts everything and waits until all nodes are Ready. Leaves nothing behind when it rejects. */
  static async start({ binaries, isHasty = false }: StoryClusterOptions): Promise<StoryCluster> {
    const hasty = {
      apiServer: [
        `--default-not-ready-toleration-seconds=${TOLERATION_S}`,
        `--default-unreachable-toleration-seconds=${TOLERATION_S}`,
      ],
      controllerManager: [`--node-monitor-grace-period=${NODE_GRACE_S}s`, '--node-monitor-period=1s'],
    };
    const cluster = new StoryCluster(await ControlPlane.start({ binaries, args: isHasty ? hasty : {} }));
    try {
      await cluster.#startNodes();
      return cluster;
    } catch (error) {
      await cluster[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(plane: ControlPlane) {
    this.plane = plane;
    this.history = new PodHistory({
      client: plane.admin,
      onGone: (pod) => this.#findNode(pod.spec?.nodeName)?.watch.checkGone(pod),
    });
  }

  get nodes(): readonly StoryNode[] {
    return this.#nodes;
  }

  /** All pods, as the API server has them. */
  async pods(): Promise<readonly Pod[]> {
    const { items = [] } = await this.plane.admin.request<KubeList<Pod>>({ method: 'GET', path: PODS });
    return items;
  }

  /** Waits; what never comes is told with what is not in step, and the end of each agent's log. */
  async until<T>(what: string, look: () => Promise<T | undefined | false>): Promise<T> {
    try {
      return await untilAsync(what, look, MAX_WAIT_MS);
    } catch (error) {
      const disagreements = await this.agree().catch(String);
      throw new Error(
        `${(error as Error).message}: ${String((error as Error).cause)}\n${JSON.stringify(disagreements, undefined, 1)}\n${this.logs()}`,
        {
          cause: error,
        },
      );
    }
  }

  /** kubectl, as admin; what it complains of is told with the end of each agent's log. */
  async kubectl(...args: readonly string[]): Promise<string> {
    try {
      return await this.plane.kubectl(...args);
    } catch (error) {
      throw new Error(`kubectl ${args.join(' ')}: ${String(error)}\n${this.logs()}`, { cause: error });
    }
  }

  /** What is not in step now, in words. Rejects while a side does not answer. */
  async agree(): Promise<string[]> {
    const pods = await this.pods();
    const views = await Promise.all(this.#nodes.map(async (node) => node.view(pods)));
    const strays = pods
      .map(({ spec, metadata }) => ({
        node: spec?.nodeName,
        name: `${metadata?.namespace}/${metadata?.name}`,
      }))
      .filter(({ node }) => this.#findNode(node) === undefined)
      .map(({ node, name }) => `pod ${name} is on ${node ?? 'no node'}`);
    return [...views.flatMap((view) => findDisagreements(view)), ...strays];
  }

  /** What went wrong up to now and cannot be made good. */
  async findFaults(): Promise<string[]> {
    await Promise.all(this.#nodes.map(async ({ watch }) => watch.settled()));
    const homes = new Map<string, string[]>();
    for (const { name, watch } of this.#nodes) {
      for (const uid of watch.uids) homes.set(uid, [...(homes.get(uid) ?? []), name]);
    }
    const twice = [...homes]
      .filter(([, names]) => names.length > 1)
      .map(([uid, names]) => `pod ${uid} ran on ${names.join(' and ')}`);
    return [...this.history.problems, ...this.#nodes.flatMap(({ watch }) => watch.problems), ...twice];
  }

  /**
   * Waits until all sides agree, and for a while longer: empty when they do and nothing went wrong on the way. What is
   * still not in step after minutes is told as it is then.
   */
  async untilAgreed(limitMs = MAX_WAIT_MS): Promise<string[]> {
    const giveUpAt = performance.now() + limitMs;
    for (;;) {
      const disagreements = await this.agree().catch((error: unknown) => [`nobody knows: ${String(error)}`]);
      if (disagreements.length === 0 || performance.now() > giveUpAt) {
        return [...disagreements, ...(await this.findFaults())];
      }
      await sleep(LOOK_EVERY_MS);
    }
  }

  /** The end of each agent's log. */
  logs(): string {
    return this.#nodes.map(({ name, agent }) => `--- ${name}:\n${agent.log.slice(-LOG_TAIL)}`).join('\n');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#end.abort();
    await Promise.all(this.#watching);
    await Promise.all(this.#nodes.map(async (node) => node[Symbol.asyncDispose]()));
    await this.plane[Symbol.asyncDispose]();
  }

  async #startNodes(): Promise<void> {
    const { signal } = this.#end;
    this.#watching.push(this.history.run(signal));
    const problem = findContainerdProblem();
    if (problem !== undefined) console.warn(`no node of the stories runs on containerd: ${problem}`);
    const runtimes = ['embedded', 'embedded', 'embedded', ...(problem === undefined ? ['containerd'] : [])];
    const config = join(this.plane.folder, 'node.json');
    await writeFile(config, JSON.stringify(NODE_CONFIG));
    for (const [index, runtime] of runtimes.entries()) {
      const node = await StoryNode.start(this.plane, {
        ...{ name: `story-${'abcd'[index]}`, runtime: runtime as 'embedded' | 'containerd' },
        ...{ mayRestart: (uid) => this.history.mayRestart(uid) },
        args: ['--node-labels', `runtime=${runtime}`, '--config', config],
      });
      this.#nodes.push(node);
      this.#watching.push(node.watch.run(signal));
    }
    await this.untilReady();
  }

  /** The node of that name. */
  node(name: string): StoryNode {
    const node = this.#findNode(name);
    if (node === undefined) throw new Error(`there is no node ${name}`);
    return node;
  }

  /** Of each container that runs, by node, pod and name: its id. */
  async running(): Promise<ReadonlyMap<string, string>> {
    const pods = await this.pods();
    return new Map(
      pods.flatMap((pod) =>
        statusesOf(pod)
          .filter(({ state }) => state?.running !== undefined)
          .map(({ name, containerID = '' }) => [`${pod.spec?.nodeName} ${uidOf(pod)} ${name}`, containerID]),
      ),
    );
  }

  /** Waits until all nodes are Ready. */
  async untilReady(): Promise<void> {
    await this.until('nodes that are Ready', async () => {
      const path = '/api/v1/nodes';
      const { items = [] } = await this.plane.admin.request<KubeList<Node>>({ method: 'GET', path });
      const ready = items.filter((node) => {
        const isTainted =
          node.spec?.taints?.some(({ key }) => key.startsWith('node.kubernetes.io/')) === true;
        return !isTainted && isReady(node);
      });
      return ready.length === this.#nodes.length;
    });
  }

  #findNode(name: string | undefined): StoryNode | undefined {
    return this.#nodes.find((node) => node.name === name);
  }
}
