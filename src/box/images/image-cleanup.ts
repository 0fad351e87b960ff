import { type BlobStore } from './blob-store.js';
import { type ChainStore } from './archive/chain-store.js';
import { type ContainerRoots } from './container-roots.js';
import { type ImageRecords } from './image-records.js';

/** What an {@link ImageCleanup} cleans. */
export interface ImageCleanupOptions {
  readonly records: ImageRecords;
  readonly chains: ChainStore;
  readonly roots: ContainerRoots;
  readonly blobs: BlobStore;
}

/**
 * Removes what nobody needs any more: records of images that are neither pulled nor in use, and unpacked layers that no
 * record and no container names; and blobs of images that are not pulled.
 *
 * A record that cannot be read holds up nothing but the layers that may be its own. Those are the ones that stand in what
 * is left of it; where none does, those that were there at the start and that nobody else named. (Layers that others
 * share with it go with the last of the others: a damaged image can only be pulled again.) They are let go once the image
 * is pulled again, or the file is gone at a start.
 */
export class ImageCleanup {
  readonly #options: ImageCleanupOptions;
  /** The layers that may belong to a damaged record, by its image. */
  readonly #claims = new Map<string, ReadonlySet<string>>();

  /** To be made when all parts are open and nothing has changed yet. */
  constructor(options: ImageCleanupOptions) {
    this.#options = options;
    const { records, chains, blobs } = options;
    for (const record of records.all) blobs.claim(record.blobs ?? []);
    const named = this.#findNamed();
    const orphans = new Set(chains.ids.filter((id) => !named.has(id)));
    for (const [imageId, mentioned] of records.damaged) {
      const own = new Set(chains.ids.filter((id) => mentioned.has(id)));
      this.#claims.set(imageId, own.size > 0 ? own : orphans);
    }
  }

  /** Cleans up. Returns the ids of the images that were forgotten. */
  async collect(): Promise<readonly string[]> {
    const { records, chains, roots, blobs } = this.#options;
    // What a root whose facts cannot be read needs is not known.
    if (!roots.complete) return [];
    const used = new Set([...roots.uses.values()].map(({ imageId }) => imageId));
    const forgotten = records.all.filter(({ id, pulled }) => !pulled && !used.has(id)).map(({ id }) => id);
    for (const id of forgotten) await records.delete(id);
    const named = this.#findNamed();
    await chains.collect((chainId) => named.has(chainId) || this.#isClaimed(chainId));
    // A damaged record may still name its own.
    const wanted = records.all.filter(({ pulled }) => pulled).flatMap((record) => record.blobs ?? []);
    const stored = new Set([wanted, ...records.damaged.values()].flatMap((digests) => [...digests]));
    await blobs.collect((digest) => stored.has(digest));
    return forgotten;
  }

  /** The layers that records and containers name. */
  #findNamed(): ReadonlySet<string> {
    const { records, roots } = this.#options;
    return new Set([...records.all, ...roots.uses.values()].map(({ chainId }) => chainId));
  }

  #isClaimed(chainId: string): boolean {
    const { damaged } = this.#options.records;
    return [...this.#claims].some(([imageId, claim]) => damaged.has(imageId) && claim.has(chainId));
  }
}
