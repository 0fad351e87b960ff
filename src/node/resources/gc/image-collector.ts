/**
 * Removes images that the agent pulled and nobody uses, once their disk is too full or they are too old.
 *
 * In: the images of the runtime, what containers use, and a record of pulled images. Out: removals, until
 * there is room again. It assumes that the runtime's list of containers is complete: if the status of a pod
 * is unavailable, as when one of its containers hangs, the list shows what it uses. Without either, nothing
 * is removed.
 *
 * Source:
 * https://kubernetes.io/docs/concepts/architecture/garbage-collection/#container-image-garbage-collection
 *
 * @module
 */
import { type RuntimeChanges, type RuntimeImage } from '../../runtime/runtime-changes.js';
import { type ContainerStatus } from '#watch';
import { messageOf } from '#base/errors/errors.js';
import { imageCollected } from '#base/channels/image-channels.js';
import { type Publisher, publishTo } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import {
  bytesToFree,
  DEFAULT_IMAGE_POLICY,
  type DiskUsage,
  findOldImages,
  type ImagePolicy,
  namesOf,
  planImageRemovals,
  usagePercent,
} from './image-plan.js';
import { type ObservedPods } from './observed-pods.js';
import { type PulledImages } from './pulled-images.js';

/** A record that follows which images are gone. Times are monotonic, at the start of a list or a removal. */
export interface ImageRecords {
  /** An image was removed. */
  forget(id: string, sinceMs: number): Promise<void>;
  /** All existing images. */
  keepOnly(images: readonly RuntimeImage[], sinceMs: number): Promise<void>;
}

/** A container, by every name of its image. */
export type ImageUser = Pick<ContainerStatus, 'image' | 'imageRef' | 'imageId'>;

/** What {@link ImageCollector} needs. */
export interface ImageCollectorOptions extends Publisher {
  readonly clock: Clock;
  readonly pods: ObservedPods;
  /**
   * The runtime's list of containers; used where the status of a pod is unknown. Rejects when there is no
   * list.
   */
  readonly listContainers: (signal: AbortSignal) => Promise<readonly ImageUser[]>;
  /** The names of images that desired pods are going to use. */
  readonly desiredImages: () => Iterable<string>;
  /** Whether the cache has seen every pod of the runtime at least once. */
  readonly hasSeenPods: () => boolean;
  readonly changes: Pick<RuntimeChanges, 'listImages' | 'removeImage'>;
  readonly pulled: Pick<PulledImages, 'all' | 'observe' | 'forget'>;
  readonly records?: ImageRecords;
  /** Of the disk on which the runtime stores images. */
  readonly diskUsage: (signal: AbortSignal) => Promise<DiskUsage>;
  readonly policy?: ImagePolicy;
  /** Called with events of the Node, in a kubelet's words (default: they are only logged). */
  readonly onEvent?: (event: ImageEvent) => void;
  readonly logger?: Logger;
  /** Default: 5 min. */
  readonly periodMs?: number;
}

/** An event of the Node about the disk of images. */
export interface ImageEvent {
  readonly type: 'Warning';
  readonly reason: 'ImageGCFailed' | 'FreeDiskSpaceFailed' | 'InvalidDiskCapacity';
  readonly message: string;
}

/** The result of one pass. */
export interface CollectedImages {
  readonly removed: readonly string[];
  readonly freedBytes: number;
  /** Less was freed than the low threshold requires. */
  readonly isShort: boolean;
}

const NOTHING: CollectedImages = { removed: [], freedBytes: 0, isShort: false };

/** See the module. */
export class ImageCollector {
  readonly #options: ImageCollectorOptions;
  readonly #logger: Logger;

  constructor(options: ImageCollectorOptions) {
    this.#options = options;
    this.#logger = options.logger ?? SILENT_LOGGER;
  }

  /** Collects every five minutes, until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, periodMs = 5 * 60_000 } = this.#options;
    let hasFailed = false;
    try {
      for (;;) {
        await clock.sleep(periodMs, signal);
        try {
          await this.collect(signal);
          hasFailed = false;
        } catch (error) {
          signal.throwIfAborted();
          this.#logger.error('Image garbage collection failed', error);
          // Once may be a runtime that has just started.
          if (hasFailed) this.#report('ImageGCFailed', messageOf(error));
          hasFailed = true;
        }
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** One pass. Rejects with the signal's reason, or when disk or images cannot be read. */
  async collect(signal: AbortSignal): Promise<CollectedImages> {
    const { diskUsage, policy = DEFAULT_IMAGE_POLICY } = this.#options;
    let used = '';
    const collected = await this.#free(signal, async () => {
      const usage = await diskUsage(signal);
      if (usage.capacityBytes === 0) {
        const message = 'invalid capacity 0 on image filesystem';
        this.#report('InvalidDiskCapacity', message);
        throw new Error(message);
      }
      used = `${usagePercent(usage)}% of ${usage.capacityBytes} bytes used`;
      const toFree = bytesToFree(usage, policy);
      if (toFree > 0) this.#logOverLimit(usage, policy, toFree);
      return toFree;
    });
    if (collected.isShort) {
      const freed = `unused images had ${collected.freedBytes} bytes`;
      const advice = 'look for logs, volumes and images in use';
      this.#report('FreeDiskSpaceFailed', `The disk of images stays too full (${used}): ${freed}; ${advice}`);
    }
    return collected;
  }

  /**
   * Removes everything unused, however full the disk is, as the node needs the space. Rejects like {@link
   * collect}.
   */
  async collectAll(signal: AbortSignal): Promise<CollectedImages> {
    return await this.#free(signal, async () => Promise.resolve(Infinity));
  }

  async #free(signal: AbortSignal, howMuch: () => Promise<number>): Promise<CollectedImages> {
    const { changes, clock, pulled, records, policy = DEFAULT_IMAGE_POLICY } = this.#options;
    const lookedAtMs = clock.monotonicMs();
    const known = pulled.all();
    // Images before their users: an image that comes in between is not on the list.
    const images = await changes.listImages(signal);
    await records?.keepOnly(images, lookedAtMs);
    if (!this.#options.hasSeenPods()) {
      this.#logger.info('No image is collected: not all containers are known yet', {}, 2);
      return NOTHING;
    }
    const inUse = await this.#namesInUse(signal);
    const isInUse = (image: RuntimeImage): boolean => namesOf(image).some((name) => inUse.has(name));
    const idsOf = (some: readonly RuntimeImage[]): Set<string> => new Set(some.map(({ id }) => id));
    const [present, idsInUse] = [idsOf(images), idsOf(images.filter(isInUse))];
    await pulled.observe({ known, present, inUse: idsInUse, nowMs: clock.now() });

    const plan = planImageRemovals(images, pulled.all(), isInUse, policy.minAgeMs, clock.now());
    const old = findOldImages(plan, pulled.all(), policy.maxAgeMs ?? 0, clock.now());
    const aged = await this.#remove(old, Infinity, 'age', signal);
    const toFree = await howMuch();
    if (toFree === 0) return aged;
    const gone = new Set(aged.removed);
    const left = plan.filter(({ id }) => !gone.has(id));
    const { removed, freedBytes, isShort } = await this.#remove(left, toFree, 'space', signal);
    return {
      removed: [...aged.removed, ...removed],
      freedBytes: aged.freedBytes + freedBytes,
      isShort,
    };
  }

  #report(reason: ImageEvent['reason'], message: string): void {
    this.#options.onEvent?.({ type: 'Warning', reason, message });
  }

  #logOverLimit(usage: DiskUsage, policy: ImagePolicy, toFree: number): void {
    this.#logger.info(
      'Disk usage on image filesystem is over the high threshold, trying to free bytes down to the low threshold',
      {
        usage: usagePercent(usage),
        highThreshold: policy.highThresholdPercent,
        amountToFree: toFree,
        lowThreshold: policy.lowThresholdPercent,
      },
    );
  }

  async #remove(
    plan: readonly RuntimeImage[],
    toFree: number,
    reason: 'age' | 'space',
    signal: AbortSignal,
  ): Promise<CollectedImages> {
    const removed: string[] = [];
    let freedBytes = 0;
    for (const image of plan) {
      if (freedBytes >= toFree) break;
      signal.throwIfAborted();
      // A container may have been created from it since, or its users are unknown now.
      if (!this.#options.hasSeenPods()) continue;
      const inUse = await this.#namesInUse(signal);
      if (namesOf(image).some((name) => inUse.has(name))) continue;
      const size = Number(image.sizeBytes);
      this.#logger.info('Removing image to free bytes', { imageID: image.id, size });
      const { changes, clock, records } = this.#options;
      const [removedAtMs, wallMs] = [clock.monotonicMs(), clock.now()];
      try {
        await changes.removeImage(image.id);
        publishTo(this.#options.channels, imageCollected, { reason });
        await records?.forget(image.id, removedAtMs);
        await this.#forget(image.id, wallMs);
        removed.push(image.id);
        freedBytes += size;
      } catch (error) {
        this.#logger.error('Failed to remove image', error, { imageID: image.id });
      }
    }
    // An unlimited amount cannot fall short.
    const isShort = Number.isFinite(toFree) && freedBytes < toFree;
    if (isShort) {
      this.#logger.warn('Failed to garbage collect required amount of images', {
        attempted: toFree,
        freed: freedBytes,
      });
    }
    return { removed, freedBytes, isShort };
  }

  /**
   * The agent no longer counts as its puller: somebody else may pull it next. It was removed even if that
   * cannot be written.
   */
  async #forget(imageId: string, sinceMs: number): Promise<void> {
    try {
      await this.#options.pulled.forget(imageId, sinceMs);
    } catch (error) {
      this.#logger.error('Image was removed but this cannot be recorded', error, { imageID: imageId });
    }
  }

  /** Every name by which a container or a desired pod has its image. */
  async #namesInUse(signal: AbortSignal): Promise<ReadonlySet<string>> {
    const { pods, desiredImages, listContainers } = this.#options;
    const observed = [...pods.uids()].map((uid) => pods.get(uid));
    const isListNeeded = observed.some(({ error }) => error !== undefined);
    const listed = isListNeeded ? await listContainers(signal) : [];
    const users: readonly ImageUser[] = [...listed, ...observed.flatMap(({ status }) => status.containers)];
    const names = users.flatMap(({ image, imageRef, imageId }) => [image, imageRef, imageId]);
    return new Set([...names, ...desiredImages()]);
  }
}
