/**
 * The pods that the API shows, each with the version at which it changed last.
 *
 * In: a view of every pod, asked for again whenever something may have changed. Out: rows with a resource version, lists
 * that hold together, and watchers that are told which pods changed, never what: what they send is what is there when
 * they come to it, so that a slow reader costs a set of uids and no more.
 *
 * It assumes that what is in a view is replaced and never changed, so that two of them are compared by identity. Whoever
 * forgets to say that something changed is covered by {@link PodTable.refreshAll}, which lists call.
 *
 * @module
 */
import { renderPod, type V1Pod } from './render-pod.js';
import { type ResourceVersions } from './resource-versions.js';
import { isSamePod, type ServedPod } from './served-pod.js';

/** Where the table looks at pods. */
export interface PodViews {
  /** The uids of all pods that are to be seen. */
  uids(): Iterable<string>;
  /** Undefined for a pod that is not to be seen. */
  find(uid: string): ServedPod | undefined;
}

/** A pod as of its last change. Immutable. */
export interface PodRow {
  readonly served: ServedPod;
  readonly version: number;
  /** At which it came; another one when it went and came again. */
  readonly addedVersion: number;
  readonly object: V1Pod;
  /** The same in JSON on one line. */
  readonly json: string;
}

/** Who is told of changes. */
export interface PodWatcher {
  podChanged(uid: string): void;
}

/** A pod that went. */
export interface GonePod {
  /** At which it went. */
  readonly version: number;
  /** As it was at last, with that version. */
  readonly row: PodRow;
}

/** How many pods that went are remembered, for those who ask what happened since a version. */
const MOST_GONE = 500;
/** And how many former states of one pod that is there, and of all of them together. */
const MOST_BEFORE = 20;
const MOST_BEFORE_IN_ALL = 1_000;

/** See the module. */
export class PodTable {
  readonly #views: PodViews;
  readonly #versions: Pick<ResourceVersions, 'next' | 'current'>;
  readonly #rows = new Map<string, PodRow>();
  /** By uid, what each pod was before, oldest first: for those who ask what happened since a version. */
  readonly #before = new Map<string, PodRow[]>();
  /** All of these, oldest first, each with its uid. */
  readonly #beforeInAll = new Map<PodRow, string>();
  readonly #watchers = new Set<PodWatcher>();
  /** Oldest first. */
  readonly #gone: GonePod[] = [];
  /** What happened up to that version is not known any more. */
  #horizon: number;

  constructor(views: PodViews, versions: Pick<ResourceVersions, 'next' | 'current'>) {
    this.#views = views;
    this.#versions = versions;
    this.#horizon = versions.current;
  }

  /** The version of the whole. */
  get version(): number {
    return this.#versions.current;
  }

  /** Who asks what happened since an older version cannot be told all of it. */
  get horizon(): number {
    return this.#horizon;
  }

  /** How many watchers there are. */
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

  /** What a pod of the table was at a version; undefined when it was not there, `forgotten` when nobody knows any more. */
  findAt(row: PodRow, version: number): PodRow | 'forgotten' | undefined {
    if (row.addedVersion > version) return undefined;
    if (row.version <= version) return row;
    const before = this.#before.get(row.served.pod.metadata.uid) ?? [];
    return before.findLast((each) => each.version <= version) ?? 'forgotten';
  }

  /** The last of a pod that went, by its uid and the version at which it had come. */
  findGone(uid: string, addedVersion: number): PodRow | undefined {
    const gone = this.#gone.findLast(
      ({ row }) => row.served.pod.metadata.uid === uid && row.addedVersion === addedVersion,
    );
    return gone?.row;
  }

  /** Pods that went after that version, oldest first. */
  goneSince(version: number): readonly GonePod[] {
    return this.#gone.filter((gone) => gone.version > version);
  }

  /** Looks at one pod anew. */
  refresh(uid: string): void {
    const served = this.#views.find(uid);
    const before = this.#rows.get(uid);
    if (served === undefined) {
      if (before !== undefined) this.#remove(uid, before);
      return;
    }
    if (before !== undefined && isSamePod(before.served, served)) return;
    const version = this.#versions.next();
    // Only another beginning makes it another pod under the same uid.
    const isNew = before === undefined || before.served.createdAtMs !== served.createdAtMs;
    if (isNew) this.#forgetBefore(uid);
    else this.#keepBefore(uid, before);
    this.#rows.set(uid, makeRow(served, version, isNew ? version : before.addedVersion));
    this.#tell(uid);
  }

  /** Looks at all pods anew: cheap where nothing has changed. */
  refreshAll(): void {
    const uids = new Set([...this.#rows.keys(), ...this.#views.uids()]);
    for (const uid of uids) this.refresh(uid);
  }

  /** Tells of changes from now on until the returned function is called. */
  watch(watcher: PodWatcher): () => void {
    this.#watchers.add(watcher);
    return () => void this.#watchers.delete(watcher);
  }

  #keepBefore(uid: string, row: PodRow): void {
    const rows = this.#before.get(uid) ?? [];
    rows.push(row);
    this.#before.set(uid, rows);
    this.#beforeInAll.set(row, uid);
    if (rows.length > MOST_BEFORE) this.#beforeInAll.delete(rows.shift()!);
    if (this.#beforeInAll.size <= MOST_BEFORE_IN_ALL) return;
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
    if (this.#gone.length > MOST_GONE) this.#horizon = this.#gone.shift()!.version;
    this.#tell(uid);
  }

  #tell(uid: string): void {
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
    // Rows that nobody asks for are never written out.
    get json() {
      return (json ??= JSON.stringify(this.object));
    },
  };
}
