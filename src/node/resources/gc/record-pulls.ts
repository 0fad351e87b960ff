import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { type PulledImages } from './pulled-images.js';

/** What {@link recordPulls} needs. */
export interface RecordPullsOptions {
  readonly changes: Pick<RuntimeChanges, 'findImage' | 'pullImage' | 'listImages'>;
  readonly pulled: PulledImages;
  readonly clock: Clock;
  readonly logger?: Logger;
}

/**
 * The same calls, recording every image that a pull brought and that did not exist before.
 *
 * An image that somebody else pulled does not become the agent's when it is requested again. A pull succeeds
 * even if it cannot be recorded; the image then stays on the node.
 */
export function recordPulls(options: RecordPullsOptions): Pick<RuntimeChanges, 'findImage' | 'pullImage'> {
  const { changes, pulled, clock, logger = SILENT_LOGGER } = options;
  return {
    findImage: (image, lookOptions) => changes.findImage(image, lookOptions),
    pullImage: async (image, pullOptions) => {
      const before = await idsBefore(options);
      const imageRef = await changes.pullImage(image, pullOptions);
      try {
        const id = (await changes.findImage(imageRef, { pod: pullOptions?.pod }))?.id;
        if (id !== undefined && before?.has(id) === false) await pulled.add(id, clock.now());
      } catch (error) {
        logger.error('Image was pulled but cannot be recorded as owned, it will stay', error, { image });
      }
      return imageRef;
    },
  };
}

/** Undefined when unknown: then a pulled image counts as already present. */
async function idsBefore({ changes }: RecordPullsOptions): Promise<ReadonlySet<string> | undefined> {
  try {
    return new Set((await changes.listImages()).map(({ id }) => id));
  } catch {
    return undefined;
  }
}
