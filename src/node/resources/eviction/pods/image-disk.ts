import { stat } from 'node:fs/promises';
import { type CriPodUsage } from '#watch';

/** What {@link ImageDisk} needs. */
export interface ImageDiskOptions {
  readonly rootDir: string;
  readonly usage: Pick<CriPodUsage, 'imageFilesystems'>;
}

/** Where the runtime keeps images, and where what containers write; undefined where it does not say. */
export interface ImageMounts {
  readonly images: string | undefined;
  readonly containers: string | undefined;
}

/** Where images and what containers write are. It does not change while a runtime runs: asked until it is known, and then no more. */
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

  /** Whether they have a disk of their own; false where it cannot be told. Rejects with the signal's reason alone. */
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
  // Images may be on one of their own while containers write beside the agent's files.
  const mountpoint = containers ?? images;
  if (mountpoint === undefined) return false;
  const [theirs, ours] = await Promise.all([stat(mountpoint), stat(rootDir)]);
  return theirs.dev !== ours.dev;
}
