/**
 * Lets one static pod of each full name live at a time; the others wait, first come, first served.
 *
 * Two pods of one name have different uids: the manifest names a uid and was changed, or two files name the
 * same pod. Both would want the same ports and log folders.
 */
export class StaticPodOrder {
  readonly #startedUids = new Map<string, string>();
  readonly #waitingUids = new Map<string, Set<string>>();

  /**
   * Gives the pod the place of its name if that is free and nobody has waited longer; queues it otherwise.
   *
   * True when the pod has the place.
   */
  tryStart(fullName: string, uid: string): boolean {
    const started = this.#startedUids.get(fullName);
    if (started === uid) return true;
    const waiting = this.#waitingUids.get(fullName);
    if (waiting === undefined) this.#waitingUids.set(fullName, new Set([uid]));
    else waiting.add(uid);
    if (started !== undefined || this.#nextOf(fullName) !== uid) return false;
    this.#leaveQueue(fullName, uid);
    this.#startedUids.set(fullName, uid);
    return true;
  }

  /**
   * Frees the pod's place or removes it from the queue, as it has ended or will never start.
   *
   * Returns the uid whose turn it is now, if the place is free and a pod waits.
   */
  release(fullName: string, uid: string): string | undefined {
    this.#leaveQueue(fullName, uid);
    if (this.#startedUids.get(fullName) === uid) this.#startedUids.delete(fullName);
    return this.#startedUids.has(fullName) ? undefined : this.#nextOf(fullName);
  }

  #nextOf(fullName: string): string | undefined {
    for (const uid of this.#waitingUids.get(fullName) ?? []) return uid;
    return undefined;
  }

  #leaveQueue(fullName: string, uid: string): void {
    const waiting = this.#waitingUids.get(fullName);
    if (waiting === undefined) return;
    waiting.delete(uid);
    if (waiting.size === 0) this.#waitingUids.delete(fullName);
  }
}
