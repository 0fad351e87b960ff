import { createHash } from 'node:crypto';
import { mkdir, readdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { SingleFlight } from '#base/async/single-flight.js';
import { RecordFile } from '#base/fs/record-file.js';
import { syncPath } from '#base/fs/whole-file.js';
import { measureFolder, type FolderUsage } from '../folder-usage.js';
import { readLayer, type Layer } from './layer-stream.js';
import { RootBuilder } from '../root-builder.js';
import { runTool } from '../run-tool.js';
import { type Trash } from '../trash.js';
import { archiveLimit, type UnpackLimits } from './unpack-limits.js';

/** What {@link ChainStore.open} takes. */
export interface ChainStoreOptions {
  /** Holds a folder for each chain. */
  readonly folder: string;
  readonly trash: Trash;
  readonly logger: Logger;
  readonly privileged: boolean;
  readonly limits: UnpackLimits;
}

/** The name that images with the same layers share: the chain id of the OCI image specification. */
function computeChainId(diffIds: readonly string[]): string {
  const [first = 'none', ...rest] = diffIds;
  return rest.reduce(
    (chain, diffId) => `sha256:${createHash('sha256').update(`${chain} ${diffId}`).digest('hex')}`,
    first,
  );
}

/**
 * The unpacked files of images: one folder for each chain of layers, made once, whole or not at all.
 *
 * One folder for a chain and not one for a layer: what an upper layer removes is then simply not there, while marks of
 * overlayfs for it need attributes that Node cannot write and that only root may.
 */
export class ChainStore {
  readonly #options: ChainStoreOptions;
  readonly #usages: Map<string, FolderUsage>;
  /** Those whose facts cannot be read: their files are there, and nobody knows whether all of them. */
  readonly #damaged: Set<string>;
  readonly #flights = new SingleFlight<void>();
  readonly #holds = new Map<string, number>();
  /** Of chains that are being unpacked: how many bytes of each layer were read, by its digest. */
  readonly #read = new Map<string, Map<string, number>>();

  private constructor(
    options: ChainStoreOptions,
    usages: Map<string, FolderUsage>,
    damaged: ReadonlySet<string>,
  ) {
    this.#options = options;
    this.#usages = usages;
    this.#damaged = new Set(damaged);
  }

  /** Takes up what is there. */
  static async open(options: ChainStoreOptions): Promise<ChainStore> {
    await mkdir(options.folder, { recursive: true, mode: 0o700 });
    const usages = new Map<string, FolderUsage>();
    const damaged = new Set<string>();
    for (const name of await readdir(options.folder)) {
      try {
        const usage = await factsOf(join(options.folder, name)).read();
        if (usage === undefined) throw new Error('there are none');
        usages.set(toChainId(name), usage);
      } catch (error) {
        // Only names that this store gives are removed.
        if (/^sha[0-9]+-[0-9a-f]+$/.test(name)) damaged.add(toChainId(name));
        const message = 'The facts of unpacked layers cannot be read: their images have to be pulled again';
        options.logger.warn(message, { name, err: messageOf(error) });
      }
    }
    return new ChainStore(options, usages, damaged);
  }

  /** Of all that have files here, damaged ones too. */
  get ids(): readonly string[] {
    return [...this.#usages.keys(), ...this.#damaged];
  }

  /** Whether it is unpacked. */
  has(chainId: string): boolean {
    return this.#usages.has(chainId);
  }

  /** The folder that is the root of its files. */
  rootOf(chainId: string): string {
    return join(this.#options.folder, toName(chainId), 'root');
  }

  /** What all of them take. */
  get usages(): readonly FolderUsage[] {
    return [...this.#usages.values()];
  }

  /** How many of its stored bytes were unpacked of a layer, by its digest; all of it once the chain is there. */
  unpackedBytes(layers: readonly Layer[], { digest, size }: Layer['descriptor']): number {
    const chainId = computeChainId(layers.map(({ diffId }) => diffId));
    return this.has(chainId) ? size : (this.#read.get(chainId)?.get(digest) ?? 0);
  }

  /** Unpacks the layers unless they are, and holds them while `use` runs: {@link collect} leaves them alone. */
  async hold<T>(
    layers: readonly Layer[],
    signal: AbortSignal,
    use: (chainId: string) => Promise<T>,
  ): Promise<T> {
    const chainId = computeChainId(layers.map(({ diffId }) => diffId));
    this.#holds.set(chainId, (this.#holds.get(chainId) ?? 0) + 1);
    try {
      if (!this.has(chainId)) {
        await this.#flights.run(chainId, (flight) => this.#unpack(chainId, layers, flight.signal), signal);
      }
      return await use(chainId);
    } finally {
      const left = this.#holds.get(chainId)! - 1;
      if (left > 0) this.#holds.set(chainId, left);
      else this.#holds.delete(chainId);
    }
  }

  /** Throws away what is neither needed nor held. */
  async collect(isNeeded: (chainId: string) => boolean): Promise<void> {
    for (const chainId of this.ids) {
      if (isNeeded(chainId) || this.#holds.has(chainId)) continue;
      this.#usages.delete(chainId);
      this.#damaged.delete(chainId);
      await this.#options.trash.discard(join(this.#options.folder, toName(chainId)));
    }
  }

  async #unpack(chainId: string, layers: readonly Layer[], signal: AbortSignal): Promise<void> {
    const { trash, folder, logger, privileged, limits } = this.#options;
    if (this.has(chainId)) return;
    const temporary = await trash.makeFolder();
    const read = new Map<string, number>();
    this.#read.set(chainId, read);
    try {
      const root = join(temporary, 'root');
      await mkdir(root, 0o755);
      const builder = new RootBuilder({ root, privileged, limits, signal });
      const bounds = { mostBytes: archiveLimit(limits), signal };
      for (const layer of layers) await builder.addLayer(readLayer(counting(layer, read), bounds));
      const report = await builder.finish();
      if (report.devices + report.attributes > 0)
        logger.warn('Parts of an image were left out', { ...report });
      const usage = await measureFolder(root, signal);
      await factsOf(temporary).write(usage);
      await syncTree(temporary, logger);
      signal.throwIfAborted();
      const place = join(folder, toName(chainId));
      // A folder without facts that an earlier version or a hand has left.
      await trash.discard(place);
      await rename(temporary, place);
      await syncPath(folder);
      this.#usages.set(chainId, usage);
      this.#damaged.delete(chainId);
    } catch (error) {
      await trash.discard(temporary);
      throw error;
    } finally {
      this.#read.delete(chainId);
    }
  }
}

/** The layer, whose bytes are counted as they are read. */
function counting(layer: Layer, read: Map<string, number>): Layer {
  const { digest } = layer.descriptor;
  return {
    ...layer,
    async *read(signal) {
      let bytes = 0;
      for await (const chunk of layer.read(signal)) {
        bytes += chunk.length;
        read.set(digest, bytes);
        yield chunk;
      }
    },
  };
}

/** Brings a tree to the disk with one call for its whole file system: a call for each file would take minutes. */
async function syncTree(folder: string, logger: Logger): Promise<void> {
  await runTool('sync', ['-f', folder]).catch((error: unknown) =>
    logger.warn('An unpacked image may not survive a loss of power', { err: messageOf(error) }),
  );
}

function toName(chainId: string): string {
  return chainId.replace(':', '-');
}

function toChainId(name: string): string {
  return name.replace('-', ':');
}

/** The file that says how much the unpacked layers in a folder take. */
function factsOf(folder: string): RecordFile<FolderUsage> {
  return new RecordFile({
    path: join(folder, 'facts.json'),
    format: ({ bytes, inodes }) => ({ bytes: String(bytes), inodes: String(inodes) }),
    parse: (content) => {
      const { bytes, inodes } = content as { readonly bytes: string; readonly inodes: string };
      return { bytes: BigInt(bytes), inodes: BigInt(inodes) };
    },
  });
}
