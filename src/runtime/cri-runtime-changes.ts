import { type CallOptions, type CriClient, cri } from '../cri/index.js';
import { abortable } from '../util/abortable.js';
import { type Clock, SystemClock } from '../util/clock.js';
import { isNotFound, PodloopError } from '../util/errors.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';

import { AdaptiveBound, type AdaptiveBoundOptions } from './adaptive-bound.js';
import { ChangeLane, type LaneFacts } from './change-lane.js';
import { findSameContainer, findSameSandbox } from './find-same-attempt.js';
import { ANNOTATIONS } from './labels.js';
import {
  type ChangeOptions,
  type ContainerConfig,
  type ContainerResources,
  type ExecResult,
  type RuntimeChanges,
  type RuntimeImage,
  type SandboxConfig,
} from './runtime-changes.js';
import { isNameTaken, isOutcomeUnknown, isOverload, UnsettledChanges } from './unsettled-changes.js';

/** The calls of a {@link CriClient} that change something, or read back what became of a change. */
export type ChangingClient = Pick<
  CriClient,
  | 'runPodSandbox'
  | 'stopPodSandbox'
  | 'removePodSandbox'
  | 'listPodSandbox'
  | 'podSandboxStatus'
  | 'createContainer'
  | 'startContainer'
  | 'stopContainer'
  | 'removeContainer'
  | 'listContainers'
  | 'containerStatus'
  | 'updateContainerResources'
  | 'reopenContainerLog'
  | 'execSync'
  | 'pullImage'
  | 'imageStatus'
  | 'listImages'
  | 'removeImage'
>;

/** What {@link CriRuntimeChanges} is made with. */
export interface CriRuntimeChangesOptions {
  readonly client: ChangingClient;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** The bound of changes other than stops and commands. */
  readonly bound?: AdaptiveBoundOptions;
}

/** What a {@link CriRuntimeChanges} is busy with. */
export interface ChangeFacts {
  readonly changes: LaneFacts;
  readonly stops: LaneFacts;
  readonly commands: LaneFacts;
  /** Changes whose outcome nobody knows yet. */
  readonly unsettled: number;
  /** Sandboxes and containers that were found made already, since the start. */
  readonly takenUp: number;
}

/** A sandbox may wait for its network for minutes: it gives its slot to others after this. */
const CHANGE_LEAVES_AFTER_MS = 10_000;
/** A stop mostly waits for the container, which costs the runtime nothing: only its beginning counts. */
const STOP_LEAVES_AFTER_MS = 1_000;
/**
 * Who goes first of the changes that wait: what is nearly done. A hundred new pods would otherwise all have their
 * sandboxes before the first of them runs.
 */
const RANKS: Readonly<Record<string, number>> = { create_container: 1, run_podsandbox: 2, remove_image: 3 };
const STOPS_AT_ONCE = 32;
const COMMANDS_AT_ONCE = 32;
/** Of calls that only wait; what a node could have at most. */
const MOST_WAITING = 10_000;

/**
 * Changes a runtime through CRI, in three lanes: stops, commands, and everything else, which has an adaptive bound.
 *
 * A call that was sent is never cancelled by its caller. Where its answer is lost, the object is marked as unsettled,
 * and the next try looks first: the same attempt of the same pod or container that bears our mark is taken up.
 */
export class CriRuntimeChanges implements RuntimeChanges {
  readonly #client: ChangingClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #bound: AdaptiveBound;
  readonly #changes: ChangeLane;
  readonly #stops: ChangeLane;
  readonly #commands: ChangeLane;
  readonly #unsettled = new UnsettledChanges();
  readonly #underWay = new Set<Promise<unknown>>();
  #takenUp = 0;

  constructor(options: CriRuntimeChangesOptions) {
    const clock = options.clock ?? new SystemClock();
    this.#client = options.client;
    this.#clock = clock;
    this.#logger = options.logger ?? SILENT_LOGGER;
    const bound = new AdaptiveBound(options.bound);
    this.#bound = bound;
    this.#changes = new ChangeLane({
      clock,
      limit: () => bound.limit,
      leaveAfterMs: CHANGE_LEAVES_AFTER_MS,
      mostOutside: 4 * (options.bound?.most ?? 64),
    });
    const waiting = { clock, leaveAfterMs: STOP_LEAVES_AFTER_MS, mostOutside: MOST_WAITING };
    this.#stops = new ChangeLane({ ...waiting, limit: () => STOPS_AT_ONCE });
    this.#commands = new ChangeLane({ ...waiting, limit: () => COMMANDS_AT_ONCE });
  }

  /** For `/debug` and for metrics. */
  get facts(): ChangeFacts {
    return {
      changes: this.#changes.facts,
      stops: this.#stops.facts,
      commands: this.#commands.facts,
      unsettled: this.#unsettled.size,
      takenUp: this.#takenUp,
    };
  }

  /** Resolves when nothing that was sent is under way any more; call it when nobody sends anything new. */
  async settled(signal?: AbortSignal): Promise<void> {
    while (this.#underWay.size > 0) await abortable(Promise.allSettled(this.#underWay), signal);
  }

  async runPodSandbox(
    config: SandboxConfig,
    { runtimeHandler = '', signal, pod }: ChangeOptions & { readonly runtimeHandler?: string } = {},
  ): Promise<string> {
    const { uid = '', attempt = 0 } = config.metadata ?? {};
    return await this.#make({
      operation: 'run_podsandbox',
      key: `sandbox ${uid} ${attempt}`,
      make: async () => {
        const { podSandboxId } = await this.#client.runPodSandbox({ config, runtimeHandler }, { pod });
        return podSandboxId;
      },
      findSame: async () => {
        const same = await findSameSandbox(this.#client, config, { pod });
        return same?.state === cri.PodSandboxState.SANDBOX_READY ? same.id : undefined;
      },
      signal,
    });
  }

  async getSandboxIps(sandboxId: string, { signal, pod }: ChangeOptions = {}): Promise<readonly string[]> {
    const { status } = await this.#client.podSandboxStatus({ podSandboxId: sandboxId }, { signal, pod });
    const { ip = '', additionalIps = [] } = status?.network ?? {};
    return [ip, ...additionalIps.map((more) => more.ip)].filter((address) => address !== '');
  }

  async createContainer(
    sandboxId: string,
    config: ContainerConfig,
    sandboxConfig: SandboxConfig,
    { signal, pod }: ChangeOptions = {},
  ): Promise<string> {
    const uid = sandboxConfig.metadata?.uid ?? '';
    const { name = '', attempt = 0 } = config.metadata ?? {};
    return await this.#make({
      operation: 'create_container',
      key: `container ${uid} ${name} ${attempt}`,
      make: async () => {
        const request = { podSandboxId: sandboxId, config, sandboxConfig };
        return (await this.#client.createContainer(request, { pod })).containerId;
      },
      findSame: async () => {
        const same = await findSameContainer(this.#client, sandboxId, config, { pod });
        if (same === undefined) return undefined;
        if (same.annotations[ANNOTATIONS.hash] === config.annotations[ANNOTATIONS.hash]) return same.id;
        // Somebody changed the manifest meanwhile: what never ran makes room.
        if (same.state !== cri.ContainerState.CONTAINER_CREATED) return undefined;
        await this.#client.removeContainer({ containerId: same.id }, { pod });
        return undefined;
      },
      signal,
    });
  }

  async startContainer(containerId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    const key = `start ${containerId}`;
    await this.#change('start_container', signal, async () => {
      if (this.#unsettled.has(key) && (await this.#stateOf(containerId, { pod })) !== 'created') {
        this.#unsettled.settle(key);
        return;
      }
      try {
        await this.#client.startContainer({ containerId }, { pod });
        this.#unsettled.settle(key);
      } catch (error) {
        if (isOutcomeUnknown(error)) this.#unsettled.mark(key);
        else if ((await this.#stateOf(containerId, { pod }).catch(() => 'created')) === 'running') return;
        throw error;
      }
    });
  }

  async stopPodSandbox(sandboxId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#stop(() => this.#client.stopPodSandbox({ podSandboxId: sandboxId }, { pod }), signal);
  }

  async stopContainer(
    containerId: string,
    graceSeconds: number,
    { signal, pod }: ChangeOptions = {},
  ): Promise<void> {
    const timeout = BigInt(Math.max(0, Math.ceil(graceSeconds)));
    await this.#stop(() => this.#client.stopContainer({ containerId, timeout }, { pod }), signal);
  }

  async removePodSandbox(sandboxId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#change('remove_podsandbox', signal, () =>
      unlessGone(this.#client.removePodSandbox({ podSandboxId: sandboxId }, { pod })),
    );
  }

  async removeContainer(containerId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#change('remove_container', signal, () =>
      unlessGone(this.#client.removeContainer({ containerId }, { pod })),
    );
  }

  async updateContainerResources(
    containerId: string,
    linux: ContainerResources,
    { signal, pod }: ChangeOptions = {},
  ): Promise<void> {
    await this.#change('update_container', signal, () =>
      this.#client.updateContainerResources({ containerId, linux }, { pod }),
    );
  }

  async reopenContainerLog(containerId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#change('reopen_container_log', signal, () =>
      this.#client.reopenContainerLog({ containerId }, { pod }),
    );
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    { signal, pod }: ChangeOptions = {},
  ): Promise<ExecResult> {
    const request = { containerId, cmd: [...command], timeout: BigInt(Math.ceil(timeoutSeconds)) };
    const answer = this.#track(
      this.#commands.run(() => this.#client.execSync(request, { pod, containerId }), signal),
    );
    const { stdout, stderr, exitCode } = await abortable(answer, signal);
    return { stdout, stderr, exitCode };
  }

  async pullImage(
    image: string,
    { signal, pod, sandboxConfig }: ChangeOptions & { readonly sandboxConfig?: SandboxConfig } = {},
  ): Promise<string> {
    signal?.throwIfAborted();
    const request = { image: { image, userSpecifiedImage: image }, ...(sandboxConfig && { sandboxConfig }) };
    const { imageRef } = await abortable(this.#track(this.#client.pullImage(request, { pod })), signal);
    return imageRef;
  }

  async findImage(image: string, signal?: AbortSignal): Promise<RuntimeImage | undefined> {
    const { image: found } = await this.#client.imageStatus({ image: { image } }, { signal });
    return found === undefined || found.id === '' ? undefined : toRuntimeImage(found);
  }

  async listImages(signal?: AbortSignal): Promise<readonly RuntimeImage[]> {
    const { images } = await this.#client.listImages({}, { signal });
    return images.map(toRuntimeImage);
  }

  async removeImage(image: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#change('remove_image', signal, () =>
      unlessGone(this.#client.removeImage({ image: { image } }, { pod })),
    );
  }

  /** Makes an object that has a name, or takes up the one that was made under that name before. */
  async #make({ operation, key, make, findSame, signal }: Making): Promise<string> {
    return await this.#change(operation, signal, async () => {
      if (this.#unsettled.has(key)) {
        const id = await findSame();
        this.#unsettled.settle(key);
        if (id !== undefined) return this.#takeUp(operation, id);
      }
      try {
        return await make();
      } catch (error) {
        const isTaken = isNameTaken(error);
        if (isTaken || isOutcomeUnknown(error)) this.#unsettled.mark(key);
        if (!isTaken) throw error;
        const id = await findSame();
        if (id !== undefined) {
          this.#unsettled.settle(key);
          return this.#takeUp(operation, id);
        }
        // It may be on its way still: whoever comes next looks first.
        throw new PodloopError('CHANGE_UNSETTLED', (error as Error).message, { cause: error });
      }
    });
  }

  #takeUp(operation: string, id: string): string {
    this.#takenUp++;
    this.#logger.info('Took up what an earlier call had made', { operation, id }, 2);
    return id;
  }

  async #change<T>(operation: string, signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    return await this.#track(
      this.#changes.run(
        async (underWay) => {
          const startedMs = this.#clock.monotonicMs();
          let overloaded = false;
          try {
            return await work();
          } catch (error) {
            overloaded = isOverload(error);
            throw error;
          } finally {
            const endedMs = this.#clock.monotonicMs();
            this.#bound.observe({ operation, startedMs, endedMs, underWay, overloaded });
          }
        },
        signal,
        RANKS[operation],
      ),
    );
  }

  /** A stop that is overtaken by a shorter one need not be waited for; it still goes on to its end. */
  async #stop(call: () => Promise<unknown>, signal: AbortSignal | undefined): Promise<void> {
    await abortable(this.#track(this.#stops.run(() => unlessGone(call()), signal)), signal);
  }

  async #track<T>(work: Promise<T>): Promise<T> {
    this.#underWay.add(work);
    try {
      return await work;
    } finally {
      this.#underWay.delete(work);
    }
  }

  async #stateOf(containerId: string, options: CallOptions): Promise<'created' | 'running' | 'ended'> {
    const { status } = await this.#client.containerStatus({ containerId }, options);
    if (status?.state === cri.ContainerState.CONTAINER_RUNNING) return 'running';
    return status?.state === cri.ContainerState.CONTAINER_EXITED ? 'ended' : 'created';
  }
}

interface Making {
  readonly operation: string;
  readonly key: string;
  readonly make: () => Promise<string>;
  readonly findSame: () => Promise<string | undefined>;
  readonly signal: AbortSignal | undefined;
}

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

function toRuntimeImage(image: cri.Image): RuntimeImage {
  const { id, repoTags, repoDigests, size, pinned, uid, username } = image;
  return { id, tags: repoTags, digests: repoDigests, sizeBytes: size, pinned, uid: uid?.value, username };
}
