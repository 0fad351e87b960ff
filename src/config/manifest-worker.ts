/**
 * The thread in which manifests are parsed: see {@link ThreadedManifestParser}.
 *
 * In: {@link WorkerRequest}s. Out: `ready` once, then one {@link WorkerAnswer} for each request, in order.
 *
 * @module
 */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../util/errors.js';
import { type ParseRequest, parseManifest } from './parse-manifest.js';
import { type ParsedManifest } from './source-pod.js';

/** What the thread is sent. */
export interface WorkerRequest {
  readonly id: number;
  readonly request: ParseRequest;
}

/** What the thread sends. */
export type WorkerAnswer =
  | { readonly id: number; readonly manifest: ParsedManifest }
  | { readonly id: number; readonly error: string }
  | 'ready';

parentPort?.on('message', ({ id, request }: WorkerRequest) => {
  parentPort?.postMessage(answer(id, request));
});
parentPort?.postMessage('ready' satisfies WorkerAnswer);

function answer(id: number, request: ParseRequest): WorkerAnswer {
  try {
    return { id, manifest: parseManifest(request) };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}
