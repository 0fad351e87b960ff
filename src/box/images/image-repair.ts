import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type ChainStore } from './archive/chain-store.js';
import { type BlobStore } from './blob-store.js';
import { findStoredLayers } from './image-archive.js';
import { type ImageRecords } from './image-records.js';

/** What {@link repairImages} works on. */
export interface ImagesToRepair {
  readonly records: Pick<ImageRecords, 'all'>;
  readonly chains: ChainStore;
  readonly blobs: BlobStore;
  readonly logger: Logger;
  /** Removes what nobody needs: an image may be removed while it is repaired. */
  readonly collect: () => Promise<void>;
}

/**
 * Unpacks again what a loss of power may have taken of images, from their layers, which are stored; one image after
 * another. An image for which that does not work is gone from the list, and has to be pulled again. Never rejects.
 */
export async function repairImages(
  { records, chains, blobs, logger, collect }: ImagesToRepair,
  signal: AbortSignal,
): Promise<void> {
  const doubtful = records.all.filter(({ pulled, chainId }) => pulled && chains.isDoubtful(chainId));
  for (const record of doubtful) {
    const { chainId, id, references } = record;
    // Another image with the same layers came first, or it was pulled or removed meanwhile.
    if (!chains.isDoubtful(chainId)) continue;
    const image = references[0] ?? id;
    try {
      logger.info('Unpacking an image again, as the power was lost soon after it was pulled', { image });
      const layers = await findStoredLayers(record, blobs);
      await chains.hold({ layers, blobs: record.blobs ?? [] }, signal, () => Promise.resolve());
      await collect();
    } catch (error) {
      if (signal.aborted) return;
      chains.giveUp(chainId);
      logger.warn('An image is not whole after a loss of power, and has to be pulled again', {
        image,
        err: messageOf(error),
      });
    }
  }
}
