import { fullName } from '../arbitrate-pods.js';
import { type Holding } from './file-holding.js';
import { objectName, type SourceObject } from '../manifests/source-object.js';
import { type SourcePod } from '../manifests/source-pod.js';

/** As long as a new file delays the absence of another one. */
const HOLD_ABSENCE_MS = 2_000;

/** Whether a missing item may still be found, and where. */
export type Search = 'reading' | 'changing' | 'over';

/**
 * Delays the absence of an item that may be about to appear in another file.
 *
 * Whoever moves a pod between files writes them one after the other, and they become stable and are read one
 * after the other. While files are being read, an absence waits for them; while files change, up to 2 s.
 */
export class DeferredRemovals {
  #handed: Holding = { pods: [], objects: [] };
  #missingSinceMs = new Map<string, number>();

  /**
   * What to hand on now: the contents of the files, and the delayed items. Call it each time something is
   * handed on.
   */
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
