import { type Secret } from './config-object.js';
import { SecretValues } from './secret-values.js';

/** Options of {@link SecretHider}. */
export interface SecretHiderOptions {
  /**
   * How many values and lines of values are remembered per namespace (default: 20,000). The one learnt
   * longest ago is dropped first.
   */
  readonly capacity?: number;
  /**
   * The same limit for all namespaces together (default: 100,000). The namespace with the most values drops
   * some.
   */
  readonly totalCapacity?: number;
}

/** More than a hundred lines for each pod of a full node, even if all of them are in one namespace. */
const CAPACITY = 20_000;
/** About 50 MiB, however many namespaces reach their limit. */
const TOTAL_CAPACITY = 100_000;

/**
 * Hides the values of Secrets in texts by others: the output of a probe or of a hook, the messages of a
 * runtime.
 *
 * A text about a pod is checked against the Secrets of the pod's namespace, which its author may read anyway.
 * It must not be checked against those of other namespaces. Otherwise a pod could print guesses and see by
 * what is hidden which one is right, and harmless words would be missing from its texts. For the same reason
 * a namespace does not use up another one's limit.
 *
 * It knows values of six characters or more, without surrounding white space, and each line of values with
 * several lines. It also hides a value that is cut off at the end of a text, anything that starts with the
 * first 32 characters of a value, and values quoted with escapes of Go and JSON or put on a single line.
 * Values stay known when the Secret changes, as containers still have the old ones.
 */
export class SecretHider {
  readonly #capacity: number;
  readonly #totalCapacity: number;
  readonly #byNamespace = new Map<string, SecretValues>();
  #forgotten = 0;

  constructor({ capacity = CAPACITY, totalCapacity = TOTAL_CAPACITY }: SecretHiderOptions = {}) {
    this.#capacity = capacity;
    this.#totalCapacity = totalCapacity;
  }

  /** How many values were dropped for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** The namespaces with known values. */
  get namespaces(): readonly string[] {
    return [...this.#byNamespace.keys()];
  }

  /** Remembers all values of a Secret. */
  learn(secret: Secret): void {
    const { namespace } = secret.metadata;
    let values = this.#byNamespace.get(namespace);
    if (values === undefined) {
      values = new SecretValues({ capacity: this.#capacity });
      this.#byNamespace.set(namespace, values);
    }
    this.#forgotten += values.learn(secret);
    this.#makeRoom();
  }

  /** Forgets the values of a Secret that nobody uses any more. Has no effect if it was never learnt. */
  forget(secret: Secret): void {
    this.#byNamespace.get(secret.metadata.namespace)?.forget(secret);
  }

  /** Forgets a namespace. Its later Secrets have to be learnt again. */
  forgetNamespace(namespace: string): void {
    this.#byNamespace.delete(namespace);
  }

  /**
   * The text with `***` for each value of that namespace in it.
   *
   * A text without a namespace is not about a pod, and is returned as it is.
   */
  hide(text: string, namespace: string | undefined): string {
    if (namespace === undefined) return text;
    return this.#byNamespace.get(namespace)?.hide(text) ?? text;
  }

  #makeRoom(): void {
    const all = [...this.#byNamespace.values()];
    let surplus = all.reduce((sum, { size }) => sum + size, 0) - this.#totalCapacity;
    for (; surplus > 0; surplus--) {
      all.reduce((most, each) => (each.size > most.size ? each : most)).dropOldest();
      this.#forgotten++;
    }
  }
}
