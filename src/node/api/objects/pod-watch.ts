import { type PodRow, type PodTable, type PodWatcher } from './pod-table.js';
import { ApiError } from '../http/api-error.js';
import { type TableWriter } from '../tables/table-writer.js';

/** What a {@link PodWatch} needs. */
export interface PodWatchOptions {
  readonly table: PodTable;
  readonly matches: (row: PodRow) => boolean;
  /** Report changes since that version (default: everything that exists). */
  readonly since: number | undefined;
  /** Ends the watch. */
  readonly signal: AbortSignal;
  /** Marks the end of the initial state with a bookmark. */
  readonly marksInitialEnd?: boolean;
  /** Reports pods as rows of Tables (default: as objects). */
  readonly tables?: TableWriter | undefined;
}

/**
 * The lines of one watch: `{"type":"ADDED","object":{…}}` and so on, until the signal aborts.
 *
 * It queues at most one entry per pod, and remembers what it last sent of each: a slow reader gets the
 * newest. A pod that was sent and no longer matches counts as deleted, as with an API server.
 */
export class PodWatch implements PodWatcher {
  readonly #options: PodWatchOptions;
  readonly #pending = new Set<string>();
  /** By uid, what the reader last got. */
  readonly #told = new Map<string, PodRow>();
  #folded = 0;
  #wake: (() => void) | undefined;

  constructor(options: PodWatchOptions) {
    this.#options = options;
  }

  /** Changes that newer ones replaced. */
  get folded(): number {
    return this.#folded;
  }

  podChanged(uid: string): void {
    if (this.#pending.has(uid)) this.#folded++;
    this.#pending.add(uid);
    this.#wake?.();
  }

  /** Throws Expired, or Timeout for a future version. */
  async *lines(): AsyncGenerator<string, void, undefined> {
    const { table, signal, marksInitialEnd } = this.#options;
    const onAbort = (): void => this.#wake?.();
    signal.addEventListener('abort', onAbort, { once: true });
    const stop = table.watch(this);
    try {
      // Newer changes follow after the bookmark, too, so that a client that resumes there misses nothing.
      const { version } = table;
      yield* this.#begin();
      if (marksInitialEnd === true) {
        yield* this.#newsOf([...this.#pending]);
        yield this.#initialEnd(version);
      }
      while (!signal.aborted) {
        const [uid] = this.#pending;
        if (uid === undefined) await new Promise<void>((resolve) => (this.#wake = resolve));
        else yield* this.#newsOf([uid]);
      }
    } finally {
      stop();
      signal.removeEventListener('abort', onAbort);
    }
  }

  *#begin(): Generator<string, void, undefined> {
    const { table, matches, since } = this.#options;
    if (since === undefined) {
      for (const row of table.list()) this.#pending.add(uidOf(row));
      return;
    }
    if (since > table.version) {
      throw new ApiError('Timeout', `Too large resource version: ${since}, current: ${table.version}`, {
        retryAfterSeconds: 1,
      });
    }
    if (since < table.horizon) throw expired(since, table.horizon);
    for (const { row } of table.goneSince(since)) {
      // The reader never knew what came and went since.
      if (row.addedVersion <= since && matches(row)) yield this.#line('DELETED', row);
    }
    for (const row of table.list()) {
      const then = table.findAt(row, since);
      if (then === 'forgotten') throw expired(since, row.version);
      if (then !== undefined && matches(then)) this.#told.set(uidOf(row), then);
      if (row.version > since) this.#pending.add(uidOf(row));
    }
  }

  *#newsOf(uids: readonly string[]): Generator<string, void, undefined> {
    for (const uid of uids) {
      this.#pending.delete(uid);
      yield* this.#news(uid);
    }
  }

  *#news(uid: string): Generator<string, void, undefined> {
    const { table, matches } = this.#options;
    const row = table.find(uid);
    const told = this.#told.get(uid);
    const isAnother = told !== undefined && row?.addedVersion !== told.addedVersion;
    if (told !== undefined && (row === undefined || isAnother)) {
      this.#told.delete(uid);
      yield this.#line('DELETED', table.findGone(uid, told.addedVersion) ?? told);
    }
    if (row === undefined) return;
    const isTold = this.#told.has(uid);
    if (!matches(row)) {
      if (isTold) yield this.#line('DELETED', row);
      this.#told.delete(uid);
      return;
    }
    this.#told.set(uid, row);
    yield this.#line(isTold ? 'MODIFIED' : 'ADDED', row);
  }

  #initialEnd(version: number): string {
    const { tables } = this.#options;
    const annotations = { 'k8s.io/initial-events-end': 'true' };
    const metadata = { resourceVersion: String(version), annotations };
    const json = tables?.none(metadata) ?? JSON.stringify({ kind: 'Pod', apiVersion: 'v1', metadata });
    return eventLine('BOOKMARK', json);
  }

  #line(type: 'ADDED' | 'MODIFIED' | 'DELETED', row: PodRow): string {
    return eventLine(type, this.#options.tables?.one(row.object) ?? row.json);
  }
}

/** One line of a watch; `object` in JSON. */
export function eventLine(
  type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR',
  object: string,
): string {
  return `{"type":"${type}","object":${object}}\n`;
}

function expired(since: number, oldest: number): ApiError {
  return new ApiError('Expired', `too old resource version: ${since} (${oldest})`);
}

function uidOf({ served }: PodRow): string {
  return served.pod.metadata.uid;
}
