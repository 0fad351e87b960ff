/**
 * The pods that the API shows, each with the version of its last change.
 *
 * In: a view of every pod, read again whenever something may have changed. Out: rows with a resource version,
 * consistent lists, and notifications of watchers about which pods have changed, never how. A watcher sends
 * the present state when it gets to a pod, so a slow reader costs only a set of uids.
 *
 * It assumes that objects in a view are replaced and never changed, so that two of them are compared by
 * identity. If a change is not reported, {@link PodTable.refreshAll} finds it, which lists call.
 *
 * @module
 */
import { renderPod, type V1Pod } from './render-pod.js';
import { type ResourceVersions } from './resource-versions.js';
import { isSamePod, type ServedPod } from './served-pod.js';

/** Where the table reads pods. */
export interface PodViews {
  /** The uids of all visible pods. */
  uids(): Iterable<string>;
  /** Undefined for a pod that is not visible. */
  find(uid: string): ServedPod | undefined;
}

/** A pod as of its last change. Immutable. */
export interface PodRow {
  readonly served: ServedPod;
  readonly version: number;
  /** The version at which it came; another one when it went and came again. */
  readonly addedVersion: number;
  readonly object: V1Pod;
  /** The same in JSON on one line. */
  readonly json: string;
}

/** A listener for changes. */
export interface PodWatcher {
  podChanged(uid: string): void;
}

/** A removed pod. */
export interface GonePod {
  /** The version at which it was removed. */
  readonly version: number;
  /** Its last state, with that version. */
  readonly row: PodRow;
}

/** How many removed pods are remembered, for clients that resume from a version. */
const MAX_REMOVED = 500;
/** How many former states of one existing pod are remembered, and of all of them together. */
const MAX_FORMER_STATES = 20;
const MAX_FORMER_STATES_OF_ALL = 1_000;

/** See the module. */
export class PodTable {
  readonly #views: PodViews;
  readonly #versions: Pick<ResourceVersions, 'next' | 'current'>;
  readonly #rows = new Map<string, PodRow>();
  /** By uid, the former states of each pod, oldest first: for clients that resume from a version. */
  readonly #before = new Map<string, PodRow[]>();
  /** All of these, oldest first, each with its uid. */
  readonly #beforeInAll = new Map<PodRow, string>();
  readonly #watchers = new Set<PodWatcher>();
  /** Oldest first. */
  readonly #gone: GonePod[] = [];
  /** Changes up to that version are no longer known. */
  #horizon: number;

  constructor(views: PodViews, versions: Pick<ResourceVersions, 'next' | 'current'>) {
    this.#views = views;
    this.#versions = versions;
    this.#horizon = versions.current;
  }

  /** The version of the whole table. */
  get version(): number {
    return this.#versions.current;
  }

  /** A client that resumes from an older version cannot get all changes. */
  get horizon(): number {
    return this.#horizon;
  }

  /** The number of watchers. */
  get watcherCount(): number {
    return this.#watchers.size;
  }

  find(uid: string): PodRow | undefined {
    return this.#rows.get(uid);
  }

  /** All rows, in the order of namespaces and names. */
  list(): PodRow[] {
    const key = ({ served }: PodRow): string =>
      `${served.pod.metadata.namespace}\0${served.pod.metadata.name}`;
    return [...this.#rows.values()].sort((one, other) => (key(one) < key(other) ? -1 : 1));
  }

  /**
   * The state of a pod in the table at a version; undefined if it did not exist, `forgotten` if that is no
   * longer known.
   */
  findAt(row: PodRow, version: number): PodRow | 'forgotten' | undefined {
    if (row.addedVersion > version) return undefined;
    if (row.version <= version) return row;
    const before = this.#before.get(row.served.pod.metadata.uid) ?? [];
    return before.findLast((each) => each.version <= version) ?? 'forgotten';
  }

  /** The last state of a removed pod, by its uid and the version at which it had come. */
  findGone(uid: string, addedVersion: number): PodRow | undefined {
    const gone = this.#gone.findLast(
      ({ row }) => row.served.pod.metadata.uid === uid && row.addedVersion === addedVersion,
    );
    return gone?.row;
  }

  /** Pods that were removed after that version, oldest first. */
  goneSince(version: number): readonly GonePod[] {
    return this.#gone.filter((gone) => gone.version > version);
  }

  /** Reads one pod again. */
  refresh(uid: string): void {
    const served = this.#views.find(uid);
    const before = this.#rows.get(uid);
    if (served === undefined) {
      if (before !== undefined) this.#remove(uid, before);
      return;
    }
    if (before !== undefined && isSamePod(before.served, served)) return;
    const version = this.#versions.next();
    // Only another creation time makes it another pod under the same uid.
    const isNew = before === undefined || before.served.createdAtMs !== served.createdAtMs;
    if (isNew) this.#forgetBefore(uid);
    else this.#keepBefore(uid, before);
    this.#rows.set(uid, makeRow(served, version, isNew ? version : before.addedVersion));
    this.#notifyWatchers(uid);
  }

  /** Reads all pods again: cheap if nothing has changed. */
  refreshAll(): void {
    const uids = new Set([...this.#rows.keys(), ...this.#views.uids()]);
    for (const uid of uids) this.refresh(uid);
  }

  /** Reports changes from now on until the returned function is called. */
  watch(watcher: PodWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #keepBefore(uid: string, row: PodRow): void {
    const rows = this.#before.get(uid) ?? [];
    rows.push(row);
    this.#before.set(uid, rows);
    this.#beforeInAll.set(row, uid);
    if (rows.length > MAX_FORMER_STATES) this.#beforeInAll.delete(rows.shift()!);
    if (this.#beforeInAll.size <= MAX_FORMER_STATES_OF_ALL) return;
    for (const [oldest, owner] of this.#beforeInAll) {
      this.#beforeInAll.delete(oldest);
      // The oldest of all is the oldest of its pod.
      this.#before.get(owner)!.shift();
      break;
    }
  }

  #forgetBefore(uid: string): void {
    for (const row of this.#before.get(uid) ?? []) this.#beforeInAll.delete(row);
    this.#before.delete(uid);
  }

  #remove(uid: string, before: PodRow): void {
    const version = this.#versions.next();
    this.#rows.delete(uid);
    this.#forgetBefore(uid);
    this.#gone.push({ version, row: makeRow(before.served, version, before.addedVersion) });
    if (this.#gone.length > MAX_REMOVED) this.#horizon = this.#gone.shift()!.version;
    this.#notifyWatchers(uid);
  }

  #notifyWatchers(uid: string): void {
    for (const watcher of this.#watchers) watcher.podChanged(uid);
  }
}

function makeRow(served: ServedPod, version: number, addedVersion: number): PodRow {
  let json: string | undefined;
  return {
    ...{ served, version, addedVersion },
    get object() {
      return renderPod(served, version);
    },
    // Rows that nobody requests are never rendered.
    get json() {
      return (json ??= JSON.stringify(this.object));
    },
  };
}
