import { refused } from '../rpc-error.js';

/** Which names are taken, and by whom. */
export class NameIndex {
  readonly #kind: string;
  readonly #ids = new Map<string, string>();

  constructor(kind: 'sandbox' | 'container') {
    this.#kind = kind;
  }

  /** Takes a name; throws when another id has it. */
  reserve(name: string, id: string): void {
    const holder = this.#ids.get(name) ?? id;
    if (holder !== id) {
      throw refused(
        `failed to reserve ${this.#kind} name "${name}": name "${name}" is reserved for "${holder}"`,
      );
    }
    this.#ids.set(name, id);
  }

  release(name: string): void {
    this.#ids.delete(name);
  }
}
