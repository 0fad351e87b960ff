/**
 * The thread in which manifests are parsed: see {@link ThreadedManifestParser}.
 *
 * In: {@link WorkerRequest}s, one after the other. Out: `ready` once; then a {@link WorkerAnswer} for each
 * request. While there is more of it, each `more` gets another part, so that the receiver takes a large
 * answer in slices.
 *
 * @module
 */
import { parentPort } from 'node:worker_threads';
import { messageOf } from '#base/errors/errors.js';
import { type ManifestProblem } from './manifest-problem.js';
import { type ParseRequest, parseManifest } from './parse-manifest.js';
import { type SourceObject } from './source-object.js';
import { type SourcePod } from './source-pod.js';

/** A message to the thread. */
export type WorkerRequest = ParseRequest | 'more';

/** A message from the thread. */
export type WorkerAnswer = 'ready' | WorkerPart | { readonly error: string };

/** A part of the result. */
export interface WorkerPart {
  readonly pods: readonly SourcePod[];
  readonly objects: readonly SourceObject[];
  /** The last part has all of them. */
  readonly problems: readonly ManifestProblem[];
  readonly isLast: boolean;
}

/** Takes about a millisecond to receive. */
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

/** Takes as many items from the front as fit into one part, at least one. */
function takePart<Item extends { readonly written: string }>(items: Item[]): Item[] {
  let size = 0;
  const count = items.findIndex(({ written }) => (size += written.length) > CHARACTERS_PER_PART);
  return items.splice(0, count === -1 ? items.length : Math.max(1, count));
}
