/**
 * The thread in which an image is unpacked: see `unpack-thread.ts`.
 *
 * In: {@link UnpackTask} as its data; then an answer to each `need`, which is where that layer is, or an abort. Out:
 * {@link UnpackNews}, the last of which says how it ended.
 *
 * @module
 */
import { parentPort, workerData } from 'node:worker_threads';
import { messageOf } from '#base/errors/errors.js';
import { RpcError } from '../../rpc-error.js';
import { type FileRegion, readRegion } from './file-region.js';
import { unpackLayers, type UnpackNews, type UnpackOrder, type UnpackTask } from './unpack-layers.js';
import { isFull } from './unpack-limits.js';

const stop = new AbortController();
let takeLayer: ((layer: FileRegion) => void) | undefined;
const say = (news: UnpackNews): void => parentPort?.postMessage(news);

parentPort?.on('message', (order: UnpackOrder) => {
  if (order === 'abort') stop.abort(new Error('nobody wants the image any more'));
  else takeLayer?.(order.layer);
});

/** One after another, as they are unpacked. */
function needLayer(signal: AbortSignal): Promise<FileRegion> {
  return new Promise((resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true });
    takeLayer = resolve;
    say('need');
  });
}

const { place, layers } = workerData as UnpackTask;
const readable = layers.map((layer) => ({
  ...layer,
  read: async function* (signal: AbortSignal) {
    yield* readRegion(await needLayer(signal));
  },
}));
const onRead = (digest: string, bytes: number): void => say({ digest, bytes });
await unpackLayers(place, readable, onRead, stop.signal).then(
  (unpacked) => say({ unpacked }),
  (error: unknown) => {
    const code = error instanceof RpcError ? error.code : undefined;
    say({ failure: { message: messageOf(error), code, isFull: isFull(error) } });
  },
);
parentPort?.close();
