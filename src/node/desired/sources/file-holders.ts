import { type Held, heldKeys } from './held.js';

/** A file that stands for a pod, ConfigMap or Secret. */
export interface FileClaim {
  readonly file: string;
  readonly held: Held;
}

/**
 * Which file of a folder has which pod, ConfigMap and Secret: the first that wanted it, whatever its name, for as long as
 * it wants it. So a copy of a manifest takes nothing from a pod that runs.
 */
export class FileHolders {
  readonly #byKey = new Map<string, string>();

  /** The file that has it. Two pods of one name are judged by that, whatever their uids. */
  find(held: Held): string | undefined {
    const key = heldKeys(held).find((each) => this.#byKey.has(each));
    return key === undefined ? undefined : this.#byKey.get(key);
  }

  /** Whether it is this file's. */
  has({ file, held }: FileClaim): boolean {
    return this.find(held) === file;
  }

  /** Whether it is another file's. */
  isRefused(claim: FileClaim): boolean {
    return this.find(claim.held) !== undefined && !this.has(claim);
  }

  /** It is this file's, unless it is another's already. */
  add(claim: FileClaim): void {
    if (!this.isRefused(claim)) this.#set(claim);
  }

  /** From now on these have what they claim, and of the other files only those that `isKept` names keep theirs. */
  settle(accepted: readonly FileClaim[], isKept: (file: string) => boolean): void {
    for (const [key, file] of this.#byKey) if (!isKept(file)) this.#byKey.delete(key);
    for (const claim of accepted) this.#set(claim);
  }

  /** A file has got another name. */
  rename(from: string, to: string): void {
    for (const [key, file] of this.#byKey) if (file === from) this.#byKey.set(key, to);
  }

  #set({ file, held }: FileClaim): void {
    for (const key of heldKeys(held)) this.#byKey.set(key, file);
  }
}
