import { type PodPaths } from './pod-paths.js';
import { type PodStatus } from './runtime.js';
import { readTerminationMessage } from './termination-message.js';

/** Messages by container id; absent where there is none. */
export type TerminationMessageMap = ReadonlyMap<string, string>;

const NONE: TerminationMessageMap = new Map();

/** The termination messages of all pods' containers. Each is read once, as a container ends once. */
export class TerminationMessages {
  readonly #paths: PodPaths;
  readonly #pods = new Map<string, ReadonlyMap<string, string | undefined>>();

  constructor(options: { readonly paths: PodPaths }) {
    this.#paths = options.paths;
  }

  /**
   * Reads the messages of containers that have ended since the last call, and forgets those that are gone.
   * Never rejects.
   */
  async observe({ uid, containers }: PodStatus): Promise<void> {
    const before = this.#pods.get(uid);
    const now = new Map<string, string | undefined>();
    for (const container of containers) {
      if (container.state !== 'exited') continue;
      const { id } = container;
      const isKnown = before?.has(id) === true;
      now.set(id, isKnown ? before.get(id) : await readTerminationMessage(uid, container, this.#paths));
    }
    this.#pods.set(uid, now);
  }

  /** As of the last {@link observe}. */
  of(podUid: string): TerminationMessageMap {
    const pod = this.#pods.get(podUid);
    if (pod === undefined) return NONE;
    return new Map([...pod].filter((entry): entry is [string, string] => entry[1] !== undefined));
  }

  forget(podUid: string): void {
    this.#pods.delete(podUid);
  }
}
