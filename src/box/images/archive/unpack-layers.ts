import { TarError } from '#base/wire/tar/tar-entry.js';
import { RpcCode, RpcError } from '../../rpc-error.js';
import { type FolderUsage, measureFolder } from '../folder-usage.js';
import { RootBuilder } from '../root-builder.js';
import { lstatBig, mkdir, readdir } from './blocking-files.js';
import { type UnpackReport } from './entry-writer.js';
import { type FileRegion } from './file-region.js';
import { checkStored, readLayer, type Layer } from './layer-stream.js';
import { archiveLimit, type UnpackLimits } from './unpack-limits.js';

/** Where and how layers are unpacked. */
export interface UnpackPlace {
  /** A folder that is not there yet. */
  readonly root: string;
  /** See {@link RootBuilderOptions}. */
  readonly privileged: boolean;
  readonly limits: UnpackLimits;
}

/** What a thread is to do: see `unpack-thread.ts`. */
export interface UnpackTask {
  readonly place: UnpackPlace;
  readonly layers: readonly Pick<Layer, 'descriptor' | 'diffId'>[];
}

/** A message to the thread. */
export type UnpackOrder = { readonly layer: FileRegion } | 'abort';

/** A message from the thread. */
export type UnpackNews =
  /** Where the layer with this index is has to be known: it is read, perhaps once more. */
  | { readonly need: number }
  | { readonly digest: string; readonly bytes: number }
  | { readonly unpacked: Unpacked }
  | { readonly failure: UnpackFailure };

/** An error on its way out of the thread. */
export interface UnpackFailure {
  readonly message: string;
  /** Of an RpcError. */
  readonly code: number | undefined;
  readonly isFull: boolean;
}

/** What was unpacked. */
export interface Unpacked {
  readonly report: UnpackReport;
  /** What the files take. */
  readonly usage: FolderUsage;
}

/**
 * Unpacks layers one over the other, and calls `onRead` with the digest of a layer and how many of its bytes were read. Throws
 * FAILED_PRECONDITION where the stored bytes of a layer are damaged, and UNKNOWN where it is no archive.
 */
export async function unpackLayers(
  place: UnpackPlace,
  layers: readonly Layer[],
  onRead: (digest: string, bytes: number) => void,
  signal: AbortSignal,
): Promise<Unpacked> {
  await mkdir(place.root, 0o755);
  const builder = new RootBuilder({ ...place, signal });
  const bounds = { mostBytes: archiveLimit(place.limits), signal };
  for (const layer of layers) {
    const reading = counting(layer, onRead);
    await builder
      .addLayer(readLayer(reading, bounds))
      .catch((error: unknown) => explainLayer(error, reading, signal));
  }
  const report = await builder.finish();
  return { report, usage: await measureFolder(place.root, signal, { readdir, lstat: lstatBig }) };
}

/** A layer that knows whether its bytes could be read. */
interface ReadLayer extends Layer {
  hasFailed: boolean;
}

function counting(layer: Layer, onRead: (digest: string, bytes: number) => void): ReadLayer {
  const { digest } = layer.descriptor;
  const reading: ReadLayer = {
    ...{ ...layer, hasFailed: false },
    async *read(signal) {
      let bytes = 0;
      try {
        for await (const chunk of layer.read(signal)) {
          bytes += chunk.length;
          onRead(digest, bytes);
          yield chunk;
        }
      } catch (error) {
        reading.hasFailed = true;
        throw error;
      }
    },
  };
  return reading;
}

/** Throws the error of a layer, or FAILED_PRECONDITION where it is no archive since its stored bytes are damaged. */
async function explainLayer(error: unknown, layer: ReadLayer, signal: AbortSignal): Promise<never> {
  const code: number | undefined = error instanceof RpcError ? error.code : undefined;
  const isUnreadable = error instanceof TarError || code === RpcCode.UNKNOWN;
  if (isUnreadable && !layer.hasFailed) await checkStored(layer, signal);
  throw error;
}
