import { type cri } from '../cri/index.js';

import { type ConvertCounters, toContainerState, toSandboxState } from './convert.js';
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

interface Entry {
  item: ListedItem;
  group: Group;
  /** The snapshot in which it was seen last. */
  generation: number;
}

interface Group {
  readonly uid: string;
  readonly entries: Set<Entry>;
  /** Undefined until the snapshot that has it first is finished. */
  pod: ObservedPod | undefined;
}

/**
 * The pods of the newest list, kept so that the next one costs little: for an item that was seen before and whose
 * state is the same, one look into a map and two comparisons, and nothing is allocated.
 *
 * A list is applied as a snapshot: `beginSnapshot`, every item of the sandbox list and then of the container list,
 * `finishSnapshot`. One that is given up in between does no harm: what it said of states was true, and what it did
 * not mention is not taken for gone.
 */
export class PodIndex {
  readonly #counters: ConvertCounters;
  readonly #entries = new Map<string, Entry>();
  readonly #groups = new Map<string, Group>();
  readonly #changed = new Set<Group>();
  // Containers that were put under their sandbox's id because that sandbox is not known, by its id.
  readonly #strays = new Map<string, Set<Entry>>();
  #generation = 0;
  #seen = 0;
  #pods: readonly ObservedPod[] = [];

  constructor(options: { readonly counters: ConvertCounters }) {
    this.#counters = options.counters;
  }

  /** How many sandboxes and containers it holds. */
  get size(): number {
    return this.#entries.size;
  }

  beginSnapshot(): void {
    this.#generation++;
    this.#seen = 0;
  }

  /** Notes an item of the list. False when its id is new: then the whole item has to be added. */
  see(id: string, rawState: number): boolean {
    const entry = this.#entries.get(id);
    if (entry === undefined) return false;
    if (entry.generation !== this.#generation) {
      entry.generation = this.#generation;
      this.#seen++;
    }
    if (entry.item.rawState !== rawState) this.#changeState(entry, rawState);
    return true;
  }

  addSandbox(sandbox: cri.PodSandbox): void {
    const entry = this.#add(toListedSandbox(sandbox, this.#counters));
    const strays = this.#strays.get(sandbox.id);
    if (strays === undefined) return;
    this.#strays.delete(sandbox.id);
    for (const stray of strays) this.#move(stray, entry.group.uid);
  }

  addContainer(container: cri.Container): void {
    const sandbox = this.#entries.get(container.podSandboxId);
    const entry = this.#add(toListedContainer(container, sandbox?.group.uid, this.#counters));
    if (sandbox !== undefined || entry.item.labelled) return;
    const strays = this.#strays.get(container.podSandboxId);
    if (strays === undefined) this.#strays.set(container.podSandboxId, new Set([entry]));
    else strays.add(entry);
  }

  /** Forgets what the list did not name, and gives the pods: the same objects where nothing changed. */
  finishSnapshot(): readonly ObservedPod[] {
    if (this.#seen !== this.#entries.size) {
      for (const [id, entry] of this.#entries)
        if (entry.generation !== this.#generation) this.#forget(id, entry);
    }
    if (this.#changed.size === 0) return this.#pods;
    for (const group of this.#changed) {
      if (group.entries.size === 0) this.#groups.delete(group.uid);
      else
        group.pod = toObservedPod(
          group.uid,
          [...group.entries].map(({ item }) => item),
        );
    }
    this.#changed.clear();
    this.#pods = Array.from(this.#groups.values(), ({ pod }) => pod!);
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
    return this.#entries.get(id)?.item;
  }

  /** The uid of the pod that a sandbox belongs to. */
  findUidOfSandbox(sandboxId: string): string | undefined {
    return this.#entries.get(sandboxId)?.group.uid;
  }

  #add(item: ListedItem): Entry {
    const group = this.#groupOf(item.pod.uid);
    const entry: Entry = { item, group, generation: this.#generation };
    this.#entries.set(item.observed.id, entry);
    this.#seen++;
    group.entries.add(entry);
    this.#changed.add(group);
    return entry;
  }

  #groupOf(uid: string): Group {
    const known = this.#groups.get(uid);
    if (known !== undefined) return known;
    const group: Group = { uid, entries: new Set(), pod: undefined };
    this.#groups.set(uid, group);
    return group;
  }

  #changeState(entry: Entry, rawState: number): void {
    const { observed } = entry.item;
    const toState = observed.kind === 'sandbox' ? toSandboxState : toContainerState;
    const state = toState(rawState, this.#counters);
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

  #forget(id: string, entry: Entry): void {
    this.#entries.delete(id);
    entry.group.entries.delete(entry);
    this.#changed.add(entry.group);
    const { sandboxId } = entry.item.observed;
    const strays = this.#strays.get(sandboxId);
    if (strays?.delete(entry) === true && strays.size === 0) this.#strays.delete(sandboxId);
  }
}
