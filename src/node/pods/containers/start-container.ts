import { type ImageLook, type ImageManager, type ImageOutcome } from '../../images/image-manager.js';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type ImageVolume } from '#kube/pod/volume.js';
import { type PodEvent, type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { explainTooLong } from '../../runtime/config/argument-limits.js';
import { describeRuntimeError, type PodPaths } from '#watch';
import { type NodeFacts } from '../../runtime/config/node-facts.js';
import { type ContainerConfig, type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { QUOTE_NOT_SHOWN, quotesSecrets } from '../../runtime/quotes-secrets.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { containerStartEnded } from '#base/channels/start-channels.js';

import { configureContainer, type ContainerStart } from './configure-container.js';
import { type ContainerKiller } from './kill-container.js';
import { type LifecycleHooks } from '../hooks/lifecycle-hook.js';
import { type ContainerToStart } from '../actions/pod-actions.js';
import { linkContainerLog } from '../sync/pod-file-setup.js';
import { runPostStart } from '../hooks/run-post-start.js';
import { type SyncFailure } from '../sync/sync-failure.js';
import { type ContainerEnvironments, type PodReferents, type VolumeMounts } from '../sync/sync-pod-ports.js';

/** Options of {@link ContainerStarter}. */
export interface ContainerStarterOptions extends Publisher {
  readonly changes: RuntimeChanges;
  readonly images: Pick<ImageManager, 'ensureImage' | 'lookAhead'>;
  readonly volumes: Pick<VolumeMounts, 'mountsFor'>;
  readonly environments: ContainerEnvironments;
  readonly referents?: Pick<PodReferents, 'fetchForContainer'> | undefined;
  readonly hooks: Pick<LifecycleHooks, 'run'>;
  readonly killer: Pick<ContainerKiller, 'kill'>;
  readonly events: PodEventRecorder;
  readonly logger: Logger;
  readonly paths: PodPaths;
  readonly node: () => NodeFacts;
  /** Folder for links to logs, for log collectors (default: none). */
  readonly containerLogLinksDir?: string | undefined;
}

/** Types of containers as messages for people name them. */
export const CONTAINER_TYPES = {
  init: 'init container',
  sidecar: 'init container',
  regular: 'container',
  ephemeral: 'ephemeral container',
} as const;

/** For metrics, by the kubelet's names. */
const METRIC_TYPES = {
  init: 'init_container',
  sidecar: 'init_container',
  regular: 'container',
  ephemeral: 'ephemeral_container',
} as const;

/** What {@link ContainerStarter.prepare} has started. */
export interface ContainerPreparation {
  /** Resolves when what the container refers to is fetched; undefined where there is nothing to fetch. */
  readonly fetched?: Promise<void> | undefined;
  readonly look?: ImageLook | undefined;
}

/** A container that exists, with its configuration if this attempt created it. */
interface MadeContainer {
  readonly id: string;
  readonly config?: ContainerConfig;
  /** Removes values of Secrets from messages. */
  readonly hide: HideSecrets;
}

type HideSecrets = (message: string) => string;

/**
 * Starts single containers: the image, the container, the start, the postStart hook.
 *
 * It returns failures instead of throwing them, as a container that does not start is an everyday matter.
 */
export class ContainerStarter {
  readonly #options: ContainerStarterOptions;

  constructor(options: ContainerStarterOptions) {
    this.#options = options;
  }

  /**
   * Starts what a container needs besides its sandbox, while that is being created. Pass the result to {@link
   * start}.
   *
   * {@link start} reports its failures.
   */
  prepare(
    pod: NodePod,
    { container, createdId }: ContainerToStart,
    signal: AbortSignal,
  ): ContainerPreparation {
    if (createdId !== undefined) return {};
    const { images, referents } = this.#options;
    const fetched = referents?.fetchForContainer(pod, container, signal);
    fetched?.catch(() => undefined);
    return { fetched, look: images.lookAhead(container, pod, signal) };
  }

  /** Undefined when the container was started. Rejects only with the signal's reason. */
  async start(
    start: ContainerStart,
    signal: AbortSignal,
    prepared: ContainerPreparation = {},
  ): Promise<SyncFailure | undefined> {
    const failure = await this.#start(start, prepared, signal);
    const containerType = METRIC_TYPES[start.toStart.kind];
    publishTo(this.#options.channels, containerStartEnded, { containerType, failure: failure?.reason });
    return failure;
  }

  async #start(
    start: ContainerStart,
    prepared: ContainerPreparation,
    signal: AbortSignal,
  ): Promise<SyncFailure | undefined> {
    const { pod, toStart } = start;
    const { container } = toStart;
    const { logger } = this.#options;
    const containerType = CONTAINER_TYPES[toStart.kind];
    const names = { containerType, container: container.name, pod: pod.metadata };
    logger.info('Creating container in pod', names, 4);
    const made = await this.#make(start, prepared, signal);
    if ('action' in made) return made;
    return (await this.#run(start, made, signal)) ?? (await this.#postStart(start, made.id, signal));
  }

  async #make(
    start: ContainerStart,
    { fetched, look }: ContainerPreparation,
    signal: AbortSignal,
  ): Promise<MadeContainer | SyncFailure> {
    const { pod, sandbox, toStart } = start;
    const { container, createdId } = toStart;
    if (createdId !== undefined) return { id: createdId, hide: hidingAnyOf(container) };
    await (fetched ?? this.#options.referents?.fetchForContainer(pod, container, signal));
    const need = { sandboxConfig: sandbox.config, look };
    const image = await this.#options.images.ensureImage(container, pod, signal, need);
    if (!image.isPresent) return this.#withoutImage(start, image);
    const volumeImages = new Map<string, string>();
    for (const { reference, pullPolicy } of mountedImages(pod, container)) {
      const asked = { ...container, image: reference, imagePullPolicy: pullPolicy ?? 'IfNotPresent' };
      const found = await this.#options.images.ensureImage(asked, pod, signal, {
        sandboxConfig: sandbox.config,
      });
      if (!found.isPresent) return this.#withoutImage(start, found);
      volumeImages.set(reference, found.imageRef);
    }
    // No message contains a value before the values are known.
    let hide: HideSecrets = (message) => message;
    let config: ContainerConfig;
    try {
      const environment = await this.#options.environments.resolve(pod, container, sandbox.ips, signal);
      hide = (message) => environment.hideSecrets(message);
      config = await configureContainer(this.#options, start, { ...image, volumeImages }, environment);
    } catch (error) {
      signal.throwIfAborted();
      return this.#failed(start, 'CreateContainerConfigError', hide(messageOf(error)));
    }
    signal.throwIfAborted();
    try {
      const { changes } = this.#options;
      const options = { signal, pod: pod.metadata };
      const id = await changes.createContainer(sandbox.id, config, sandbox.config, options);
      this.#record(pod, container, { type: 'Normal', reason: 'Created', message: 'Container created' });
      return { id, config, hide };
    } catch (error) {
      signal.throwIfAborted();
      const message = explainTooLong(describeRuntimeError(error), config);
      return this.#failed(start, 'CreateContainerError', hide(message));
    }
  }

  async #run(
    start: ContainerStart,
    { id, config, hide }: MadeContainer,
    signal: AbortSignal,
  ): Promise<SyncFailure | undefined> {
    const { pod, toStart } = start;
    const { changes } = this.#options;
    const options = { signal, pod: pod.metadata };
    try {
      await changes.startContainer(id, options);
    } catch (error) {
      signal.throwIfAborted();
      // A container of an earlier attempt that does not start now would be retried forever.
      if (toStart.createdId !== undefined) await this.#remove(id, pod, signal);
      const message = describeRuntimeError(error).replaceAll(id, toStart.container.name);
      const full = config === undefined ? message : explainTooLong(message, config);
      return this.#failed(start, 'RunContainerError', hide(full));
    }
    this.#record(pod, toStart.container, { type: 'Normal', reason: 'Started', message: 'Container started' });
    await this.#linkLog(start, id);
    return undefined;
  }

  /** If it cannot be removed, the next sync tries again. */
  async #remove(id: string, pod: NodePod, signal: AbortSignal): Promise<void> {
    const { changes, logger } = this.#options;
    try {
      await changes.removeContainer(id, { pod: pod.metadata, signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.error('Failed to remove a container that does not start', error, {
        pod: pod.metadata,
        containerID: id,
      });
    }
  }

  async #linkLog({ pod, toStart }: ContainerStart, id: string): Promise<void> {
    const { containerLogLinksDir, paths, logger } = this.#options;
    if (containerLogLinksDir === undefined) return;
    const { name, namespace } = pod.metadata;
    const container = toStart.container.name;
    const file = paths.containerLogFile(pod.metadata, container, toStart.restartCount);
    try {
      await linkContainerLog(containerLogLinksDir, file, { pod: name, namespace, container, id });
    } catch (error) {
      // The link is optional: the log is where it is.
      logger.error('Failed to create legacy symbolic link', error, {
        pod: pod.metadata,
        containerID: id,
        containerLogPath: file,
      });
    }
  }

  async #postStart(
    start: ContainerStart,
    containerId: string,
    signal: AbortSignal,
  ): Promise<SyncFailure | undefined> {
    const { pod, sandbox, toStart } = start;
    const started = { pod, container: toStart.container, containerId, host: sandbox.ips[0] ?? '' };
    const problem = await runPostStart(started, this.#options, signal);
    return problem === undefined ? undefined : failureOf(toStart, 'PostStartHookError', problem);
  }

  #withoutImage(
    { pod, toStart }: ContainerStart,
    image: Extract<ImageOutcome, { isPresent: false }>,
  ): SyncFailure {
    const message = `Error: ${image.reason}`;
    this.#record(pod, toStart.container, { type: 'Warning', reason: 'Failed', message });
    return failureOf(toStart, image.reason, image.message, image.retryAfterMs);
  }

  #failed({ pod, toStart }: ContainerStart, reason: string, message: string): SyncFailure {
    this.#record(pod, toStart.container, { type: 'Warning', reason: 'Failed', message: `Error: ${message}` });
    return failureOf(toStart, reason, message);
  }

  #record(pod: NodePod, container: Container, event: PodEvent): void {
    this.#options.events.record(pod.metadata, { ...event, container: container.name });
  }
}

/** The images that a container mounts as volumes. */
function mountedImages({ spec }: NodePod, { volumeMounts = [] }: Container): ImageVolume[] {
  const mounted = new Set(volumeMounts.map(({ name }) => name));
  return (spec.volumes ?? []).flatMap(({ name, image }) =>
    image !== undefined && mounted.has(name) ? [image] : [],
  );
}

function failureOf(
  { container, kind }: ContainerToStart,
  reason: string,
  message: string,
  retryAfterMs?: number,
): SyncFailure {
  const action = kind === 'init' ? 'InitContainer' : 'StartContainer';
  return { action, subject: container.name, reason, message, retryAfterMs };
}

/** Used before the values of its variables are known. */
function hidingAnyOf(container: Container): HideSecrets {
  return quotesSecrets(container) ? () => QUOTE_NOT_SHOWN : (message) => message;
}
