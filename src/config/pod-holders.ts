import { fullName } from './arbitrate-pods.js';
import { type SourcePod } from './source-pod.js';

/** A file that stands for a pod. */
export interface FileClaim {
  readonly file: string;
  readonly pod: SourcePod;
}

/**
 * Which file of a folder has which pod: the first that wanted it, whatever its name, for as long as it wants it. So a
 * copy of a manifest takes nothing from a pod that runs.
 */
export class PodHolders {
  /** By the pod's full name, and by its uid. */
  readonly #byName = new Map<string, string>();
  readonly #byUid = new Map<string, string>();

  /** The file that has the pod. Two pods of one name are judged by that, whatever their uids. */
  find({ pod }: SourcePod): string | undefined {
    return this.#byName.get(fullName(pod)) ?? this.#byUid.get(pod.metadata.uid);
  }

  /** Whether the pod is this file's. */
  has({ file, pod }: FileClaim): boolean {
    return this.find(pod) === file;
  }

  /** Whether the pod is another file's. */
  isRefused(claim: FileClaim): boolean {
    return this.find(claim.pod) !== undefined && !this.has(claim);
  }

  /** The pod is this file's, unless it is another's already. */
  add(claim: FileClaim): void {
    if (this.isRefused(claim)) return;
    const { file, pod } = claim;
    this.#byName.set(fullName(pod.pod), file);
    this.#byUid.set(pod.pod.metadata.uid, file);
  }

  /** From now on these have what they claim, and of the other files only those that `isKept` names keep theirs. */
  settle(accepted: readonly FileClaim[], isKept: (file: string) => boolean): void {
    for (const holders of [this.#byName, this.#byUid]) {
      for (const [key, file] of holders) if (!isKept(file)) holders.delete(key);
    }
    for (const { file, pod } of accepted) {
      this.#byName.set(fullName(pod.pod), file);
      this.#byUid.set(pod.pod.metadata.uid, file);
    }
  }

  /** A file has got another name. */
  rename(from: string, to: string): void {
    for (const holders of [this.#byName, this.#byUid]) {
      for (const [key, file] of holders) if (file === from) holders.set(key, to);
    }
  }
}
