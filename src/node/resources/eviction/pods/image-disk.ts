import { stat } from 'node:fs/promises';
import { type CriPodUsage } from '#watch';

/** What {@link ImageDisk} needs. */
export interface ImageDiskOptions {
  readonly rootDir: string;
  readonly usage: Pick<CriPodUsage, 'imageFilesystems'>;
}

/** Where the runtime stores images and writable layers; undefined where it does not say. */
export interface ImageMounts {
  readonly images: string | undefined;
  readonly containers: string | undefined;
}

/** The disk of images and writable layers, cached once known, as it does not change while a runtime runs. */
export class ImageDisk {
  readonly #options: ImageDiskOptions;
  #mounts: ImageMounts | undefined;
  #isOwn: boolean | undefined;

  constructor(options: ImageDiskOptions) {
    this.#options = options;
  }

  /** Rejects when the runtime does not answer, or with the signal's reason. */
  async mounts(signal: AbortSignal): Promise<ImageMounts> {
    if (this.#mounts === undefined) {
      const { images, containers } = await this.#options.usage.imageFilesystems(signal);
      this.#mounts = { images: images?.mountpoint, containers: containers?.mountpoint };
    }
    return this.#mounts;
  }

  /** Whether they have a disk of their own; false when unknown. Rejects only with the signal's reason. */
  async isOwn(signal: AbortSignal): Promise<boolean> {
    try {
      this.#isOwn ??= await isElsewhere(await this.mounts(signal), this.#options.rootDir);
    } catch {
      signal.throwIfAborted();
    }
    return this.#isOwn ?? false;
  }
}

async function isElsewhere({ images, containers }: ImageMounts, rootDir: string): Promise<boolean> {
  // Images may have one of their own while writable layers share the agent's disk.
  const mountpoint = containers ?? images;
  if (mountpoint === undefined) return false;
  const [theirs, ours] = await Promise.all([stat(mountpoint), stat(rootDir)]);
  return theirs.dev !== ours.dev;
}
