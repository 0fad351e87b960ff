import { stat } from 'node:fs/promises';
import { type CriPodUsage } from '../../runtime/cri-pod-usage.js';

/** What {@link ImageDisk} needs. */
export interface ImageDiskOptions {
  readonly rootDir: string;
  readonly usage: Pick<CriPodUsage, 'imageFilesystems'>;
}

/** Whether images and what containers write have a disk of their own. Asked until it is known, and then no more. */
export class ImageDisk {
  readonly #options: ImageDiskOptions;
  #isOwn: boolean | undefined;

  constructor(options: ImageDiskOptions) {
    this.#options = options;
  }

  /** False where it cannot be told. Rejects with the signal's reason alone. */
  async isOwn(signal: AbortSignal): Promise<boolean> {
    const { rootDir, usage } = this.#options;
    try {
      this.#isOwn ??= await isElsewhere(await usage.imageFilesystems(signal), rootDir);
    } catch {
      signal.throwIfAborted();
    }
    return this.#isOwn ?? false;
  }
}

async function isElsewhere(
  { images, containers }: Awaited<ReturnType<CriPodUsage['imageFilesystems']>>,
  rootDir: string,
): Promise<boolean> {
  // Images may be on one of their own while containers write beside the agent's files.
  const mountpoint = containers?.mountpoint ?? images?.mountpoint;
  if (mountpoint === undefined) return false;
  const [theirs, ours] = await Promise.all([stat(mountpoint), stat(rootDir)]);
  return theirs.dev !== ours.dev;
}
