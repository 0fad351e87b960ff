import { status } from '@grpc/grpc-js';
import {
  ContainerStatusRequest,
  ContainerStatusResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  VersionResponse,
} from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { NOT_RECORDED } from '#base/channels/recording-words.js';
import { type CallIndex } from './call-index.js';
import { kindOf } from '../method-kinds.js';
import { type RecordedMethod } from '../recorded-method.js';
import { type RecordingFile } from '../recording-file.js';
import { type ReplayClock } from './replay-clock.js';
import { type RecordedCall, type Timeline } from './timeline.js';
import { type WorldHistory } from './world-history.js';
import { matchesContainer, matchesSandbox } from './world-filters.js';

/** How a call ends that is not answered with success. */
export class ReplayedError extends Error {
  override readonly name = 'ReplayedError';
  /** gRPC's. */
  readonly code: number;

  constructor(code: number, message: string) {
    super(message);
    this.code = code;
  }
}

/** What {@link ReplayAnswers} answers from. */
export interface ReplayAnswersOptions {
  readonly file: RecordingFile;
  readonly timeline: Timeline;
  readonly index: CallIndex;
  readonly history: WorldHistory;
  readonly clock: ReplayClock;
  /** The one on the wall, to wait by. */
  readonly wallClock: Clock;
}

/**
 * What a recording answers to a call, at the moment that it is in the recording.
 *
 * The last recorded call of the same question says how: how long it takes, with which error, or not at all. A list or a
 * status with success tells of the node as it was seen at that moment; everything else is what was answered then.
 */
export class ReplayAnswers {
  readonly #options: ReplayAnswersOptions;

  constructor(options: ReplayAnswersOptions) {
    this.#options = options;
  }

  /**
   * The messages of the answer, once it is time for them. Rejects with {@link ReplayedError}, or with the reason of
   * the signal, which is all that ends a call that hung.
   *
   * @param request without secrets, as requests in the recording are.
   */
  async answer(method: RecordedMethod, request: Buffer, signal: AbortSignal): Promise<readonly Buffer[]> {
    const { index, clock, timeline, wallClock } = this.#options;
    const { at } = clock.now();
    const kind = kindOf(method);
    if (kind === 'stream') {
      const why = 'what goes through exec, attach and port-forward is not in it';
      throw new ReplayedError(status.FAILED_PRECONDITION, `${NOT_RECORDED}${why}`);
    }
    const latest = index.findLatest(method, request, at);
    if (latest !== undefined && timeline.hung(latest)) return untilGivenUp(signal);
    const latencyMs = latest?.endAt === undefined ? 0 : clock.toMs(latest.endAt - latest.at);
    if (latencyMs > 0) await wallClock.sleep(latencyMs, signal);
    if (latest !== undefined && latest.code !== 0)
      throw new ReplayedError(latest.code ?? status.UNKNOWN, latest.message);
    if (kind === 'list') return this.#list(method, request, at);
    if (kind === 'status') return this.#status(method, request, at);
    const call = latest ?? index.findFirstSuccess(method, request);
    if (call !== undefined) return this.#read(call);
    // With this every client begins, and who was there before the recorder had done so.
    if (method.name === 'Version') return [this.#makeVersion()];
    throw this.#notRecorded(method);
  }

  async #list(method: RecordedMethod, request: Buffer, at: number): Promise<readonly Buffer[]> {
    const { history, index } = this.#options;
    const isOfSandboxes = method.name.includes('Sandbox');
    // Who streams lists falls back to the others when the runtime does not have them.
    const isThere = method.streams
      ? index.has(method)
      : history.hasLists(isOfSandboxes ? 'sandboxes' : 'containers');
    if (!isThere) throw this.#notRecorded(method);
    const world = await history.at(at);
    if (isOfSandboxes) {
      const { filter } = ListPodSandboxRequest.decode(request);
      const items = [...world.sandboxes()].filter((item) => matchesSandbox(item, filter));
      return [Buffer.from(ListPodSandboxResponse.encode({ items }).finish())];
    }
    const { filter } = ListContainersRequest.decode(request);
    const containers = [...world.containers()].filter((item) => matchesContainer(item, filter));
    return [Buffer.from(ListContainersResponse.encode({ containers }).finish())];
  }

  async #status(method: RecordedMethod, request: Buffer, at: number): Promise<readonly Buffer[]> {
    const { history } = this.#options;
    if (method.name === 'PodSandboxStatus') {
      const { podSandboxId: id, verbose } = PodSandboxStatusRequest.decode(request);
      const found = await history.findSandboxStatus(id, at);
      if (found === undefined) throw notThere('pod sandbox', id);
      const answer = verbose ? found : { ...found, info: {} };
      return [Buffer.from(PodSandboxStatusResponse.encode(answer).finish())];
    }
    const { containerId: id, verbose } = ContainerStatusRequest.decode(request);
    const found = await history.findContainerStatus(id, at);
    if (found === undefined) throw notThere('container', id);
    const answer = verbose ? found : { ...found, info: {} };
    return [Buffer.from(ContainerStatusResponse.encode(answer).finish())];
  }

  async #read({ messages }: RecordedCall): Promise<readonly Buffer[]> {
    const answer: Buffer[] = [];
    for (const { blob } of messages) answer.push(await this.#options.file.readBlob(blob));
    return answer;
  }

  #makeVersion(): Buffer {
    const { podloop } = this.#options.timeline.meta;
    const version = { version: '0.1.0', runtimeApiVersion: 'v1', runtimeName: 'podloop-replay' };
    return Buffer.from(VersionResponse.encode({ ...version, runtimeVersion: podloop }).finish());
  }

  #notRecorded(method: RecordedMethod): ReplayedError {
    const { name } = method;
    if (kindOf(method) === 'change') {
      const why = `nobody asked for this ${name} in it, and it cannot be changed`;
      return new ReplayedError(status.FAILED_PRECONDITION, `${NOT_RECORDED}${why}`);
    }
    const what = this.#options.index.has(method) ? `this ${name}` : name;
    return new ReplayedError(status.UNIMPLEMENTED, `${NOT_RECORDED}nobody asked for ${what} in it`);
  }
}

function notThere(what: string, id: string): ReplayedError {
  return new ReplayedError(status.NOT_FOUND, `${what} "${id}": not found at this moment of the recording`);
}

/** Hangs, as it did. */
function untilGivenUp(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  });
}
