import { type Clock } from '../util/clock.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';
import { type ImageRecords } from './image-collector.js';
import { type PulledImages } from './pulled-images.js';

/** What {@link recordRemovals} needs. */
export interface RecordRemovalsOptions {
  readonly records: ImageRecords;
  readonly pulled: Pick<PulledImages, 'forget'>;
  readonly clock: Pick<Clock, 'now' | 'monotonicMs'>;
  readonly logger?: Logger;
}

/**
 * The same records; an image that was removed is none any more that we fetched, either. Whoever fetches it next may be
 * somebody else, and then it is not ours.
 *
 * A removal is done although that cannot be written.
 */
export function recordRemovals(options: RecordRemovalsOptions): ImageRecords {
  const { records, pulled, clock, logger = SILENT_LOGGER } = options;
  return {
    keepOnly: async (images, sinceMs) => records.keepOnly(images, sinceMs),
    forget: async (id, sinceMs) => {
      await records.forget(id, sinceMs);
      try {
        await pulled.forget(id, clock.now() - (clock.monotonicMs() - sinceMs));
      } catch (error) {
        logger.error('Image was removed and cannot be noted as gone', error, { imageID: id });
      }
    },
  };
}
