import { type AdaptiveBoundOptions, ANNOTATIONS, type CallOptions, cri } from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { isNotFound, PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';

import { runAnsweredCommand } from './answered-command.js';
import { ChangeLanes, type ChangeLanesFacts } from './change-lanes.js';
import { type ChangingClient } from './changing-client.js';
import { findSameContainer, findSameSandbox } from './find-same-attempt.js';
import {
  type ChangeOptions,
  type CommandOptions,
  type PullOptions,
  type ContainerConfig,
  type ContainerResources,
  type ExecResult,
  type RuntimeChanges,
  type RuntimeImage,
  type SandboxConfig,
} from './runtime-changes.js';
import { isNameTaken, isOutcomeUnknown, UnsettledChanges } from './unsettled-changes.js';

/** Runtimes count in nanoseconds, and an int64 holds some 292 years: beyond that they would kill at once. */
const MAX_GRACE_SECONDS = 1_000_000_000;

/** Options of {@link CriRuntimeChanges}. */
export interface CriRuntimeChangesOptions {
  readonly client: ChangingClient;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** The limit for changes other than stops and commands. */
  readonly bound?: AdaptiveBoundOptions;
}

/** The present work of a {@link CriRuntimeChanges}. */
export interface ChangeFacts extends ChangeLanesFacts {
  /** Changes whose outcome is still unknown. */
  readonly unsettled: number;
  /** Sandboxes and containers that turned out to exist already, since the start. */
  readonly takenUp: number;
}

/**
 * Changes a runtime through CRI, in three lanes: stops, commands, and everything else, which has an adaptive
 * limit.
 *
 * A call that was sent is never cancelled by its caller. If its answer is lost, the object is marked as
 * unsettled, and the next try searches first: it uses an existing object of the same attempt with podloop's
 * mark.
 */
export class CriRuntimeChanges implements RuntimeChanges {
  readonly #client: ChangingClient;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #lanes: ChangeLanes;
  readonly #unsettled = new UnsettledChanges();
  #takenUp = 0;

  constructor(options: CriRuntimeChangesOptions) {
    this.#client = options.client;
    this.#logger = options.logger ?? SILENT_LOGGER;
    this.#clock = options.clock ?? new SystemClock();
    this.#lanes = new ChangeLanes({ clock: this.#clock, bound: options.bound });
  }

  /** For `/debug` and for metrics. */
  get facts(): ChangeFacts {
    return { ...this.#lanes.facts, unsettled: this.#unsettled.size, takenUp: this.#takenUp };
  }

  /**
   * Resolves when nothing that was sent is under way any more, except commands that hang.
   *
   * Call it when nobody sends anything new.
   */
  async settled(signal?: AbortSignal): Promise<void> {
    await this.#lanes.settled(signal);
  }

  async runPodSandbox(
    config: SandboxConfig,
    { runtimeHandler = '', signal, pod }: ChangeOptions & { readonly runtimeHandler?: string } = {},
  ): Promise<string> {
    const { uid = '', namespace = '', name = '', attempt = 0 } = config.metadata ?? {};
    return await this.#make({
      operation: 'run_podsandbox',
      pod: { uid, namespace, name },
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
    const { namespace = '', name: podName = '' } = sandboxConfig.metadata ?? {};
    return await this.#make({
      operation: 'create_container',
      pod: { uid, namespace, name: podName },
      key: `container ${uid} ${name} ${attempt}`,
      make: async () => {
        const request = { podSandboxId: sandboxId, config, sandboxConfig };
        return (await this.#client.createContainer(request, { pod })).containerId;
      },
      findSame: async () => {
        const same = await findSameContainer(this.#client, sandboxId, config, { pod });
        if (same === undefined) return undefined;
        if (same.annotations[ANNOTATIONS.hash] === config.annotations[ANNOTATIONS.hash]) return same.id;
        // The manifest has changed meanwhile: a container that never ran makes room.
        if (same.state !== cri.ContainerState.CONTAINER_CREATED) return undefined;
        await this.#client.removeContainer({ containerId: same.id }, { pod });
        return undefined;
      },
      signal,
    });
  }

  async startContainer(containerId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    const key = `start ${containerId}`;
    await this.#lanes.change('start_container', signal, async () => {
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
    await this.#lanes.stop(signal, () =>
      unlessGone(this.#client.stopPodSandbox({ podSandboxId: sandboxId }, { pod })),
    );
  }

  async stopContainer(
    containerId: string,
    graceSeconds: number,
    { signal, pod }: ChangeOptions = {},
  ): Promise<void> {
    const timeout = BigInt(Math.min(MAX_GRACE_SECONDS, Math.max(0, Math.ceil(graceSeconds))));
    await this.#lanes.stop(signal, () =>
      unlessGone(this.#client.stopContainer({ containerId, timeout }, { pod })),
    );
  }

  async removePodSandbox(sandboxId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#lanes.change('remove_podsandbox', signal, () =>
      unlessGone(this.#client.removePodSandbox({ podSandboxId: sandboxId }, { pod })),
    );
  }

  async removeContainer(containerId: string, { signal, pod, canWait }: ChangeOptions = {}): Promise<void> {
    const remove = (): Promise<void> => unlessGone(this.#client.removeContainer({ containerId }, { pod }));
    await this.#lanes.change('remove_container', signal, remove, canWait);
  }

  async updateContainerResources(
    containerId: string,
    linux: ContainerResources,
    { signal, pod }: ChangeOptions = {},
  ): Promise<void> {
    await this.#lanes.change('update_container', signal, () =>
      this.#client.updateContainerResources({ containerId, linux }, { pod }),
    );
  }

  async reopenContainerLog(containerId: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#lanes.change('reopen_container_log', signal, () =>
      this.#client.reopenContainerLog({ containerId }, { pod }),
    );
  }

  async execSync(
    containerId: string,
    command: readonly string[],
    timeoutSeconds: number,
    { signal, pod, mayBeCut, onLeftOpen }: CommandOptions = {},
  ): Promise<ExecResult> {
    const request = { containerId, cmd: [...command], timeout: BigInt(Math.ceil(timeoutSeconds)) };
    const options = { client: this.#client, clock: this.#clock, pod, onLeftOpen };
    const { stdout, stderr, exitCode } = await this.#lanes.command(
      signal,
      () => runAnsweredCommand(request, options),
      mayBeCut,
    );
    return { stdout, stderr, exitCode };
  }

  async pullImage(image: string, { signal, pod, sandboxConfig, login }: PullOptions = {}): Promise<string> {
    const request = {
      image: { image, userSpecifiedImage: image },
      ...(sandboxConfig && { sandboxConfig }),
      ...(login && { auth: login }),
    };
    const { imageRef } = await this.#lanes.unbounded(signal, () => this.#client.pullImage(request, { pod }));
    return imageRef;
  }

  async findImage(image: string, { signal, pod }: ChangeOptions = {}): Promise<RuntimeImage | undefined> {
    const { image: found } = await this.#client.imageStatus({ image: { image } }, { signal, pod });
    return found === undefined || found.id === '' ? undefined : toRuntimeImage(found);
  }

  async listImages(signal?: AbortSignal): Promise<readonly RuntimeImage[]> {
    const { images } = await this.#client.listImages({}, { signal });
    return images.map(toRuntimeImage);
  }

  async removeImage(image: string, { signal, pod }: ChangeOptions = {}): Promise<void> {
    await this.#lanes.change('remove_image', signal, () =>
      unlessGone(this.#client.removeImage({ image: { image } }, { pod })),
    );
  }

  /** Creates a named object, or uses the one that already exists under that name. */
  async #make({ operation, key, pod, make, findSame, signal }: Making): Promise<string> {
    return await this.#lanes.change(operation, signal, async () => {
      if (this.#unsettled.has(key)) {
        const id = await findSame();
        this.#unsettled.settle(key);
        if (id !== undefined) return this.#takeUp(operation, id, pod);
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
          return this.#takeUp(operation, id, pod);
        }
        // It may still be on its way: the next try searches first.
        throw new PodloopError('CHANGE_UNSETTLED', (error as Error).message, { cause: error });
      }
    });
  }

  #takeUp(operation: string, id: string, pod: PodRef): string {
    this.#takenUp++;
    this.#logger.info('Took up what an earlier call had made', { operation, pod, id }, 2);
    return id;
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
  readonly pod: PodRef;
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
