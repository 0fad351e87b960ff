import { type HistoryFilter } from '#kube/node/history-filter.js';
import { type Clock } from '#base/time/clock.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { badRequest } from '../http/api-error.js';
import { type ApiHandler, type ApiRequest } from '../http/api-request.js';
import { type WatchPlaces } from '../http/watch-answer.js';

/** A record of the history: plain JSON. */
export interface ServedRecord {
  /** Increases from record to record. */
  readonly id: string;
}

/** Which records are requested, and whether future ones are, too. */
export interface ServedJournalQuery {
  readonly afterId: string | undefined;
  readonly follow: boolean;
  readonly filter: HistoryFilter;
}

/** The history of the node, as the API reads it. */
export interface ServedJournal {
  /** All kinds of records. */
  readonly kinds: readonly string[];
  isId(text: string): boolean;
  /** In order, at the reader's pace; ends early when the signal aborts. */
  read(query: ServedJournalQuery, signal: AbortSignal): AsyncIterable<ServedRecord>;
}

/** What {@link journalEvents} needs. */
export interface JournalEventsOptions {
  readonly clock: Clock;
  readonly journal: ServedJournal;
  readonly places: WatchPlaces;
}

const TYPES = ['Normal', 'Warning'];
const PARAMETERS = ['after', 'follow', 'kinds', 'namespace', 'pod', 'since', 'types', 'uid', 'until'];
/** How long to wait for a first record, or an error, before the answer begins without one. */
const BEGIN_MS = 200;
/** Shorter than proxies' timeouts for dead connections. */
const HEARTBEAT_MS = 15_000;

/**
 * GET /events: the history of the node as server-sent events, each with its id, and everything from then on.
 *
 * A client that reconnects continues after the id in its `Last-Event-ID`. `?follow=false` ends with what
 * exists.
 *
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */
export function journalEvents({ clock, journal, places }: JournalEventsOptions): ApiHandler {
  return (request) => {
    const query = readQuery(request, journal);
    return {
      ...{ kind: 'stream', contentType: 'text/event-stream', abortCutsOff: !query.follow },
      pieces: pieces(query, request.signal),
    };
  };

  async function* pieces(query: ServedJournalQuery, signal: AbortSignal): AsyncGenerator<string> {
    const leave = places.take();
    const ending = linkAbort(signal);
    const records = journal.read(query, ending.signal)[Symbol.asyncIterator]();
    let next = records.next();
    // The next read reports the error; there may be none when the client goes first.
    next.catch(() => undefined);
    try {
      for (let waitMs = BEGIN_MS; ; waitMs = HEARTBEAT_MS) {
        const result = await within(next, waitMs, clock);
        if (result === 'late') {
          yield waitMs === BEGIN_MS ? '' : ':\n\n';
          continue;
        }
        if (result.done === true) return;
        next = records.next();
        next.catch(() => undefined);
        yield `id: ${result.value.id}\ndata: ${JSON.stringify(result.value)}\n\n`;
      }
    } finally {
      ending.abort();
      ending.unlink();
      leave();
    }
  }
}

async function within<Value>(work: Promise<Value>, limitMs: number, clock: Clock): Promise<Value | 'late'> {
  let onLate = (): void => undefined;
  const late = new Promise<'late'>((resolve) => (onLate = () => resolve('late')));
  const timer = clock.setTimer(limitMs, onLate, { unref: true });
  try {
    return await Promise.race([work, late]);
  } finally {
    timer.cancel();
  }
}

function readQuery({ query, headers }: ApiRequest, journal: ServedJournal): ServedJournalQuery {
  const text = (name: string): string | undefined => query.get(name) ?? undefined;
  const unknown = [...query.keys()].find((name) => !PARAMETERS.includes(name));
  if (unknown !== undefined)
    throw badRequest(`${JSON.stringify(unknown)} is no parameter; there are ${PARAMETERS.join(', ')}`);
  return {
    afterId: readPlace(headers['last-event-id'], text('after'), journal),
    follow: readFollow(text('follow')),
    filter: {
      ...{ namespace: text('namespace'), pod: text('pod'), uid: text('uid') },
      kinds: readWords(text('kinds'), 'kinds', journal.kinds),
      types: readWords(text('types'), 'types', TYPES),
      sinceMs: readTime(text('since'), 'since'),
      untilMs: readTime(text('until'), 'until'),
    },
  };
}

function readFollow(text = 'true'): boolean {
  if (text === 'true' || text === 'false') return text === 'true';
  throw badRequest(`follow: ${JSON.stringify(text)} is neither true nor false`);
}

/** A client that reconnects repeats its first address, with its present position in the header. */
function readPlace(
  header: ApiRequest['headers'][string],
  after: string | undefined,
  journal: ServedJournal,
): string | undefined {
  const isAgain = typeof header === 'string' && header !== '';
  const [name, id] = isAgain ? ['Last-Event-ID', header] : ['after', after];
  if (id === undefined || journal.isId(id)) return id;
  throw badRequest(`${name}: ${JSON.stringify(id)} is no id of an event, such as 1767323045000-0`);
}

function readWords(
  text: string | undefined,
  name: string,
  known: readonly string[],
): readonly string[] | undefined {
  const words = text?.split(',').filter((word) => word !== '');
  const wrong = words?.find((word) => !known.includes(word));
  if (wrong === undefined) return words;
  throw badRequest(`${name}: ${JSON.stringify(wrong)} is none of ${known.join(', ')}`);
}

/** Milliseconds since the epoch, or RFC 3339. */
function readTime(text: string | undefined, name: string): number | undefined {
  if (text === undefined) return undefined;
  const ms = /^\d{1,15}$/.test(text) ? Number(text) : Date.parse(text);
  if (!Number.isNaN(ms)) return ms;
  throw badRequest(`${name}: ${JSON.stringify(text)} is no time, such as 2026-01-02T03:04:05Z`);
}
