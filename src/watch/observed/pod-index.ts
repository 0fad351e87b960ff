import { type cri } from '../cri/index.js';

import { type ConvertCounters, toContainerState, toSandboxState } from './convert.js';
import { IdTable, viewOf } from './id-table.js';
import { type ListedItem, toListedContainer, toListedSandbox, toObservedPod } from './listed-item.js';
import { type ObservedPod } from './runtime.js';

/** What the last list said of a pod, for a search for that one pod. */
export interface IndexedPod {
  readonly pod: ObservedPod;
  readonly sandboxIds: readonly string[];
  /** Some of its items have the pod's uid in their labels. */
  readonly someLabelled: boolean;
  /** All of its items have it. */
  readonly allLabelled: boolean;
}

// How many pods are built, or items forgotten, in one slice: a millisecond or two.
const SLICE = 200;
const NO_ANSWER = viewOf(new Uint8Array(0));

interface Entry {
  item: ListedItem;
  group: Group;
}

interface Group {
  readonly uid: string;
  readonly entries: Set<Entry>;
  /** Undefined until the snapshot that shows it first is finished. */
  pod: ObservedPod | undefined;
}

/**
 * The pods of the newest list, indexed so that the next list costs little.
 *
 * An item that was seen before in the same state costs one table lookup and two comparisons, and allocates
 * nothing.
 *
 * A list is applied as a snapshot: `beginSnapshot`; then, sandboxes before containers, `beginAnswer` for each
 * answer and `see` for each item in it, with `addSandbox` or `addContainer` for new ones; `finishSnapshot`.
 * Abandoning a snapshot is harmless: the states it showed were true, and items that it did not mention are
 * not considered gone.
 */
export class PodIndex {
  readonly #counters: ConvertCounters;
  readonly #ids = new IdTable();
  // By slot of the id: the item, the snapshot in which it was last seen, and its state as on the wire.
  readonly #entries: (Entry | undefined)[] = [];
  #generations = new Uint32Array(0);
  #states = new Int32Array(0);
  #answer = NO_ANSWER;
  readonly #groups = new Map<string, Group>();
  readonly #changed = new Set<Group>();
  // Containers grouped under their sandbox's id because that sandbox is unknown, by that id.
  readonly #strays = new Map<string, Set<Entry>>();
  #generation = 0;
  #seen = 0;
  #pods: readonly ObservedPod[] = [];
  #podsAreStale = false;

  constructor(options: { readonly counters: ConvertCounters }) {
    this.#counters = options.counters;
  }

  /** The number of sandboxes and containers. */
  get size(): number {
    return this.#ids.size;
  }

  beginSnapshot(): void {
    this.#generation++;
    this.#seen = 0;
  }

  /** Sets the answer that the following items belong to. */
  beginAnswer(answer: Uint8Array): void {
    this.#answer = viewOf(answer);
  }

  /**
   * Notes the item whose id is at `[idStart, idEnd)` of the answer. Returns false if the id is new: then add
   * the item.
   */
  see(idStart: number, idEnd: number, rawState: number): boolean {
    const slot = this.#ids.find(this.#answer, idStart, idEnd);
    if (slot < 0) return false;
    if (this.#generations[slot] !== this.#generation) {
      this.#generations[slot] = this.#generation;
      this.#seen++;
    }
    // Both as int32, the type of an enum.
    if (this.#states[slot] !== (rawState | 0)) this.#changeState(slot, rawState | 0);
    return true;
  }

  /** Adds a sandbox whose id, at that position of the answer, was new. */
  addSandbox(sandbox: cri.PodSandbox, idStart: number, idEnd: number): void {
    const entry = this.#add(toListedSandbox(sandbox, this.#counters), idStart, idEnd);
    const strays = this.#strays.get(sandbox.id);
    if (strays === undefined) return;
    this.#strays.delete(sandbox.id);
    for (const stray of strays) this.#move(stray, entry.group.uid);
  }

  /** Adds a container whose id, at that position of the answer, was new. */
  addContainer(container: cri.Container, idStart: number, idEnd: number): void {
    const uidOfSandbox = this.findUidOfSandbox(container.podSandboxId);
    const entry = this.#add(toListedContainer(container, uidOfSandbox, this.#counters), idStart, idEnd);
    if (uidOfSandbox !== undefined || entry.item.labelled) return;
    const strays = this.#strays.get(container.podSandboxId);
    if (strays === undefined) this.#strays.set(container.podSandboxId, new Set([entry]));
    else strays.add(entry);
  }

  /**
   * Forgets items that the list did not contain, and returns the pods: the same objects where nothing
   * changed.
   *
   * Yields after every slice of work, and not at all if little has changed. If it is abandoned, the next
   * snapshot does the rest.
   */
  *finishSnapshot(): Generator<void, readonly ObservedPod[], void> {
    // Releases the answer: megabytes on a large node that nobody reads any more.
    this.#answer = NO_ANSWER;
    let work = 0;
    if (this.#seen !== this.#ids.size) {
      for (let slot = 0; slot < this.#ids.end; slot++) {
        if (this.#generations[slot] === this.#generation) continue;
        this.#forget(slot);
        if (++work % SLICE === 0) yield;
      }
    }
    for (const group of this.#changed) {
      if (group.entries.size === 0) this.#groups.delete(group.uid);
      else
        group.pod = toObservedPod(
          group.uid,
          [...group.entries].map(({ item }) => item),
        );
      this.#changed.delete(group);
      this.#podsAreStale = true;
      if (++work % SLICE === 0) yield;
    }
    if (this.#podsAreStale) {
      this.#pods = Array.from(this.#groups.values(), ({ pod }) => pod!);
      this.#podsAreStale = false;
    }
    return this.#pods;
  }

  /** A pod as of the last complete list. */
  find(uid: string): IndexedPod | undefined {
    const group = this.#groups.get(uid);
    if (group?.pod === undefined) return undefined;
    const items = [...group.entries].map(({ item }) => item);
    return {
      pod: group.pod,
      sandboxIds: [...new Set(items.map(({ observed }) => observed.sandboxId))].filter((id) => id !== ''),
      someLabelled: items.some(({ labelled }) => labelled),
      allLabelled: items.every(({ labelled }) => labelled),
    };
  }

  /** A sandbox or container as of the last list. */
  findItem(id: string): ListedItem | undefined {
    return this.#findEntry(id)?.item;
  }

  /** The uid of the pod that a sandbox belongs to. */
  findUidOfSandbox(sandboxId: string): string | undefined {
    return this.#findEntry(sandboxId)?.group.uid;
  }

  #findEntry(id: string): Entry | undefined {
    const bytes = Buffer.from(id);
    const slot = this.#ids.find(viewOf(bytes), 0, bytes.length);
    return slot < 0 ? undefined : this.#entries[slot];
  }

  #add(item: ListedItem, idStart: number, idEnd: number): Entry {
    const group = this.#groupOf(item.pod.uid);
    const entry: Entry = { item, group };
    const slot = this.#ids.add(this.#answer, idStart, idEnd);
    if (slot >= this.#generations.length) this.#grow(slot + 1);
    this.#entries[slot] = entry;
    this.#generations[slot] = this.#generation;
    this.#states[slot] = item.rawState;
    this.#seen++;
    group.entries.add(entry);
    this.#changed.add(group);
    return entry;
  }

  #grow(least: number): void {
    const generations = new Uint32Array(Math.max(least, 2 * this.#generations.length));
    generations.set(this.#generations);
    const states = new Int32Array(generations.length);
    states.set(this.#states);
    this.#generations = generations;
    this.#states = states;
  }

  #groupOf(uid: string): Group {
    const known = this.#groups.get(uid);
    if (known !== undefined) return known;
    const group: Group = { uid, entries: new Set(), pod: undefined };
    this.#groups.set(uid, group);
    return group;
  }

  #changeState(slot: number, rawState: number): void {
    this.#states[slot] = rawState;
    const entry = this.#entries[slot]!;
    const { observed } = entry.item;
    const toState = observed.kind === 'sandbox' ? toSandboxState : toContainerState;
    const state = toState(rawState, this.#counters);
    if (state === observed.state) {
      // Two states that this version does not know are the same `unknown`, so the pod does not change.
      entry.item = { ...entry.item, rawState };
      return;
    }
    entry.item = { ...entry.item, rawState, observed: { ...observed, state } };
    this.#changed.add(entry.group);
  }

  #move(entry: Entry, uid: string): void {
    if (entry.group.uid === uid) return;
    entry.group.entries.delete(entry);
    this.#changed.add(entry.group);
    entry.group = this.#groupOf(uid);
    entry.item = { ...entry.item, pod: { ...entry.item.pod, uid } };
    entry.group.entries.add(entry);
    this.#changed.add(entry.group);
  }

  #forget(slot: number): void {
    const entry = this.#entries[slot];
    // The slot is already free.
    if (entry === undefined) return;
    this.#ids.remove(slot);
    this.#entries[slot] = undefined;
    entry.group.entries.delete(entry);
    this.#changed.add(entry.group);
    const { sandboxId } = entry.item.observed;
    const strays = this.#strays.get(sandboxId);
    if (strays?.delete(entry) === true && strays.size === 0) this.#strays.delete(sandboxId);
  }
}
