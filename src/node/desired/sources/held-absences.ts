import { fullName } from '../arbitrate-pods.js';
import { type Holding } from './file-holding.js';
import { objectName, type SourceObject } from '../manifests/source-object.js';
import { type SourcePod } from '../manifests/source-pod.js';

/** As a new file makes the absence of another one wait. */
const HOLD_ABSENCE_MS = 2_000;

/** Whether what is missing may still be found, and where that is looked for. */
export type Search = 'reading' | 'changing' | 'over';

/**
 * Keeps what no file stands for any more while it may be about to come in another file: who moves a pod from one file to
 * another writes them one after the other, and they stand still and are read one after the other.
 *
 * While files are being read, an absence waits until they have been; while files change, up to 2 s.
 */
export class HeldAbsences {
  #handed: Holding = { pods: [], objects: [] };
  #missingSinceMs = new Map<string, number>();

  /** What is to be handed on now: all that the files stand for, and what waits. Call it for each time something is handed on. */
  add<Files extends Holding>(files: Files, search: Search, nowMs: number): Files {
    const names = new Set(files.pods.map(({ pod }) => fullName(pod)));
    const uids = new Set(files.pods.map(({ pod }) => pod.metadata.uid));
    const objectNames = new Set(files.objects.map(({ object }) => objectName(object)));
    const missingSinceMs = new Map<string, number>();
    const isHeld = (name: string): boolean => {
      const sinceMs = this.#missingSinceMs.get(name) ?? nowMs;
      missingSinceMs.set(name, sinceMs);
      return search === 'reading' || (search === 'changing' && nowMs - sinceMs < HOLD_ABSENCE_MS);
    };
    const isPodHeld = ({ pod }: SourcePod): boolean =>
      !names.has(fullName(pod)) && !uids.has(pod.metadata.uid) && isHeld(`Pod ${fullName(pod)}`);
    const isObjectHeld = ({ object }: SourceObject): boolean =>
      !objectNames.has(objectName(object)) && isHeld(objectName(object));
    const pods = this.#handed.pods.filter(isPodHeld);
    const objects = this.#handed.objects.filter(isObjectHeld);
    this.#missingSinceMs = missingSinceMs;
    const all = { ...files, pods: [...files.pods, ...pods], objects: [...files.objects, ...objects] };
    this.#handed = all;
    return all;
  }
}
