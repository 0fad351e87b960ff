import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { CriRuntime } from '../../src/watch/observed/index.js';
import {
  type ContainerToMake,
  type PodToMake,
  RUNTIME_CONFORMANCE,
  type RuntimeDriver,
} from '#testing/index.js';
import { EmbeddedNode, ISOLATIONS } from './embedded-node.js';

/** The conformance suite's hand on the embedded runtime. */
class EmbeddedDriver implements RuntimeDriver {
  readonly runtime: CriRuntime;
  readonly podsHaveAddresses: boolean;
  readonly #node: EmbeddedNode;

  constructor(node: EmbeddedNode, podsHaveAddresses: boolean) {
    this.#node = node;
    this.podsHaveAddresses = podsHaveAddresses;
    this.runtime = new CriRuntime({ client: node.client });
  }

  async runSandbox({ uid, namespace, name, labels, annotations }: PodToMake): Promise<string> {
    const metadata = { uid, namespace, name, attempt: 0 };
    const config = { metadata, labels: { ...podLabels({ uid, namespace, name }), ...labels }, annotations };
    return (await this.#node.client.runPodSandbox({ config })).podSandboxId;
  }

  async createContainer({ pod, sandboxId, name, attempt, program }: ContainerToMake): Promise<string> {
    const script = program === 'runsOn' ? 'exec sleep 100000' : `exit ${program.exitsWith}`;
    const labels = { ...podLabels(pod), 'io.kubernetes.container.name': name };
    return this.#node.create(sandboxId, name, script, { metadata: { name, attempt }, labels, logPath: '' });
  }

  async startContainer(containerId: string): Promise<void> {
    await this.#node.client.startContainer({ containerId });
  }

  async killContainer(containerId: string): Promise<void> {
    await this.#node.client.stopContainer({ containerId, timeout: 0n });
  }

  async removeContainer(containerId: string): Promise<void> {
    await this.#node.client.removeContainer({ containerId });
  }

  async stopSandbox(podSandboxId: string): Promise<void> {
    await this.#node.client.stopPodSandbox({ podSandboxId });
  }

  async removeSandbox(podSandboxId: string): Promise<void> {
    await this.#node.client.removePodSandbox({ podSandboxId });
  }

  async pause(): Promise<void> {
    await sleep(20);
  }
}

function podLabels({ uid, namespace, name }: Pick<PodToMake, 'uid' | 'namespace' | 'name'>) {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.namespace': namespace,
    'io.kubernetes.pod.name': name,
  };
}

describe.each(ISOLATIONS)('CriRuntime on the embedded runtime, isolation %s', (isolation) => {
  let node: EmbeddedNode;
  let driver: EmbeddedDriver;

  beforeAll(async () => {
    node = await EmbeddedNode.start({ isolation });
    driver = new EmbeddedDriver(node, isolation === 'namespaces');
  });
  afterAll(() => node[Symbol.asyncDispose]());

  it.each(RUNTIME_CONFORMANCE)('$title', async (conformance) => {
    await conformance.run(driver, AbortSignal.timeout(50_000));
    expect(await driver.runtime.listPods()).toEqual([]);
  });
});
