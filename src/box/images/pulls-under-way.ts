import { type ChainStore } from './archive/chain-store.js';
import { type Layer } from './archive/layer-stream.js';
import { type BlobStore } from './blob-store.js';

/** How far a layer is, in bytes as they are stored. */
export interface LayerProgress {
  readonly digest: string;
  readonly size: number;
  readonly fetched: number;
  readonly unpacked: number;
}

/** A pull that goes on. */
export interface PullUnderWay {
  readonly image: string;
  /** Empty until the image is found. */
  layers: readonly Layer[];
}

interface PullStores {
  readonly blobs: Pick<BlobStore, 'storedBytes'>;
  readonly chains: Pick<ChainStore, 'unpackedBytes'>;
}

/** The pulls that go on, and how far each of their layers is. */
export class PullsUnderWay {
  readonly #stores: PullStores;
  readonly #pulls = new Set<PullUnderWay>();

  constructor(stores: PullStores) {
    this.#stores = stores;
  }

  /** A pull has begun; {@link end} has to be called with it. */
  begin(image: string): PullUnderWay {
    const pull = { image, layers: [] };
    this.#pulls.add(pull);
    return pull;
  }

  end(pull: PullUnderWay): void {
    this.#pulls.delete(pull);
  }

  /** Oldest first. */
  list(): readonly { readonly image: string; readonly layers: readonly LayerProgress[] }[] {
    return [...this.#pulls].map(({ image, layers }) => ({ image, layers: this.progressOf(layers) }));
  }

  /** Of each layer, as of now. */
  progressOf(layers: readonly Layer[]): readonly LayerProgress[] {
    const { blobs, chains } = this.#stores;
    return layers.map(({ descriptor }) => {
      const { digest, size } = descriptor;
      const unpacked = chains.unpackedBytes(layers, descriptor);
      // What an image folder has is not fetched.
      return { digest, size, unpacked, fetched: Math.max(unpacked, blobs.storedBytes(digest)) };
    });
  }
}
