import { type cri } from '../cri/index.js';

import { type ConvertCounters, toContainerState, toSandboxState } from './convert.js';
import { IdTable, viewOf } from './id-table.js';
import { type ListedItem, toListedContainer, toListedSandbox, toObservedPod } from './listed-item.js';
import { type ObservedPod } from './runtime.js';

/** What the last list said of a pod, for who looks for that one pod. */
export interface IndexedPod {
  readonly pod: ObservedPod;
  readonly sandboxIds: readonly string[];
  /** Some of it has the pod's uid in its labels. */
  readonly someLabelled: boolean;
  /** All of it has. */
  readonly allLabelled: boolean;
}

// So many pods are made, or items forgotten, in one go: a millisecond or two.
const SLICE = 200;
const NO_ANSWER = viewOf(new Uint8Array(0));

interface Entry {
  item: ListedItem;
  group: Group;
}

interface Group {
  readonly uid: string;
  readonly entries: Set<Entry>;
  /** Undefined until the snapshot that has it first is finished. */
  pod: ObservedPod | undefined;
}

/**
 * The pods of the newest list, kept so that the next one costs little: for an item that was seen before and whose
 * state is the same, one look into a table and two comparisons, and nothing is allocated.
 *
 * A list is applied as a snapshot: `beginSnapshot`, then, sandboxes before containers, `beginAnswer` for each
 * answer and `see` for each item in it, and `addSandbox` or `addContainer` for what is new; `finishSnapshot`. One
 * that is given up in between does no harm: what it said of states was true, and what it did not mention is not
 * taken for gone.
 */
export class PodIndex {
  readonly #counters: ConvertCounters;
  readonly #ids = new IdTable();
  // By slot of the id: what it is, the snapshot in which it was seen last, and its state as on the wire.
  readonly #entries: (Entry | undefined)[] = [];
  #generations = new Uint32Array(0);
  #states = new Int32Array(0);
  #answer = NO_ANSWER;
  readonly #groups = new Map<string, Group>();
  readonly #changed = new Set<Group>();
  // Containers that were put under their sandbox's id because that sandbox is not known, by its id.
  readonly #strays = new Map<string, Set<Entry>>();
  #generation = 0;
  #seen = 0;
  #pods: readonly ObservedPod[] = [];
  #podsAreStale = false;

  constructor(options: { readonly counters: ConvertCounters }) {
    this.#counters = options.counters;
  }

  /** How many sandboxes and containers it holds. */
  get size(): number {
    return this.#ids.size;
  }

  beginSnapshot(): void {
    this.#generation++;
    this.#seen = 0;
  }

  /** The items that follow are those of this answer. */
  beginAnswer(answer: Uint8Array): void {
    this.#answer = viewOf(answer);
  }

  /** Notes the item whose id is at `[idStart, idEnd)` of the answer. False when the id is new: then add the item. */
  see(idStart: number, idEnd: number, rawState: number): boolean {
    const slot = this.#ids.find(this.#answer, idStart, idEnd);
    if (slot < 0) return false;
    if (this.#generations[slot] !== this.#generation) {
      this.#generations[slot] = this.#generation;
      this.#seen++;
    }
    // Both as int32: that is what an enum is.
    if (this.#states[slot] !== (rawState | 0)) this.#changeState(slot, rawState | 0);
    return true;
  }

  /** Takes up a sandbox whose id, at that place of the answer, was new. */
  addSandbox(sandbox: cri.PodSandbox, idStart: number, idEnd: number): void {
    const entry = this.#add(toListedSandbox(sandbox, this.#counters), idStart, idEnd);
    const strays = this.#strays.get(sandbox.id);
    if (strays === undefined) return;
    this.#strays.delete(sandbox.id);
    for (const stray of strays) this.#move(stray, entry.group.uid);
  }

  /** Takes up a container whose id, at that place of the answer, was new. */
  addContainer(container: cri.Container, idStart: number, idEnd: number): void {
    const uidOfSandbox = this.findUidOfSandbox(container.podSandboxId);
    const entry = this.#add(toListedContainer(container, uidOfSandbox, this.#counters), idStart, idEnd);
    if (uidOfSandbox !== undefined || entry.item.labelled) return;
    const strays = this.#strays.get(container.podSandboxId);
    if (strays === undefined) this.#strays.set(container.podSandboxId, new Set([entry]));
    else strays.add(entry);
  }

  /**
   * Forgets what the list did not name, and gives the pods: the same objects where nothing changed.
   *
   * Yields after every slice of its work, nothing at all when little has changed. When it is left before its end,
   * the next snapshot does the rest.
   */
  *finishSnapshot(): Generator<void, readonly ObservedPod[], void> {
    // Megabytes on a large node, which nobody reads any more.
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

  /** What is known of a pod from the last whole list. */
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

  /** What the last list said of a sandbox or container. */
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
      // Two states that this version does not know are one to whoever looks.
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
    // The slot is free already.
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
