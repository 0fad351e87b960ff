/**
 * The thread in which an image is unpacked: see `unpack-thread.ts`.
 *
 * In: {@link UnpackTask} as its data; then an answer to each `need`, which is where that layer is, or an abort. Out:
 * {@link UnpackNews}; the last message says how it ended.
 *
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '#base/errors/errors.js';
import { RpcError } from '../../rpc-error.js';
import { type FileRegion } from './file-region.js';
import { layerAt } from './layer-stream.js';
import { unpackLayers, type UnpackNews, type UnpackOrder, type UnpackTask } from './unpack-layers.js';
import { isFull } from '#base/fs/disk-errors.js';

const stop = new AbortController();
let takeLayer: ((layer: FileRegion) => void) | undefined;
const say = (news: UnpackNews): void => parentPort?.postMessage(news);

parentPort?.on('message', (order: UnpackOrder) => {
  if (order === 'abort') stop.abort(new Error('nobody wants the image any more'));
  else takeLayer?.(order.layer);
});

/** Asks where a layer is; for one at a time. */
function needLayer(index: number, signal: AbortSignal): Promise<FileRegion> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    takeLayer = resolve;
    say({ need: index });
  });
}

const { place, layers } = workerData as UnpackTask;
const readable = layers.map((layer, index) => layerAt(layer, (signal) => needLayer(index, signal)));
const onRead = (digest: string, bytes: number): void => say({ digest, bytes });
await unpackLayers(place, readable, onRead, stop.signal).then(
  (unpacked) => say({ unpacked }),
  (error: unknown) => {
    const code = error instanceof RpcError ? error.code : undefined;
    say({ failure: { message: messageOf(error), code, isFull: isFull(error) } });
  },
);
parentPort?.close();
