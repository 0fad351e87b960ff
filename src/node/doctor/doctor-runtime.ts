import { cri, CRI_METHODS, CriClient, measurePart, probeEndpoint, readContainerEvents } from '#watch';
import {
  type CallLimits,
  type ImageFilesystem,
  type ListAnswer,
  type ListedContainer,
  type ListedSandbox,
  type MeasuredPart,
  type RuntimeCondition,
  type RuntimeContainer,
  type RuntimePort,
} from '#doctor';
import { type Clock } from '#base/time/clock.js';

/** Allows a list that a kubelet would refuse, so that it can be measured. */
const MAX_BYTES = 256 * 1024 * 1024;
/** A list from where on it matters whose share is large: half of what a kubelet accepts. */
const LARGE_BYTES = 8 * 1024 * 1024;
const NS_PER_MS = 1_000_000n;

const STATES: Readonly<Record<number, ListedContainer['state']>> = {
  [cri.ContainerState.CONTAINER_CREATED]: 'created',
  [cri.ContainerState.CONTAINER_RUNNING]: 'running',
  [cri.ContainerState.CONTAINER_EXITED]: 'exited',
};

/** A container runtime for the doctor, over CRI. Close it after the examination. */
export class DoctorRuntime implements RuntimePort {
  readonly endpoint: string;
  readonly #clock: Clock;
  readonly #client: CriClient;

  constructor(options: { readonly endpoint: string; readonly clock: Clock }) {
    this.endpoint = options.endpoint;
    this.#clock = options.clock;
    this.#client = new CriClient({ ...options, maxReceiveMessageBytes: MAX_BYTES });
  }

  /** Idempotent. */
  close(): void {
    this.#client.close();
  }

  async connect({ signal, timeoutMs }: CallLimits): Promise<{ name: string; version: string }> {
    const found = await probeEndpoint(this.endpoint, { signal, timeoutMs, clock: this.#clock });
    return { name: found.runtimeName, version: found.runtimeVersion };
  }

  async version(limits: CallLimits): Promise<unknown> {
    return await this.#client.version({}, limits);
  }

  async status(limits: CallLimits): Promise<readonly RuntimeCondition[]> {
    const { status } = await this.#client.status({}, limits);
    return (status?.conditions ?? []).map(({ type, status: isTrue, reason, message }) => ({
      ...{ type, status: isTrue, reason, message },
    }));
  }

  async listSandboxes(limits: CallLimits): Promise<ListAnswer<ListedSandbox>> {
    const method = CRI_METHODS.listPodSandbox;
    const bytes = await this.#client.callForBytes(method, {}, limits);
    const { items } = this.#client.decodeMessage(method, bytes);
    return toAnswer(bytes.length, items, toSandbox, cri.PodSandbox);
  }

  async listContainers(limits: CallLimits): Promise<ListAnswer<ListedContainer>> {
    const method = CRI_METHODS.listContainers;
    const bytes = await this.#client.callForBytes(method, {}, limits);
    const { containers } = this.#client.decodeMessage(method, bytes);
    return toAnswer(bytes.length, containers, toContainer, cri.Container);
  }

  async measurePart(
    method: 'ListPodSandbox' | 'ListContainers',
    sandboxId: string,
    limits: CallLimits,
  ): Promise<MeasuredPart> {
    return await measurePart(this.#client, method, sandboxId, limits);
  }

  async sandboxStatus(podSandboxId: string, limits: CallLimits): Promise<unknown> {
    return await this.#client.podSandboxStatus({ podSandboxId, verbose: false }, limits);
  }

  async containerStatus(containerId: string, limits: CallLimits): Promise<unknown> {
    return await this.#client.containerStatus({ containerId, verbose: false }, limits);
  }

  /** How a container ended; empty for one that has not. */
  async readEnd(
    containerId: string,
    limits: CallLimits,
  ): Promise<Pick<RuntimeContainer, 'exitCode' | 'reason' | 'message' | 'finishedAtMs'>> {
    const { status } = await this.#client.containerStatus({ containerId, verbose: false }, limits);
    if (status?.state !== cri.ContainerState.CONTAINER_EXITED) return {};
    const { exitCode, reason, message, finishedAt } = status;
    return { exitCode, reason, message, finishedAtMs: Number(finishedAt / NS_PER_MS) };
  }

  async listImages(limits: CallLimits): Promise<void> {
    await this.#client.listImages({ filter: undefined }, limits);
  }

  async imageFilesystems(limits: CallLimits): Promise<readonly ImageFilesystem[]> {
    const { imageFilesystems, containerFilesystems } = await this.#client.imageFsInfo({}, limits);
    const mountpoints = [...imageFilesystems, ...containerFilesystems]
      .map(({ fsId }) => fsId?.mountpoint ?? '')
      .filter((mountpoint) => mountpoint !== '');
    return [...new Set(mountpoints)].map((mountpoint) => ({ mountpoint }));
  }

  async readEvents(onEvent: (containerId: string) => void, signal: AbortSignal): Promise<void> {
    await readContainerEvents(
      this.#client,
      { onEvent: ({ containerId }) => onEvent(containerId) },
      { signal },
    );
  }
}

/** The items of a list of so many bytes; where that is large, each with its share. */
function toAnswer<Item, Listed>(
  bytes: number,
  items: readonly Item[],
  convert: (item: Item) => Listed,
  codec: { encode(item: Item): { finish(): Uint8Array } },
): ListAnswer<Listed & { readonly bytes?: number }> {
  const sizeOf = (item: Item) => (bytes >= LARGE_BYTES ? { bytes: codec.encode(item).finish().length } : {});
  return { bytes, items: items.map((item) => ({ ...convert(item), ...sizeOf(item) })) };
}

function toSandbox({ id, metadata, state, createdAt }: cri.PodSandbox): ListedSandbox {
  const { uid = '', namespace = '', name = '', attempt = 0 } = metadata ?? {};
  return {
    ...{ id, attempt, ready: state === cri.PodSandboxState.SANDBOX_READY },
    pod: { uid: uid === '' ? id : uid, namespace, name },
    createdAtMs: Number(createdAt / NS_PER_MS),
  };
}

function toContainer({ id, podSandboxId, metadata, state, createdAt }: cri.Container): ListedContainer {
  return {
    ...{ id, sandboxId: podSandboxId, state: STATES[state] ?? 'unknown' },
    ...{ name: metadata?.name ?? '', attempt: metadata?.attempt ?? 0 },
    createdAtMs: Number(createdAt / NS_PER_MS),
  };
}
