import { status } from '@grpc/grpc-js';
import { Backoff } from '#base/async/backoff.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { messageOf } from '#base/errors/errors.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import { RpcError } from '../rpc-error.js';
import { type ChainStore } from './archive/chain-store.js';
import { checkStored, type Layer } from './archive/layer-stream.js';
import { type BlobStore } from './blob-store.js';
import { findStoredLayers } from './image-archive.js';
import { type ImageRecord, type ImageRecords } from './image-records.js';

/** What an {@link ImageRepair} works on. */
export interface ImagesToRepair {
  readonly records: Pick<ImageRecords, 'all'>;
  readonly chains: ChainStore;
  readonly blobs: BlobStore;
  readonly logger: Logger;
  readonly clock: Pick<Clock, 'sleep'>;
  /** Removes what nobody needs: an image may be removed while it is repaired. */
  readonly collect: () => Promise<void>;
}

/** Before what failed is tried again. */
const RETRY = { initialMs: 10_000, maxMs: 10 * 60_000 };

/**
 * Unpacks again what a loss of power may have taken of images, from their layers, which are stored.
 *
 * Images that have the same unpacked files share them, and may have them in different layers: one whole set of these is
 * enough. Where no image has one, all of them are gone from the list, and have to be pulled again. Any other failure, as
 * of a full disk, may pass: the files stay doubtful, and are tried again.
 */
export class ImageRepair {
  readonly #parts: ImagesToRepair;
  readonly #flights = new SingleFlight<void>();
  readonly #closing = new AbortController();
  #running: Promise<void> = Promise.resolve();

  constructor(parts: ImagesToRepair) {
    this.#parts = parts;
  }

  /** Begins to repair all images, one after another, until nothing is left to repair. */
  start(): void {
    this.#running = this.#run(this.#closing.signal);
  }

  /** Breaks off what is being repaired: it is repaired after the next start. */
  async close(): Promise<void> {
    this.#closing.abort(new RpcError(status.UNAVAILABLE, 'the runtime is ending'));
    await this.#running;
  }

  /**
   * Repairs the files of an image at once if they are doubtful. Resolves with why that did not work for now, which
   * {@link assertWhole} takes. Rejects with the signal's reason, and with UNAVAILABLE when the runtime ends before.
   */
  async repairFor({ chainId }: ImageRecord, signal: AbortSignal): Promise<string | undefined> {
    if (!this.#parts.chains.isDoubtful(chainId)) return undefined;
    const either = AbortSignal.any([signal, this.#closing.signal]);
    try {
      await this.#repairOnce(chainId, either);
      return undefined;
    } catch (error) {
      either.throwIfAborted();
      return `they cannot be unpacked again after a loss of power, which is tried later: ${messageOf(error)}`;
    }
  }

  /** Throws FAILED_PRECONDITION unless all files of an image are there. */
  assertWhole({ id, references, chainId }: ImageRecord, why = 'it has to be pulled again'): void {
    if (this.#parts.chains.isWhole(chainId)) return;
    const message = `not all files of image "${references[0] ?? id}" are there: ${why}`;
    throw new RpcError(status.FAILED_PRECONDITION, message);
  }

  /** Never rejects. */
  async #run(signal: AbortSignal): Promise<void> {
    const backoff = new Backoff(RETRY);
    for (;;) {
      // A failure is logged where it comes up.
      for (const chainId of this.#findDoubtful())
        await this.#repairOnce(chainId, signal).catch(() => undefined);
      if (this.#findDoubtful().size === 0) return;
      try {
        await this.#parts.clock.sleep(backoff.nextMs(), signal);
      } catch {
        return;
      }
    }
  }

  /**
   * Repairs the files that images share, or gives them up; does nothing unless they are doubtful. Rejects with what may
   * pass, and with the signal's reason. All who ask for the same at the same time share it.
   */
  async #repairOnce(chainId: string, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (!this.#parts.chains.isDoubtful(chainId)) return;
    await this.#flights.run(chainId, (flight) => this.#repair(chainId, flight.signal), signal);
  }

  /** Of all images that are in the list or in use. */
  #findDoubtful(): ReadonlySet<string> {
    const { records, chains } = this.#parts;
    return new Set(records.all.map(({ chainId }) => chainId).filter((chainId) => chains.isDoubtful(chainId)));
  }

  async #repair(chainId: string, signal: AbortSignal): Promise<void> {
    const { records, chains, logger, collect } = this.#parts;
    const sharing = records.all.filter((record) => record.chainId === chainId);
    const images = sharing.map(({ references, id }) => references[0] ?? id);
    const damages: string[] = [];
    let passing: { readonly error: unknown } | undefined;
    // It may have been pulled or removed meanwhile.
    if (!chains.isDoubtful(chainId)) return;
    logger.info('Unpacking an image again, as the power was lost soon after it was pulled', { images });
    for (const record of sharing) {
      try {
        const damage = await this.#unpack(record, signal);
        if (damage !== undefined) damages.push(damage);
      } catch (error) {
        signal.throwIfAborted();
        passing ??= { error };
      }
      if (!chains.isDoubtful(chainId)) break;
    }
    if (!chains.isDoubtful(chainId)) {
      await collect().catch((error: unknown) =>
        logger.warn('What a repaired image no longer needs cannot be removed', { err: messageOf(error) }),
      );
    } else if (passing !== undefined) {
      const message = 'An image cannot be unpacked again after a loss of power, which is tried later';
      logger.warn(message, { images, err: messageOf(passing.error) });
      throw passing.error;
    } else {
      chains.giveUp(chainId);
      const message = 'An image is not whole after a loss of power, and has to be pulled again';
      logger.warn(message, { images, err: damages.join('; ') });
    }
  }

  /** What is wrong with the layers of the image for good; undefined where they were unpacked. Rejects with all else. */
  async #unpack(record: ImageRecord, signal: AbortSignal): Promise<string | undefined> {
    const { chains, blobs } = this.#parts;
    let layers: readonly Layer[];
    try {
      layers = await findStoredLayers(record, blobs);
    } catch (error) {
      if (isForGood(error)) return messageOf(error);
      throw error;
    }
    try {
      await chains.hold({ layers, areStored: () => true }, signal, () => Promise.resolve());
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      // The error may be of the disk or of what is no archive: the layers themselves say which.
      const damages = await findDamages(layers, signal);
      if (damages.size === 0) throw error;
      // So that a pull fetches them.
      for (const digest of damages.keys()) await blobs.discard(digest);
      return [...damages.values()].join('; ');
    }
  }
}

/** What is wrong with those of the layers that are missing or damaged, by digest. Rejects where one cannot be read. */
async function findDamages(
  layers: readonly Layer[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, string>> {
  const damages = new Map<string, string>();
  for (const layer of layers) {
    try {
      await checkStored(layer, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isForGood(error)) throw error;
      damages.set(layer.descriptor.digest, messageOf(error));
    }
  }
  return damages;
}

/** Whether an error of what is stored says that it is missing or wrong; any other, as of the disk, may pass. */
function isForGood(error: unknown): boolean {
  return error instanceof RpcError || systemCodeOf(error) === 'ENOENT';
}
