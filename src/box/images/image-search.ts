import { basename } from 'node:path';
import { status } from '@grpc/grpc-js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { RpcError } from '../rpc-error.js';
import { HOST } from './host-image.js';
import { ImageFinder } from './image-finder.js';
import { type Platform } from './archive/oci-documents.js';
import { type ImageLayout } from './archive/image-layout.js';
import { resolveImage, type ResolvedImage, type Wanted } from './image-resolver.js';
import { toPlatform } from './platform.js';

/** Searches all image folders for one image. */
export class ImageSearch {
  readonly #finder: ImageFinder;
  readonly #imageDirs: readonly string[];
  readonly #logger: Logger;

  constructor({ imageDirs, logger }: { imageDirs: readonly string[]; logger: Logger }) {
    this.#finder = new ImageFinder({ imageDirs, logger });
    this.#imageDirs = imageDirs;
    this.#logger = logger;
  }

  /** Whether there is anything to search. */
  get hasFolders(): boolean {
    return this.#imageDirs.length > 0;
  }

  /**
   * The image in the first layout that has it for the platform (default: this machine's); `reference` is what errors call it. Throws NOT_FOUND,
   * which says what was searched, what could not be read, and which names there are; what {@link resolveImage} throws of
   * a layout that has it; and the signal's reason when that aborts.
   *
   * By digest it is the same image wherever it lies, so that a layout in which it is damaged hides no other. By name it
   * is not: what lies behind is another image, perhaps an older one.
   */
  async find(
    reference: string,
    wanted: Wanted,
    signal: AbortSignal,
    platform: Platform = toPlatform(process.arch),
  ): Promise<ResolvedImage> {
    const { layouts, searched } = await this.#finder.find(signal);
    const passedOver: string[] = [];
    const failures: unknown[] = [];
    for (const layout of layouts) {
      signal.throwIfAborted();
      const onFault = (error: unknown): void => {
        passedOver.push(`${basename(layout.path)}: ${messageOf(error)}`);
        this.#logger.warn('An image cannot be read', { path: layout.path, err: messageOf(error) });
      };
      try {
        const found = await resolveImage(layout, wanted, { platform, signal, onFault });
        if (found !== undefined) return found;
      } catch (error) {
        signal.throwIfAborted();
        // A later layout may have it for this machine.
        const elsewhere = error instanceof RpcError && error.code === status.NOT_FOUND;
        if (!elsewhere && 'name' in wanted) throw error;
        if (!elsewhere) onFault(error);
        failures.push(error);
      }
    }
    if (failures.length > 0) throw failures[0];
    const where = this.#imageDirs.length === 0 ? 'nothing, as there is no image folder' : searched.join(', ');
    const faults = passedOver.length === 0 ? '' : ` (not readable: ${listSome(passedOver)})`;
    const names = listSome([...HOST.repoTags, ...namesIn(layouts)]);
    const message = `image "${reference}" was not found: searched ${where}${faults}; there are ${names}`;
    throw new RpcError(status.NOT_FOUND, message);
  }
}

function namesIn(layouts: readonly ImageLayout[]): string[] {
  return [...new Set(layouts.flatMap(({ entries }) => entries.flatMap(({ names }) => names)))];
}

const MAX_NAMES = 20;

/** Names for people: the first ones, and how many more there are. */
export function listSome(names: readonly string[]): string {
  const more = names.length - MAX_NAMES;
  return `${names.slice(0, MAX_NAMES).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
