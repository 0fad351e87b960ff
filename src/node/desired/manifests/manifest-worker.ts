/**
 * The thread in which manifests are parsed: see {@link ThreadedManifestParser}.
 *
 * In: {@link WorkerRequest}s, one after the other. Out: `ready` once; then for each request a {@link WorkerAnswer}, and
 * while there is more of it, another one each time that `more` comes in: whoever takes a large answer takes it in slices.
 *
 * @module
 */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '#base/errors/errors.js';
import { type ManifestProblem } from './manifest-problem.js';
import { type ParseRequest, parseManifest } from './parse-manifest.js';
import { type SourceObject } from './source-object.js';
import { type SourcePod } from './source-pod.js';

/** What the thread is sent. */
export type WorkerRequest = ParseRequest | 'more';

/** What the thread sends. */
export type WorkerAnswer = 'ready' | WorkerPart | { readonly error: string };

/** A part of what was parsed. */
export interface WorkerPart {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  /** All of them are in the last part. */
  readonly problems: readonly ManifestProblem[];
  readonly isLast: boolean;
}

/** Takes about a millisecond on the other side. */
const CHARACTERS_PER_PART = 64 * 1024;

let left: SourcePod[] = [];
let leftObjects: SourceObject[] = [];
let problems: readonly ManifestProblem[] = [];

parentPort?.on('message', (request: WorkerRequest) => {
  parentPort?.postMessage(answer(request));
});
parentPort?.postMessage('ready' satisfies WorkerAnswer);

function answer(request: WorkerRequest): WorkerAnswer {
  try {
    if (request !== 'more') {
      const manifest = parseManifest(request);
      left = [...manifest.pods];
      leftObjects = [...manifest.objects];
      problems = manifest.problems;
    }
    const objects = takePart(leftObjects);
    const pods = leftObjects.length > 0 || objects.length > 0 ? [] : takePart(left);
    const isLast = left.length + leftObjects.length === 0;
    return { pods, objects, problems: isLast ? problems : [], isLast };
  } catch (error) {
    return { error: messageOf(error) };
  }
}

/** Takes as many from the front as one part may hold, at least one. */
function takePart<Item extends { readonly written: string }>(items: Item[]): Item[] {
  let size = 0;
  const count = items.findIndex(({ written }) => (size += written.length) > CHARACTERS_PER_PART);
  return items.splice(0, count === -1 ? items.length : Math.max(1, count));
}
