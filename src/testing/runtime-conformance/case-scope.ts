import assert from 'node:assert/strict';

import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type Runtime,
} from '../../watch/observed/runtime.js';
import { type ContainerToMake, type PodToMake, type RuntimeDriver } from './runtime-driver.js';

/** A pod that a case has made. */
export interface MadePod extends PodToMake {
  readonly sandboxId: string;
}

/**
 * What one conformance case works in: it makes pods under names of its own, waits for what it expects, and takes
 * away at its end what it made. Nothing else on the runtime is looked at or touched.
 */
export class CaseScope implements AsyncDisposable {
  readonly runtime: Runtime;
  readonly driver: RuntimeDriver;
  readonly signal: AbortSignal;
  readonly #id: string;
  readonly #sandboxIds = new Set<string>();
  #pods = 0;

  /** `id` sets the names of this case apart from those of every other run. */
  constructor(options: { driver: RuntimeDriver; signal: AbortSignal; id: string }) {
    this.driver = options.driver;
    this.runtime = options.driver.runtime;
    this.signal = options.signal;
    this.#id = options.id;
  }

  /** Runs a sandbox. */
  async makePod(): Promise<MadePod> {
    const name = `conformance-${this.#id}-${this.#pods++}`;
    const pod = {
      uid: `uid-${name}`,
      namespace: 'podloop-conformance',
      name,
      labels: { app: name },
      annotations: { 'podloop.dev/note': 'kept as it is: ✓' },
    };
    const sandboxId = await this.driver.runSandbox(pod);
    this.#sandboxIds.add(sandboxId);
    return { ...pod, sandboxId };
  }

  /** Creates a container `main` that runs on; it is not started. Answers with its id. */
  async createContainer(
    pod: MadePod,
    container: Partial<Pick<ContainerToMake, 'name' | 'attempt' | 'program'>> = {},
  ): Promise<string> {
    const { name = 'main', attempt = 0, program = 'runsOn' } = container;
    return this.driver.createContainer({ pod, sandboxId: pod.sandboxId, name, attempt, program });
  }

  /** Creates and starts a container; its id. */
  async runContainer(...args: Parameters<CaseScope['createContainer']>): Promise<string> {
    const id = await this.createContainer(...args);
    await this.driver.startContainer(id);
    return id;
  }

  /** Runs a container that ends by itself, and waits until the runtime has seen it end. */
  async runToItsEnd(pod: MadePod, exitCode: number): Promise<string> {
    const id = await this.runContainer(pod, { program: { exitsWith: exitCode } });
    await this.awaitState(pod, id, 'exited');
    return id;
  }

  /** Stops and removes a pod. */
  async removePod(pod: MadePod): Promise<void> {
    await this.driver.stopSandbox(pod.sandboxId);
    await this.driver.removeSandbox(pod.sandboxId);
    this.#sandboxIds.delete(pod.sandboxId);
  }

  /** The pod as a list shows it; fails when it does not. */
  async getListed(pod: MadePod): Promise<ObservedPod> {
    const listed = (await this.runtime.listPods(this.signal)).find(({ uid }) => uid === pod.uid);
    assert.ok(listed, `${pod.name} is not in the list`);
    return listed;
  }

  /** The pod's status by way of a list. */
  async getStatus(pod: MadePod): Promise<PodStatus> {
    return this.runtime.getPodStatus(await this.getListed(pod), this.signal);
  }

  /** The status of one container by way of a list. */
  async getContainerStatus(pod: MadePod, id: string): Promise<ContainerStatus> {
    const status = (await this.getStatus(pod)).containers.find((container) => container.id === id);
    assert.ok(status, `container ${id} is not in the status of ${pod.name}`);
    return status;
  }

  /** Waits until a list shows the container or sandbox in that state. */
  async awaitState(pod: MadePod, id: string, state: ObservedState): Promise<ObservedContainer> {
    return this.awaitValue(`${id} is ${state}`, async () => {
      const { sandboxes, containers } = await this.getListed(pod);
      return [...sandboxes, ...containers].find((item) => item.id === id && item.state === state);
    });
  }

  /** Asks again and again until the answer is defined; rejects with what was awaited when the signal aborts. */
  async awaitValue<T>(awaited: string, ask: () => Promise<T | undefined> | T | undefined): Promise<T> {
    for (;;) {
      if (this.signal.aborted) throw new Error(`gave up waiting: ${awaited}`, { cause: this.signal.reason });
      const value = await ask();
      if (value !== undefined) return value;
      await this.driver.pause();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const id of this.#sandboxIds) {
      await this.driver.stopSandbox(id);
      await this.driver.removeSandbox(id);
    }
  }
}
