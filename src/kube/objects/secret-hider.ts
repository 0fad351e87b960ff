import { type Secret } from './config-object.js';
import { SecretValues } from './secret-values.js';

/** What {@link SecretHider} may be told. */
export interface SecretHiderOptions {
  /**
   * How many values and lines of values are known at once of each namespace; 20,000 unless told. The one learnt longest
   * ago goes first.
   */
  readonly capacity?: number;
  /** The same of all namespaces together; 100,000 unless told. The namespace that has the most gives way. */
  readonly totalCapacity?: number;
}

/** More than a hundred lines for each pod of a full node, if all of them are of one namespace. */
const CAPACITY = 20_000;
/** Some 50 MiB, however many namespaces fill what they may have. */
const TOTAL_CAPACITY = 100_000;

/**
 * Takes the values of Secrets out of texts that others have written: the output of a probe or of a hook, the words of a
 * runtime.
 *
 * A text about a pod is held against the Secrets of the pod's namespace, which its author may read anyway. Against those
 * of other namespaces it must not be: whoever has a pod print guesses would see by what is hidden which of them is right,
 * and words of theirs would be missing in it. So none of them takes room from another, either.
 *
 * It knows values of six characters or more, without the white space round them, and of those with several lines each
 * line by itself. One that the end of a text cuts off is hidden, too, and so is what begins as a value does for 32
 * characters, and one that is quoted with escapes, as Go and JSON have them, or on a single line. What is learnt stays
 * known when the Secret changes: containers keep what they were started with.
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

  /** How many were given up for newer ones. */
  get forgotten(): number {
    return this.#forgotten;
  }

  /** Of whose Secrets something was learnt. */
  get namespaces(): readonly string[] {
    return [...this.#byNamespace.keys()];
  }

  /** Knows all values of a Secret from now on. */
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

  /** What such a Secret says is of no use to anybody any more. Has no effect for one that was never learnt. */
  forget(secret: Secret): void {
    this.#byNamespace.get(secret.metadata.namespace)?.forget(secret);
  }

  /** Nobody can say anything of its Secrets any more. What comes of them later has to be learnt again. */
  forgetNamespace(namespace: string): void {
    this.#byNamespace.delete(namespace);
  }

  /**
   * The same text with `***` for each value of that namespace that it holds. What is about no pod has none, and is given
   * back as it is.
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
