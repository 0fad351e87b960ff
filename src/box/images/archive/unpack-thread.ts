import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { type Worker } from 'node:worker_threads';
import { isSingleExecutable } from '#base/program/executable-files.js';
import { startThread } from '#base/program/start-thread.js';
import { RpcError } from '../../rpc-error.js';
import { type Layer } from './layer-stream.js';
import {
  type Unpacked,
  type UnpackFailure,
  unpackLayers,
  type UnpackNews,
  type UnpackOrder,
  type UnpackPlace,
  type UnpackTask,
} from './unpack-layers.js';

/** Compiled unpack-worker.ts, whose name changes with its contents: an upgrade may have removed it. */
const ENTRY = new URL('./unpack-worker.js', import.meta.url);

/**
 * As {@link unpackLayers}, in a thread of its own: it waits for the disk at each step, which the event loop must not do.
 * Where the file of the thread is not there it is done here, in slices. Nothing is written any more when it rejects.
 */
export async function unpackInThread(
  place: UnpackPlace,
  layers: readonly Layer[],
  onRead: (digest: string, bytes: number) => void,
  signal: AbortSignal,
): Promise<Unpacked> {
  const canLocate = layers.every(({ locate }) => locate !== undefined);
  const isThere = isSingleExecutable() || existsSync(fileURLToPath(ENTRY));
  if (!canLocate || !isThere) return unpackLayers(place, layers, onRead, signal);
  const task: UnpackTask = {
    place,
    layers: layers.map(({ descriptor, diffId }) => ({ descriptor, diffId })),
  };
  // Flags of the process (an inspector, a loader) are not for the thread.
  const worker = startThread(ENTRY, { execArgv: [], workerData: task });
  const abort = (): void => worker.postMessage('abort' satisfies UnpackOrder);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await follow(worker, layers, onRead, signal);
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', abort);
    await worker.terminate();
  }
}

/** Gives the thread what it needs until it has ended its work. */
function follow(
  worker: Worker,
  layers: readonly Layer[],
  onRead: (digest: string, bytes: number) => void,
  signal: AbortSignal,
): Promise<Unpacked> {
  let lost: { readonly error: unknown } | undefined;
  const giveLayer = async (index: number): Promise<void> => {
    try {
      const layer = await layers[index]!.locate!(signal);
      worker.postMessage({ layer } satisfies UnpackOrder);
    } catch (error) {
      lost = { error };
      worker.postMessage('abort' satisfies UnpackOrder);
    }
  };
  return new Promise((resolve, reject) => {
    worker.on('message', (news: UnpackNews) => {
      if ('need' in news) void giveLayer(news.need);
      else if ('digest' in news) onRead(news.digest, news.bytes);
      else if ('unpacked' in news) resolve(news.unpacked);
      else reject(lost === undefined ? toError(news.failure) : (lost.error as Error));
    });
    worker.once('error', reject);
    worker.once('exit', (code) => reject(new Error(`the thread that unpacks ended with ${code}`)));
  });
}

function toError({ message, code, isFull }: UnpackFailure): Error {
  const options = isFull ? { cause: { code: 'ENOSPC' } } : undefined;
  return code === undefined ? new Error(message, options) : new RpcError(code, message, options);
}
