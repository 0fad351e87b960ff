import { setMaxListeners } from 'node:events';
import {
  type CallLimits,
  type ImageFilesystem,
  type ListAnswer,
  type ListedContainer,
  type ListedSandbox,
  type MeasuredPart,
  type RuntimeCondition,
  type RuntimePort,
} from '#doctor';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';

/** What a call does: answers after so many milliseconds, hangs, or fails. */
export type PortBehavior = number | 'hang' | PodloopError;

/** A runtime as the doctor asks it, on which nothing is wrong until a test says so. */
export class FakeRuntimePort implements RuntimePort {
  readonly endpoint = 'unix:///run/fake.sock';
  name = 'podloop-embedded';
  runtimeVersion = '0.1.0';
  sandboxes: ListedSandbox[] = [];
  containers: ListedContainer[] = [];
  /** What a call does; `about` is the id of a sandbox or container. Default: answers at once. */
  behave: (method: string, about: string) => PortBehavior = () => 0;
  /** Calls so far, by method. */
  readonly calls = new Map<string, number>();
  /** Tells readers of the event stream of a container. */
  tell: (containerId: string) => void = () => undefined;
  /** Ends the event stream, with an error or without. */
  endStream: (error?: Error) => void = () => undefined;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Adds a pod of one sandbox and that many containers. */
  addPod(name: string, containers = 1): void {
    const pod = { uid: `uid-${name}`, namespace: 'default', name };
    const createdAtMs = this.#clock.now() - 3_600_000;
    this.sandboxes.push({ id: `${name}-sandbox`, pod, attempt: 0, ready: true, createdAtMs });
    for (let at = 0; at < containers; at++) {
      const id = `${name}-c${at}`;
      const sandboxId = `${name}-sandbox`;
      this.containers.push({ id, name: `c${at}`, sandboxId, attempt: 0, state: 'running', createdAtMs });
    }
  }

  async connect(limits: CallLimits): Promise<{ name: string; version: string }> {
    await this.#call('connect', '', limits);
    return { name: this.name, version: this.runtimeVersion };
  }

  async version(limits: CallLimits): Promise<void> {
    await this.#call('Version', '', limits);
  }

  async status(limits: CallLimits): Promise<readonly RuntimeCondition[]> {
    await this.#call('Status', '', limits);
    return [{ type: 'RuntimeReady', status: true, reason: '', message: '' }];
  }

  async listSandboxes(limits: CallLimits): Promise<ListAnswer<ListedSandbox>> {
    await this.#call('ListPodSandbox', '', limits);
    return { items: [...this.sandboxes], bytes: this.sandboxes.length * 100 };
  }

  async listContainers(limits: CallLimits): Promise<ListAnswer<ListedContainer>> {
    await this.#call('ListContainers', '', limits);
    return { items: [...this.containers], bytes: this.containers.length * 100 };
  }

  async measurePart(
    method: 'ListPodSandbox' | 'ListContainers',
    sandboxId: string,
    limits: CallLimits,
  ): Promise<MeasuredPart> {
    await this.#call(method, sandboxId, limits);
    const parts = {
      ListPodSandbox: 1,
      ListContainers: this.containers.filter((each) => each.sandboxId === sandboxId).length,
    };
    return { pod: undefined, items: parts[method], bytes: parts[method] * 100 };
  }

  async sandboxStatus(id: string, limits: CallLimits): Promise<void> {
    await this.#call('PodSandboxStatus', id, limits);
  }

  async containerStatus(id: string, limits: CallLimits): Promise<void> {
    await this.#call('ContainerStatus', id, limits);
  }

  async listImages(limits: CallLimits): Promise<void> {
    await this.#call('ListImages', '', limits);
  }

  async imageFilesystems(limits: CallLimits): Promise<readonly ImageFilesystem[]> {
    await this.#call('ImageFsInfo', '', limits);
    return [{ mountpoint: '/var/lib/fake' }];
  }

  readEvents(onEvent: (containerId: string) => void, signal: AbortSignal): Promise<void> {
    return new Promise((resolve, reject) => {
      this.tell = onEvent;
      this.endStream = (error) => (error === undefined ? resolve() : reject(error));
      signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    });
  }

  async #call(method: string, about: string, { signal, timeoutMs }: CallLimits): Promise<void> {
    this.calls.set(method, (this.calls.get(method) ?? 0) + 1);
    // Dozens of calls run at once, and each waits for it.
    setMaxListeners(0, signal);
    const behaviour = this.behave(method, about);
    if (behaviour instanceof PodloopError) throw behaviour;
    const takesMs = behaviour === 'hang' ? Number.POSITIVE_INFINITY : behaviour;
    if (takesMs > 0) await this.#clock.sleep(Math.min(takesMs, timeoutMs), signal);
    if (takesMs > timeoutMs)
      throw new PodloopError('CRI_DEADLINE_EXCEEDED', `${method}: no answer within ${timeoutMs} ms`);
  }
}
