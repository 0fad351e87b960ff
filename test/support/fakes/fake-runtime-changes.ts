import {
  type ContainerStatus,
  LABELS,
  type ObservedPod,
  ownerOf,
  type PodStatus,
  type Runtime,
  type SandboxStatus,
  toContainerLimits,
} from '#watch';
import {
  type ChangeOptions,
  type ContainerConfig,
  type ContainerResources,
  type ExecResult,
  type RuntimeChanges,
  type RuntimeImage,
  type SandboxConfig,
} from '../../../src/node/runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';

import { CallGate } from '#testing/call-gate.js';

type Changing = Exclude<keyof RuntimeChanges, 'listImages' | 'getSandboxIps'>;

interface FakeSandbox {
  readonly config: SandboxConfig;
  status: SandboxStatus;
}

interface FakeContainer {
  readonly config: ContainerConfig;
  status: ContainerStatus;
}

const NO_OUTPUT: ExecResult = { stdout: Buffer.alloc(0), stderr: Buffer.alloc(0), exitCode: 0 };

/**
 * A runtime that can be changed, in memory: what was made shows at once, containers run until a test or a stop ends
 * them, images are there when a test says so.
 *
 * Each call is on record in `calls`, as `startContainer web-app-0`: ids are made of names. Each method has a gate of
 * its own, through which a test makes it slow, shut or broken; a call that waits there ignores its signal, as calls
 * that were sent do, but for stops and commands.
 */
export class FakeRuntimeChanges implements RuntimeChanges, Pick<Runtime, 'findPod' | 'getPodStatus'> {
  readonly calls: string[] = [];
  /** The results of commands, by their text (default: they succeed in silence). */
  readonly commands = new Map<string, ExecResult>();
  readonly #clock: Clock;
  readonly #gates = new Map<Changing, CallGate>();
  readonly #sandboxes = new Map<string, FakeSandbox>();
  readonly #containers = new Map<string, FakeContainer>();
  readonly #images = new Map<string, RuntimeImage>();
  readonly #pullable = new Set<string>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  gate(method: Changing): CallGate {
    const gate = this.#gates.get(method) ?? new CallGate({ clock: this.#clock });
    this.#gates.set(method, gate);
    return gate;
  }

  /** The image is on the node. */
  addImage(name: string, fields: Partial<RuntimeImage> = {}): RuntimeImage {
    const id = `sha256:${name}`;
    const facts = {
      tags: [name],
      digests: [],
      sizeBytes: 1000n,
      pinned: false,
      uid: undefined,
      username: '',
    };
    const image = { id, ...facts, ...fields };
    this.#images.set(name, image);
    this.#images.set(image.id, image);
    return image;
  }

  /** The image can be pulled. */
  allowPull(name: string): void {
    this.#pullable.add(name);
  }

  /** The container ends by itself. */
  exit(containerId: string, exitCode = 0): void {
    const { status } = this.#container(containerId);
    if (status.state === 'running') this.#end(containerId, exitCode);
  }

  configOf(containerId: string): ContainerConfig {
    return this.#container(containerId).config;
  }

  sandboxConfigOf(sandboxId: string): SandboxConfig {
    return this.#sandbox(sandboxId).config;
  }

  async runPodSandbox(config: SandboxConfig, options?: ChangeOptions): Promise<string> {
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const id = `${name}-sandbox-${attempt}`;
    await this.#pass('runPodSandbox', id, options);
    const common = { id, name, attempt, createdAtNs: this.#nowNs(), runtimeHandler: '' };
    const hostNetwork = config.linux?.securityContext?.namespaceOptions?.network === 2;
    const { labels, annotations } = config;
    const status: SandboxStatus = {
      ...{ ...common, labels, annotations, hostNetwork, state: 'running' },
      ips: hostNetwork ? [] : ['10.88.0.2'],
    };
    this.#sandboxes.set(id, { config, status });
    return id;
  }

  async getSandboxIps(sandboxId: string): Promise<readonly string[]> {
    return Promise.resolve(this.#sandbox(sandboxId).status.ips);
  }

  async stopPodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void> {
    await this.#pass('stopPodSandbox', sandboxId, options, true);
    for (const { status } of this.#containers.values()) {
      if (status.sandboxId === sandboxId && status.state === 'running') this.#end(status.id, 137);
    }
    const sandbox = this.#sandboxes.get(sandboxId);
    if (sandbox !== undefined) sandbox.status = { ...sandbox.status, state: 'exited', ips: [] };
  }

  async removePodSandbox(sandboxId: string, options?: ChangeOptions): Promise<void> {
    await this.#pass('removePodSandbox', sandboxId, options);
    this.#sandboxes.delete(sandboxId);
  }

  async createContainer(
    sandboxId: string,
    config: ContainerConfig,
    _sandboxConfig?: SandboxConfig,
    options?: ChangeOptions,
  ): Promise<string> {
    const { name = '', attempt = 0 } = config.metadata ?? {};
    const pod = this.#sandbox(sandboxId).config.metadata?.name ?? '';
    const id = `${pod}-${name}-${attempt}`;
    await this.#pass('createContainer', id, options);
    const { labels, annotations, logPath } = config;
    const status: ContainerStatus = {
      ...{ id, name, attempt, sandboxId, state: 'created', createdAtNs: this.#nowNs() },
      ...{ startedAtNs: 0n, finishedAtNs: 0n, exitCode: 0, reason: '', message: '' },
      ...{ image: config.image?.userSpecifiedImage ?? '', imageRef: config.image?.image ?? '', imageId: '' },
      ...{ restartCount: attempt, labels, annotations, logPath },
      ...(config.linux?.resources === undefined
        ? {}
        : { resources: toContainerLimits(config.linux.resources) }),
    };
    this.#containers.set(id, { config, status });
    return id;
  }

  async startContainer(containerId: string, options?: ChangeOptions): Promise<void> {
    await this.#pass('startContainer', containerId, options);
    const container = this.#container(containerId);
    container.status = { ...container.status, state: 'running', startedAtNs: this.#nowNs() };
  }

  async stopContainer(containerId: string, graceSeconds: number, options?: ChangeOptions): Promise<void> {
    await this.#pass('stopContainer', `${containerId} ${graceSeconds}`, options, true);
    this.exit(containerId, 143);
  }

  async removeContainer(containerId: string, options?: ChangeOptions): Promise<void> {
    await this.#pass('removeContainer', containerId, options);
    this.#containers.delete(containerId);
  }

  /** On record with shares, quota and bytes of memory. What is observed stays: a runtime is asked for it anew only later. */
  async updateContainerResources(containerId: string, resources: ContainerResources): Promise<void> {
    const { cpuShares, cpuQuota, memoryLimitInBytes } = resources;
    const text = [cpuShares, cpuQuota, memoryLimitInBytes].join('/');
    await this.#pass('updateContainerResources', `${containerId} ${text}`);
  }

  async reopenContainerLog(containerId: string, options?: ChangeOptions): Promise<void> {
    await this.#pass('reopenContainerLog', containerId, options);
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    options?: ChangeOptions,
  ): Promise<ExecResult> {
    const text = command.join(' ');
    await this.#pass('execSync', `${containerId} ${text} ${timeoutSeconds}`, options, true);
    return this.commands.get(text) ?? NO_OUTPUT;
  }

  async pullImage(image: string, options?: ChangeOptions): Promise<string> {
    await this.#pass('pullImage', image, options, true);
    if (!this.#pullable.has(image)) throw new Error(`there is no image ${image} anywhere`);
    return this.addImage(image).id;
  }

  async findImage(image: string): Promise<RuntimeImage | undefined> {
    await this.#pass('findImage', image);
    return this.#images.get(image);
  }

  async listImages(): Promise<readonly RuntimeImage[]> {
    return Promise.resolve([...new Set(this.#images.values())]);
  }

  async removeImage(image: string): Promise<void> {
    await this.#pass('removeImage', image);
    this.#images.delete(image);
  }

  async findPod(uid: string): Promise<ObservedPod | undefined> {
    const status = this.observe(uid);
    if (status.sandboxes.length === 0 && status.containers.length === 0) return Promise.resolve(undefined);
    const toObserved = (kind: 'container' | 'sandbox') => (each: ContainerStatus | SandboxStatus) => {
      const { id, name, attempt, state, createdAtNs } = each;
      const sandboxId = 'sandboxId' in each ? each.sandboxId : id;
      return { kind, id, name, attempt, state, createdAtNs, sandboxId };
    };
    return Promise.resolve({
      ...{ uid, namespace: status.namespace, name: status.name, owner: status.owner },
      sandboxes: status.sandboxes.map(toObserved('sandbox')),
      containers: status.containers.map(toObserved('container')),
    });
  }

  /** Of what is named in it alone. */
  getPodStatus(pod: ObservedPod): Promise<PodStatus> {
    const named = new Set([...pod.sandboxes, ...pod.containers].map(({ id }) => id));
    const isNamed = ({ id }: { readonly id: string }): boolean => named.has(id);
    const status = this.observe(pod.uid);
    return Promise.resolve({
      ...status,
      sandboxes: status.sandboxes.filter(isNamed),
      containers: status.containers.filter(isNamed),
    });
  }

  /** The pod as it is now. */
  observe(uid: string): PodStatus {
    const isOurs = ({ labels }: { labels: Readonly<Record<string, string>> }): boolean =>
      labels[LABELS.podUid] === uid;
    const sandboxes = [...this.#sandboxes.values()].map(({ status }) => status).filter(isOurs);
    const containers = [...this.#containers.values()].map(({ status }) => status).filter(isOurs);
    sandboxes.sort((one, other) => other.attempt - one.attempt);
    const labels = sandboxes[0]?.labels ?? {};
    return {
      uid,
      namespace: labels[LABELS.podNamespace] ?? '',
      name: labels[LABELS.podName] ?? '',
      owner: ownerOf(labels),
      ips: sandboxes.find(({ state }) => state === 'running')?.ips ?? [],
      sandboxes,
      containers,
    };
  }

  #end(containerId: string, exitCode: number): void {
    const container = this.#container(containerId);
    const finishedAtNs = this.#nowNs();
    const reason = exitCode === 0 ? 'Completed' : 'Error';
    container.status = { ...container.status, state: 'exited', exitCode, reason, finishedAtNs };
  }

  /** A call that was sent settles, whatever its signal says, unless it is one that may be left. */
  async #pass(
    method: Changing,
    subject: string,
    { signal }: ChangeOptions = {},
    mayBeLeft = false,
  ): Promise<void> {
    signal?.throwIfAborted();
    this.calls.push(`${method} ${subject}`);
    await this.gate(method).pass(mayBeLeft ? signal : undefined);
  }

  #sandbox(id: string): FakeSandbox {
    const sandbox = this.#sandboxes.get(id);
    if (sandbox === undefined) throw new Error(`there is no sandbox ${id}`);
    return sandbox;
  }

  #container(id: string): FakeContainer {
    const container = this.#containers.get(id);
    if (container === undefined) throw new Error(`there is no container ${id}`);
    return container;
  }

  #nowNs(): bigint {
    return BigInt(Math.round(this.#clock.now())) * 1_000_000n;
  }
}
