import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type KubeList, type Pod } from '../../../src/cluster/client/kube-objects.js';
import { type Containerd, startContainerd } from '../../containerd/harness/containerd.js';
import { CriDriver } from '../../containerd/harness/cri-driver.js';
import { BUSYBOX_IMAGE } from '../../containerd/harness/image.js';
import { LocalApiClient } from '../../integration/local-api-client.js';
import { ClusterAgent, HOST_IMAGE } from '../harness/cluster-agent.js';
import { type ControlPlane } from '../harness/control-plane.js';
import { type NodeViews } from './find-disagreements.js';
import { RuntimeWatch } from './runtime-watch.js';

/** What a {@link StoryNode} is started with. */
export interface StoryNodeOptions {
  readonly name: string;
  readonly runtime: 'embedded' | 'containerd';
  readonly mayRestart: (podUid: string) => boolean;
  readonly args: readonly string[];
}

/** A podloop that is a node of the cluster, its runtime, and somebody who watches that. */
export class StoryNode implements AsyncDisposable {
  readonly name: string;
  readonly agent: ClusterAgent;
  readonly watch: RuntimeWatch;
  readonly #driver: CriDriver;
  readonly #containerd: Containerd | undefined;

  /** Starts it; it may not have joined yet. */
  static async start(plane: ControlPlane, options: StoryNodeOptions): Promise<StoryNode> {
    const containerd =
      options.runtime === 'containerd' ? await startContainerd({ version: '1.7' }) : undefined;
    // One image for all, whose programs both have.
    await containerd?.ctr('images', 'tag', BUSYBOX_IMAGE, `${HOST_IMAGE}:latest`);
    const runtime = containerd === undefined ? [] : ['--runtime-endpoint', containerd.endpoint];
    const agent = await ClusterAgent.start(plane, options.name, ...runtime, ...options.args);
    return new StoryNode(options, agent, containerd);
  }

  private constructor(
    { name, mayRestart }: StoryNodeOptions,
    agent: ClusterAgent,
    containerd: Containerd | undefined,
  ) {
    this.name = name;
    this.agent = agent;
    this.#containerd = containerd;
    this.#driver = new CriDriver(containerd?.names.socket ?? join(agent.folder, 'root/runtime/cri.sock'));
    this.watch = new RuntimeWatch({ node: name, driver: this.#driver, mayRestart });
  }

  /** What all sides say of it now, given all pods of the API. Rejects while a side does not answer. */
  async view(pods: readonly Pod[]): Promise<NodeViews> {
    const socket = new LocalApiClient(join(this.agent.folder, 'root/podloop.sock'));
    const [{ items = [] }, records, folders] = await Promise.all([
      socket.json('/pods') as Promise<KubeList<Pod>>,
      this.watch.look(),
      readdir(join(this.agent.folder, 'root/pods')).catch((): string[] => []),
    ]);
    const api = pods.filter(({ spec }) => spec?.nodeName === this.name);
    return { node: this.name, api, agent: items, ...records, folders };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#driver.close();
    await this.agent[Symbol.asyncDispose]();
    await this.#containerd?.[Symbol.asyncDispose]();
  }
}
