import { setTimeout as sleep } from 'node:timers/promises';

import { type PodSandboxConfig } from '../../../src/watch/cri/generated/runtime/v1/cri.js';
import { type Runtime } from '../../../src/watch/observed/runtime.js';
import { type ContainerToMake, type PodToMake, type RuntimeDriver } from '#testing/index.js';
import { type Containerd } from './containerd.js';
import { runtimeService } from './cri-driver.js';
import { containerConfig, sandboxConfig } from './pod-configs.js';

/** The conformance suite's hand on a real containerd. Pods have a network of their own. */
export class ContainerdConformanceDriver implements RuntimeDriver {
  readonly runtime: Runtime;
  readonly podsHaveAddresses = true;
  readonly #containerd: Containerd;
  readonly #configs = new Map<string, PodSandboxConfig>();

  constructor(containerd: Containerd, runtime: Runtime) {
    this.#containerd = containerd;
    this.runtime = runtime;
  }

  async runSandbox({ uid, namespace, name, labels, annotations }: PodToMake): Promise<string> {
    const { cgroupParent } = this.#containerd.names;
    const config = sandboxConfig({ uid, namespace, name, hostNetwork: false, cgroupParent });
    const id = await this.#containerd.driver.runSandbox({
      ...config,
      labels: { ...config.labels, ...labels },
      annotations: { ...annotations },
    });
    this.#configs.set(id, config);
    return id;
  }

  async createContainer({ sandboxId, name, attempt, program }: ContainerToMake): Promise<string> {
    const sandbox = this.#configs.get(sandboxId);
    if (sandbox === undefined) throw new Error(`no sandbox ${sandboxId} was made here`);
    const script = program === 'runsOn' ? 'exec sleep 100000' : `exit ${program.exitsWith}`;
    const config = containerConfig(sandbox, { name, attempt, script });
    return this.#containerd.driver.createContainer(sandboxId, config, sandbox);
  }

  async startContainer(id: string): Promise<void> {
    await this.#containerd.driver.startContainer(id);
  }

  async killContainer(containerId: string): Promise<void> {
    await this.#containerd.driver.call(runtimeService.stopContainer, { containerId, timeout: 0n });
  }

  async removeContainer(containerId: string): Promise<void> {
    await this.#containerd.driver.call(runtimeService.removeContainer, { containerId });
  }

  async stopSandbox(podSandboxId: string): Promise<void> {
    await this.#containerd.driver.call(runtimeService.stopPodSandbox, { podSandboxId });
  }

  async removeSandbox(podSandboxId: string): Promise<void> {
    await this.#containerd.driver.call(runtimeService.removePodSandbox, { podSandboxId });
  }

  async pause(): Promise<void> {
    await sleep(50);
  }
}
