import { type Held, heldKeys } from './held.js';

/** A file's claim to a pod, ConfigMap or Secret. */
export interface FileClaim {
  readonly file: string;
  readonly held: Held;
}

/**
 * Which file of a folder has which pod, ConfigMap and Secret: the first that wanted it, as long as it wants
 * it.
 *
 * So a copy of a manifest takes nothing from a running pod, whatever its name.
 */
export class FileHolders {
  readonly #byKey = new Map<string, string>();

  /** The file that has it. Two pods of one name count as the same, whatever their uids. */
  find(held: Held): string | undefined {
    const key = heldKeys(held).find((each) => this.#byKey.has(each));
    return key === undefined ? undefined : this.#byKey.get(key);
  }

  /** Whether this file has it. */
  has({ file, held }: FileClaim): boolean {
    return this.find(held) === file;
  }

  /** Whether another file has it. */
  isRefused(claim: FileClaim): boolean {
    return this.find(claim.held) !== undefined && !this.has(claim);
  }

  /** Gives it to this file, unless another one has it. */
  add(claim: FileClaim): void {
    if (!this.isRefused(claim)) this.#set(claim);
  }

  /** Gives these files what they claim; of the other files, only those that `isKept` names keep theirs. */
  settle(accepted: readonly FileClaim[], isKept: (file: string) => boolean): void {
    for (const [key, file] of this.#byKey) if (!isKept(file)) this.#byKey.delete(key);
    for (const claim of accepted) this.#set(claim);
  }

  /** A file was renamed. */
  rename(from: string, to: string): void {
    for (const [key, file] of this.#byKey) if (file === from) this.#byKey.set(key, to);
  }

  #set({ file, held }: FileClaim): void {
    for (const key of heldKeys(held)) this.#byKey.set(key, file);
  }
}
