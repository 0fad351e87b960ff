/**
 * The runtime as the doctor's rules see it, without a list of the doctor's own.
 *
 * In: what the event generator has listed, and how its calls went. Out: the answers that the doctor would have
 * got. A call of the generator without an answer is a call of the doctor without one. Only cheap calls that are
 * about no pod are sent, and a few statuses, to know how long one takes: one after another, and two at once while one hangs.
 *
 * @module
 */
import { type CriCall, type CriCallEnd, criCallEnded } from '#base/channels/channels.js';
import { type Channels } from '#base/channels/publishing-channel.js';
import { ERROR_CODES, type ErrorCode, PodloopError } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import {
  type CallLimits,
  type ImageFilesystem,
  type ListAnswer,
  type ListedContainer,
  type ListedSandbox,
  type MeasuredPart,
  NOT_ASKED,
  type RuntimeCondition,
  type RuntimePort,
} from '#doctor';
import { type CriClient, measurePart, type ObservedPod, type Pleg, probeEndpoint } from '#watch';

/** What an {@link ObservedPort} asks. */
export interface ObservedPortOptions {
  readonly client: Pick<
    CriClient,
    | 'endpoint'
    | 'version'
    | 'status'
    | 'imageFsInfo'
    | 'podSandboxStatus'
    | 'containerStatus'
    | 'callsInFlight'
    | 'callForBytes'
    | 'decodeMessage'
  >;
  readonly pleg: Pick<Pleg, 'findObserved' | 'cache' | 'health'>;
  readonly channels: Channels;
  readonly clock: Clock;
}

/** An error of an ended call. */
interface Failure {
  readonly code: string;
  readonly error: string;
}

/** A call of the generator that is older is waited for; most are answered within milliseconds. */
const JOINED_AFTER_MS = 1_000;
const CHECK_MS = 200;
/** A list that was cancelled earlier says nothing of the runtime. */
const GIVEN_UP_MS = 10_000;
/** How many statuses an examination asks for, and how many of them are under way at once where one hangs. */
const SAMPLE = 10;
const SAMPLE_AT_ONCE = 2;
const SLOW_MS = 1_000;
const MAX_FAILURES = 1_000;
const NS_PER_MS = 1_000_000n;
/** A list may come as a stream. */
const LISTS: ReadonlyMap<string, string> = new Map([
  ['StreamPodSandboxes', 'ListPodSandbox'],
  ['StreamContainers', 'ListContainers'],
]);

/** See the module. Begin each examination with {@link ObservedPort.beginExamination}. */
export class ObservedPort implements RuntimePort, Disposable {
  readonly endpoint: string;
  readonly #options: ObservedPortOptions;
  readonly #leave: () => void;
  readonly #bytes = new Map<string, number>();
  readonly #listFailures = new Map<string, Failure>();
  /** By id of the sandbox or container, the oldest first. */
  readonly #statusFailures = new Map<string, Failure>();
  #samplesLeft = 0;
  #sampling = 0;

  constructor(options: ObservedPortOptions) {
    this.#options = options;
    this.endpoint = options.client.endpoint;
    this.#leave = options.channels.subscribe(criCallEnded, (end) => this.#callEnded(end));
  }

  beginExamination(): void {
    this.#samplesLeft = SAMPLE;
  }

  async connect({ signal, timeoutMs }: CallLimits): Promise<{ name: string; version: string }> {
    const { clock } = this.#options;
    const found = await probeEndpoint(this.endpoint, { signal, timeoutMs, clock });
    return { name: found.runtimeName, version: found.runtimeVersion };
  }

  async version(limits: CallLimits): Promise<unknown> {
    return await this.#options.client.version({}, limits);
  }

  async status(limits: CallLimits): Promise<readonly RuntimeCondition[]> {
    const { status } = await this.#options.client.status({}, limits);
    return (status?.conditions ?? []).map(({ type, status: isTrue, reason, message }) => ({
      ...{ type, status: isTrue, reason, message },
    }));
  }

  async imageFilesystems(limits: CallLimits): Promise<readonly ImageFilesystem[]> {
    const { imageFilesystems, containerFilesystems } = await this.#options.client.imageFsInfo({}, limits);
    const mountpoints = [...imageFilesystems, ...containerFilesystems]
      .map(({ fsId }) => fsId?.mountpoint ?? '')
      .filter((mountpoint) => mountpoint !== '');
    return [...new Set(mountpoints)].map((mountpoint) => ({ mountpoint }));
  }

  async listSandboxes(limits: CallLimits): Promise<ListAnswer<ListedSandbox>> {
    await this.#untilListed('ListPodSandbox', limits);
    const items = this.#pods().flatMap(toSandboxes);
    return { items, bytes: this.#bytes.get('ListPodSandbox') ?? 0 };
  }

  async listContainers(limits: CallLimits): Promise<ListAnswer<ListedContainer>> {
    await this.#untilListed('ListContainers', limits);
    const items = this.#pods().flatMap(toContainers);
    return { items, bytes: this.#bytes.get('ListContainers') ?? 0 };
  }

  async measurePart(
    method: 'ListPodSandbox' | 'ListContainers',
    sandboxId: string,
    limits: CallLimits,
  ): Promise<MeasuredPart> {
    return await measurePart(this.#options.client, method, sandboxId, limits);
  }

  async sandboxStatus(id: string, limits: CallLimits): Promise<unknown> {
    const { client } = this.#options;
    return await this.#statusOf(id, limits, () => client.podSandboxStatus({ podSandboxId: id }, limits));
  }

  async containerStatus(id: string, limits: CallLimits): Promise<unknown> {
    const { client } = this.#options;
    return await this.#statusOf(id, limits, () => client.containerStatus({ containerId: id }, limits));
  }

  /** An observer leaves events to others. */
  async readEvents(): Promise<void> {
    await Promise.reject(new PodloopError('CRI_UNIMPLEMENTED', 'an observer does not read events of CRI'));
  }

  [Symbol.dispose](): void {
    this.#leave();
  }

  #pods(): ObservedPod[] {
    const { pleg } = this.#options;
    return [...pleg.cache.uids()].flatMap((uid) => pleg.findObserved(uid) ?? []);
  }

  async #untilListed(method: string, limits: CallLimits): Promise<void> {
    await this.#untilAnswered(() => this.#sentList()?.method === method, method, limits);
    const failure = this.#listFailures.get(method);
    if (failure !== undefined) throw toError(failure);
    // No pods are known then, which is not the same as none.
    if (this.#options.pleg.health().lastSeenAtMs === undefined)
      throw new PodloopError('CRI_UNAVAILABLE', `${method} has not succeeded yet`);
  }

  /** Lists go out one at a time: of those in flight only the oldest was sent. */
  #sentList(): { readonly method: string } | undefined {
    const [oldest] = this.#inFlight().filter(({ method }) => isList(method));
    return oldest === undefined ? undefined : { method: nameOf(oldest.method) };
  }

  #inFlight(): CriCall[] {
    const { client, clock } = this.#options;
    const sinceMs = clock.monotonicMs() - JOINED_AFTER_MS;
    return client.callsInFlight().filter(({ startedAtMonotonicMs }) => startedAtMonotonicMs <= sinceMs);
  }

  async #statusOf(id: string, limits: CallLimits, send: () => Promise<unknown>): Promise<unknown> {
    const isAsked = (): boolean =>
      this.#inFlight().some(
        ({ containerId, sandboxId, method }) =>
          method.endsWith('Status') &&
          (containerId === id || (containerId === undefined && sandboxId === id)),
      );
    if (isAsked()) await this.#untilAnswered(isAsked, 'the status', limits);
    const failure = this.#statusFailures.get(id);
    if (failure !== undefined) throw toError(failure);
    if (this.#samplesLeft === 0 || this.#sampling >= SAMPLE_AT_ONCE) return NOT_ASKED;
    this.#samplesLeft--;
    this.#sampling++;
    const { clock } = this.#options;
    const startedMs = clock.monotonicMs();
    try {
      return await send();
    } finally {
      this.#sampling--;
      // A runtime that is slow is not asked more than it has to be.
      if (clock.monotonicMs() - startedMs >= SLOW_MS) this.#samplesLeft = 0;
    }
  }

  async #untilAnswered(isWaiting: () => boolean, what: string, limits: CallLimits): Promise<void> {
    const { clock } = this.#options;
    const untilMs = clock.monotonicMs() + limits.timeoutMs;
    while (isWaiting()) {
      if (clock.monotonicMs() >= untilMs) {
        const message = `${what} was not answered within ${limits.timeoutMs} ms`;
        throw new PodloopError('CRI_DEADLINE_EXCEEDED', message);
      }
      await clock.sleep(CHECK_MS, limits.signal);
    }
  }

  #callEnded(end: CriCallEnd): void {
    const { call, outcome, error = '', responseBytes, durationMs } = end;
    const { method, containerId, sandboxId, pod } = call;
    // The generator gives up a list that takes too long, and begins another one at once.
    const isGivenUp = outcome === 'aborted' && isList(method) && durationMs >= GIVEN_UP_MS;
    if (outcome === 'aborted' && !isGivenUp) return;
    const code = isGivenUp ? 'CRI_DEADLINE_EXCEEDED' : outcome;
    const words = isGivenUp ? `${method} was not answered within ${durationMs} ms` : error;
    const failure = outcome === 'ok' ? undefined : { code, error: words };
    // Of a part, which is asked for to know its size.
    if (call.filtered === true) return;
    if (isList(method) && pod === undefined) {
      // A runtime without streams is asked again in the other way.
      if (outcome === 'CRI_UNIMPLEMENTED') return;
      const name = nameOf(method);
      if (failure === undefined) this.#bytes.set(name, responseBytes);
      replace(this.#listFailures, name, failure);
    } else if (method === 'ContainerStatus' || method === 'PodSandboxStatus') {
      const isGone = outcome === 'CRI_NOT_FOUND';
      replace(this.#statusFailures, containerId ?? sandboxId ?? '', isGone ? undefined : failure);
      const [oldest] = this.#statusFailures.keys();
      if (this.#statusFailures.size > MAX_FAILURES) this.#statusFailures.delete(oldest!);
    }
  }
}

function isList(method: string): boolean {
  return LISTS.has(method) || [...LISTS.values()].includes(method);
}

function nameOf(method: string): string {
  return LISTS.get(method) ?? method;
}

function replace(failures: Map<string, Failure>, key: string, failure: Failure | undefined): void {
  failures.delete(key);
  if (failure !== undefined) failures.set(key, failure);
}

function toError({ code, error }: Failure): PodloopError {
  return new PodloopError(Object.hasOwn(ERROR_CODES, code) ? (code as ErrorCode) : 'CRI_UNKNOWN', error);
}

function toSandboxes({ uid, namespace, name, sandboxes }: ObservedPod): ListedSandbox[] {
  return sandboxes.map(({ id, attempt, state, createdAtNs }) => ({
    ...{ id, attempt, ready: state === 'running', pod: { uid, namespace, name } },
    createdAtMs: Number(createdAtNs / NS_PER_MS),
  }));
}

function toContainers({ containers }: ObservedPod): ListedContainer[] {
  return containers.map(({ id, name, sandboxId, attempt, state, createdAtNs }) => ({
    ...{ id, name, sandboxId, attempt, state, createdAtMs: Number(createdAtNs / NS_PER_MS) },
  }));
}
