/**
 * Makes sure that a container's image exists before the container is created.
 *
 * In: a container and its pod. Out: the image as the runtime knows it, or why there is none, in the kubelet's
 * words. It assumes that registries are slow and fail. So failed pulls back off per pod and image,
 * simultaneous requests share one pull, and only a few pulls run at a time. An image that one pod pulled with
 * its login is available to pods with that login; for others it does not exist.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import { type PodObjects } from '#kube/objects/config-object.js';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodEvent, type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { describeRuntimeError, quoteRuntimeError } from '#watch';
import {
  type PullOptions,
  type RuntimeChanges,
  type RuntimeImage,
  type SandboxConfig,
} from '../runtime/runtime-changes.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { imagePullEnded, imageRequested } from '#base/channels/image-channels.js';

import { type ImageAccess } from './image-access.js';
import { withDefaultTag } from '#kube/container/image-name.js';
import { type CredentialProviders } from './providers/credential-providers.js';
import { PullBackoff, type PullBackoffOptions } from './pull-backoff.js';
import { type PullCredential, pullLoginsOf } from './pull-logins.js';
import { type PullProgress } from './pull-progress.js';
import { PullQueue } from './pull-queue.js';
import { pullWithAny } from './pull-with-any.js';

/** Options of {@link ImageManager}. */
export interface ImageManagerOptions extends Publisher {
  readonly changes: Pick<RuntimeChanges, 'findImage' | 'pullImage'>;
  readonly events: PodEventRecorder;
  /** Finds imagePullSecrets (default: there are none). */
  readonly objects?: Pick<PodObjects, 'findSecret'>;
  /** Decides who may use an existing image (default: every pod). */
  readonly access?: Pick<ImageAccess, 'mayUse' | 'pull'>;
  /** Credentials besides those of imagePullSecrets (default: there are none). */
  readonly providers?: Pick<CredentialProviders, 'find'>;
  /** Shows how far pulls are (default: nobody does). */
  readonly progress?: Pick<PullProgress, 'begin'>;
  readonly clock?: Clock;
  /** Maximum of simultaneous pulls (default: 5). */
  readonly pullsAtOnce?: number;
  readonly backoff?: Omit<PullBackoffOptions, 'clock'>;
}

/** Why a container has no image, in the words of its status. */
export type ImageProblem =
  | 'InvalidImageName'
  | 'ImageInspectError'
  | 'ErrImageNeverPull'
  | 'ErrImagePull'
  | 'ImagePullBackOff'
  | 'RegistryUnavailable'
  | 'SignatureValidationFailed';

/** The result of {@link ImageManager.ensureImage}. */
export type ImageOutcome =
  | {
      readonly isPresent: true;
      /** For the container's configuration. */
      readonly imageRef: string;
      readonly image: RuntimeImage;
    }
  | {
      readonly isPresent: false;
      readonly reason: ImageProblem;
      readonly message: string;
      /** A retry before that is pointless; absent if the next try is decided elsewhere. */
      readonly retryAfterMs?: number;
    };

/** A lookup that began before the image is needed: see {@link ImageManager.lookAhead}. */
export interface ImageLook {
  /** The name in the request to the runtime. */
  readonly image: string;
  /** In the clock's monotonic time. */
  readonly beganMs: number;
  readonly found: Promise<RuntimeImage | undefined>;
}

/** Inputs of {@link ImageManager.ensureImage} besides the container, if any. */
export interface ImageNeed {
  /** For the runtime's pulls. */
  readonly sandboxConfig?: SandboxConfig;
  readonly look?: ImageLook | undefined;
}

/** A result that is older is looked up again. Only people remove images of desired pods. */
const LOOK_COUNTS_MS = 30_000;

/** Error names of CRI, at the beginning of a description. */
const NAMED_FAILURES = {
  RegistryUnavailable: 'the registry is unavailable',
  SignatureValidationFailed: 'the signature validation failed',
} as const;

const FOR_EVERY_POD: Pick<ImageAccess, 'mayUse' | 'pull'> = {
  mayUse: () => Promise.resolve(true),
  pull: async ({ credentials, pull }) => (await pullWithAny(credentials, pull)).imageRef,
};

/** Finds images, and pulls them as the pull policies say. */
export class ImageManager {
  readonly #changes: Pick<RuntimeChanges, 'findImage' | 'pullImage'>;
  readonly #events: PodEventRecorder;
  readonly #objects: Pick<PodObjects, 'findSecret'>;
  readonly #access: Pick<ImageAccess, 'mayUse' | 'pull'>;
  readonly #providers: Pick<CredentialProviders, 'find'> | undefined;
  readonly #progress: Pick<PullProgress, 'begin'> | undefined;
  readonly #clock: Clock;
  readonly #channels: Publisher['channels'];
  readonly #backoff: PullBackoff;
  readonly #queue: PullQueue;

  constructor(options: ImageManagerOptions) {
    const clock = options.clock ?? new SystemClock();
    this.#changes = options.changes;
    this.#events = options.events;
    this.#objects = options.objects ?? { findSecret: () => undefined };
    this.#access = options.access ?? FOR_EVERY_POD;
    this.#providers = options.providers;
    this.#progress = options.progress;
    this.#clock = clock;
    this.#channels = options.channels;
    this.#backoff = new PullBackoff({ ...options.backoff, clock });
    this.#queue = new PullQueue({ clock, atOnce: options.pullsAtOnce ?? 5 });
  }

  /**
   * Looks up the container's image while something else is under way. Reports nothing and pulls nothing.
   *
   * Pass the result to {@link ensureImage}. Undefined for an invalid name.
   */
  lookAhead({ image: wanted }: Container, pod: NodePod, signal: AbortSignal): ImageLook | undefined {
    const image = withDefaultTag(wanted);
    if (image === undefined) return undefined;
    const beganMs = this.#clock.monotonicMs();
    const found = this.#changes.findImage(image, { signal, pod: pod.metadata });
    // ensureImage reports the failure.
    found.catch(() => undefined);
    return { image, beganMs, found };
  }

  /**
   * Makes sure that the container's image exists, by its pull policy. Returns failures.
   *
   * Rejects only with the signal's reason.
   */
  async ensureImage(
    container: Container,
    pod: NodePod,
    signal: AbortSignal,
    { sandboxConfig, look }: ImageNeed = {},
  ): Promise<ImageOutcome> {
    const { image: wanted, imagePullPolicy = 'IfNotPresent' } = container;
    const record = (event: Omit<PodEvent, 'container'>): void =>
      this.#events.record(pod.metadata, { ...event, container: container.name });
    const publish = (isPresent: boolean | undefined, mustPull: boolean | undefined): void =>
      publishTo(this.#channels, imageRequested, { pullPolicy: imagePullPolicy, isPresent, mustPull });
    const image = withDefaultTag(wanted);
    if (image === undefined) {
      const message = `Failed to apply default image tag "${wanted}": couldn't parse image name "${wanted}": invalid reference format`;
      record({ type: 'Warning', reason: 'InspectFailed', message });
      publish(undefined, undefined);
      return { isPresent: false, reason: 'InvalidImageName', message };
    }
    let found: RuntimeImage | undefined;
    try {
      found = await this.#find(image, pod, look, signal);
    } catch (error) {
      signal.throwIfAborted();
      const message = `Failed to inspect image "${wanted}": ${quoteRuntimeError(error)}`;
      record({ type: 'Warning', reason: 'InspectFailed', message });
      publish(undefined, undefined);
      return { isPresent: false, reason: 'ImageInspectError', message };
    }
    const present = found;
    const credentials = async (): Promise<readonly PullCredential[]> => [
      ...pullLoginsOf(pod, image, this.#objects).credentials,
      ...(await this.#findProvided(image, pod, signal)),
    ];
    const isEnough = present !== undefined && imagePullPolicy !== 'Always';
    if (isEnough && (await this.#access.mayUse(present, image, credentials))) {
      const message = `Container image "${wanted}" already present on machine and can be accessed by the pod`;
      record({ type: 'Normal', reason: 'Pulled', message });
      publish(true, false);
      return { isPresent: true, imageRef: present.id, image: present };
    }
    if (imagePullPolicy === 'Never') {
      // Also for an image that the pod may not use: it must not learn that it exists.
      const message = `Container image "${wanted}" is not present with pull policy of Never`;
      record({ type: 'Warning', reason: 'ErrImageNeverPull', message });
      publish(isEnough, isEnough ? true : undefined);
      return { isPresent: false, reason: 'ErrImageNeverPull', message };
    }
    publish(present !== undefined, true);
    return await this.#pull({ wanted, image, pod, container: container.name, record, sandboxConfig }, signal);
  }

  async #find(
    image: string,
    pod: NodePod,
    look: ImageLook | undefined,
    signal: AbortSignal,
  ): Promise<RuntimeImage | undefined> {
    const counts = look?.image === image && this.#clock.monotonicMs() - look.beganMs <= LOOK_COUNTS_MS;
    // A missing image may have been pulled meanwhile, for another pod.
    return (
      (counts ? await look.found : undefined) ??
      (await this.#changes.findImage(image, { signal, pod: pod.metadata }))
    );
  }

  /** Those of the node, behind those of the pod. Rejects only with the signal's reason. */
  async #findProvided(image: string, pod: NodePod, signal: AbortSignal): Promise<readonly PullCredential[]> {
    return (await this.#providers?.find(image, pod, signal)) ?? [];
  }

  async #pull(wish: Pull, signal: AbortSignal): Promise<ImageOutcome> {
    const { wanted, image, pod, container, record, sandboxConfig } = wish;
    const { credentials: own, unusable } = pullLoginsOf(pod, image, this.#objects);
    // A new or changed login may succeed where the old one failed.
    const key = `${pod.metadata.uid}_${wanted}_${flightKey(image, own)}`;
    const delay = this.#backoff.find(key);
    if (delay !== undefined) {
      const message = `Back-off pulling image "${wanted}"`;
      record({ type: 'Normal', reason: 'BackOff', message });
      return {
        isPresent: false,
        reason: 'ImagePullBackOff',
        message: `${message}: ${delay.why}`,
        retryAfterMs: delay.remainingMs,
      };
    }
    record({ type: 'Normal', reason: 'Pulling', message: `Pulling image "${wanted}"` });
    const startedMs = this.#clock.monotonicMs();
    const startedAtMs = this.#clock.now();
    const publish = (sizeBytes?: bigint): void => {
      const durationMs = this.#clock.monotonicMs() - startedMs;
      publishTo(this.#channels, imagePullEnded, {
        podUid: pod.metadata.uid,
        startedAtMs,
        durationMs,
        sizeBytes,
      });
    };
    const endProgress = this.#progress?.begin({ pod: pod.metadata, container, wanted });
    try {
      const credentials = [...own, ...(await this.#findProvided(image, pod, signal))];
      const options: PullOptions = { pod: pod.metadata, ...(sandboxConfig && { sandboxConfig }) };
      const pull = async (): Promise<string> =>
        this.#access.pull({
          ...{ image, credentials },
          pull: async (credential) =>
            this.#changes.pullImage(image, { ...options, ...(credential && { login: credential.login }) }),
          findImage: async (name) => this.#changes.findImage(name, { pod: pod.metadata }),
        });
      const pulled = await this.#queue.run(flightKey(image, credentials), pull, signal);
      const found = await this.#changes.findImage(pulled.imageRef, { signal, pod: pod.metadata });
      if (found === undefined) throw new Error(`image "${wanted}" is not there after it was pulled`);
      this.#backoff.succeed(key);
      publish(found.sizeBytes);
      const inAll = formatGoDuration(Math.round(this.#clock.monotonicMs() - startedMs));
      const alone = formatGoDuration(Math.round(pulled.durationMs));
      const message = `Successfully pulled image "${wanted}" in ${alone} (${inAll} including waiting). Image size: ${found.sizeBytes} bytes.`;
      record({ type: 'Normal', reason: 'Pulled', message });
      return { isPresent: true, imageRef: pulled.imageRef, image: found };
    } catch (error) {
      signal.throwIfAborted();
      publish();
      const said = quoteRuntimeError(error);
      record({ type: 'Warning', reason: 'Failed', message: `Failed to pull image "${wanted}": ${said}` });
      const { reason, message } = nameFailure(wanted, error);
      // Like kubelets since v1.37: a missing secret does not matter while the pull succeeds.
      if (unusable.length > 0 && reason === 'ErrImagePull') {
        const missing = `Unable to retrieve some image pull secrets (${unusable.join(', ')}); attempting to pull the image may not succeed.`;
        record({ type: 'Warning', reason: 'FailedToRetrieveImagePullSecret', message: missing });
      }
      this.#backoff.fail(key, `${reason}: ${message}`);
      return { isPresent: false, reason, message };
    } finally {
      endProgress?.();
    }
  }
}

/**
 * Separates pulls of the same image with different logins, so that they do not share failures.
 *
 * The hash does not help to guess the password: it is in memory only.
 */
function flightKey(image: string, credentials: readonly PullCredential[]): string {
  if (credentials.length === 0) return image;
  const logins = credentials.map(({ login }) => login);
  return `${image} ${createHash('sha256').update(JSON.stringify(logins)).digest('hex')}`;
}

interface Pull {
  readonly wanted: string;
  readonly image: string;
  readonly pod: NodePod;
  /** Its name. */
  readonly container: string;
  readonly record: (event: Omit<PodEvent, 'container'>) => void;
  readonly sandboxConfig: SandboxConfig | undefined;
}

function nameFailure(image: string, error: unknown): { reason: ImageProblem; message: string } {
  const description = describeRuntimeError(error);
  for (const [reason, why] of Object.entries(NAMED_FAILURES)) {
    if (!description.startsWith(reason)) continue;
    const message = `image pull failed for ${image} because ${why}${description.slice(reason.length)}`;
    return { reason: reason as ImageProblem, message };
  }
  return { reason: 'ErrImagePull', message: quoteRuntimeError(error) };
}
