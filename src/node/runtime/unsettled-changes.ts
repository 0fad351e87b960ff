import { hasCode, PodloopError } from '#base/errors/errors.js';

/** Enough for every pod of a large node; a lost mark costs one more refused call. */
const MAX_MARKS = 10_000;

/**
 * Changes that were sent and never answered: whether they happened is unknown until somebody reads it.
 *
 * A key names the object, not the call: the same attempt of the same container has the same key.
 */
export class UnsettledChanges {
  readonly #keys = new Set<string>();

  get size(): number {
    return this.#keys.size;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  mark(key: string): void {
    this.#keys.delete(key);
    this.#keys.add(key);
    if (this.#keys.size <= MAX_MARKS) return;
    const [oldest] = this.#keys;
    this.#keys.delete(oldest!);
  }

  settle(key: string): void {
    this.#keys.delete(key);
  }
}

/** Whether a change with this failure may have happened, or may still happen. */
export function isOutcomeUnknown(error: unknown): boolean {
  return hasCode(
    error,
    'CRI_DEADLINE_EXCEEDED',
    'CRI_UNAVAILABLE',
    'CRI_CANCELLED',
    'CRI_ABORTED',
    'CRI_INTERNAL',
    'CRI_MALFORMED_RESPONSE',
  );
}

/** Whether the failure says that the runtime is overloaded, or away. */
export function isOverload(error: unknown): boolean {
  return hasCode(error, 'CRI_DEADLINE_EXCEEDED', 'CRI_RESOURCE_EXHAUSTED', 'CRI_UNAVAILABLE');
}

// containerd: failed to reserve container name "app_web_default_uid_0": name "…" is reserved for "0123…".
// CRI-O: error reserving ctr name k8s_app_web_default_uid_0 for id 0123…: name is reserved.
const NAME = /\bname\b/;
const IS_RESERVED = /\bis reserved\b/;

const CODES_OF_RESERVED = new Set(['CRI_UNKNOWN', 'CRI_INTERNAL', 'CRI_FAILED_PRECONDITION']);

/** Whether the runtime refused a change because it has an object of that name. */
export function isNameTaken(error: unknown): boolean {
  return error instanceof PodloopError && saysNameTaken(error.code, error.message);
}

/** The same by the code and the message of the error. Pure. */
export function saysNameTaken(code: string, message: string): boolean {
  if (code === 'CRI_ALREADY_EXISTS') return true;
  // Two expressions: one for both would search for the second word from each match of the first.
  const at = CODES_OF_RESERVED.has(code) ? message.search(NAME) : -1;
  return at !== -1 && IS_RESERVED.test(message.slice(at));
}
