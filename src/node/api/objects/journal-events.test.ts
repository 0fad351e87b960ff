import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type ApiAnswer, type ApiRequest } from '../http/api-request.js';
import { journalEvents, type ServedJournalQuery, type ServedRecord } from './journal-events.js';
import { WatchPlaces } from '../http/watch-answer.js';

function setUp(records: readonly ServedRecord[], failure?: Error) {
  const clock = new FakeClock();
  const places = new WatchPlaces({ clock, limit: 2 });
  const queries: ServedJournalQuery[] = [];
  const journal = {
    kinds: ['lifecycle', 'sync'],
    isId: (text: string) => /^\d+-\d+$/.test(text),
    async *read(query: ServedJournalQuery, signal: AbortSignal): AsyncGenerator<ServedRecord> {
      queries.push(query);
      if (failure !== undefined) throw failure;
      yield* records;
      if (!query.follow) return;
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
    },
  };
  const handle = journalEvents({ clock, journal, places });
  const ending = new AbortController();
  const ask = (query: string, headers: ApiRequest['headers'] = {}): AsyncIterator<string> => {
    const request = {
      ...{ method: 'GET', path: '/events', params: {}, headers, signal: ending.signal },
      ...{ query: new URLSearchParams(query), readBody: () => Promise.resolve(undefined) },
    };
    const answer = handle(request) as Extract<ApiAnswer, { kind: 'stream' }>;
    return answer.pieces[Symbol.asyncIterator]() as AsyncIterator<string>;
  };
  return { clock, places, queries, ask, ending };
}

it('gives each record with its id, then signs of life, until the client goes', async () => {
  const { clock, places, ask, ending } = setUp([{ id: '1-0' }, { id: '2-0' }]);
  const pieces = ask('');
  expect((await pieces.next()).value).toBe('id: 1-0\ndata: {"id":"1-0"}\n\n');
  expect((await pieces.next()).value).toBe('id: 2-0\ndata: {"id":"2-0"}\n\n');
  const waiting = pieces.next();
  await clock.advance(15_000);
  expect((await waiting).value).toBe(':\n\n');
  expect(places.taken).toBe(1);
  const last = pieces.next();
  ending.abort();
  expect(await last).toEqual({ done: true, value: undefined });
  expect(places.taken).toBe(0);
});

it('begins the answer before there is a record', async () => {
  const { clock, ask } = setUp([]);
  const first = ask('').next();
  await clock.advance(200);
  expect((await first).value).toBe('');
});

it('refuses with the error that there is before it begins', async () => {
  const { ask, places } = setUp([], new Error('no disk'));
  await expect(ask('').next()).rejects.toThrow('no disk');
  expect(places.taken).toBe(0);
});

it('asks for what the query and the header say', async () => {
  const { ask, queries } = setUp([]);
  const query =
    'follow=false&kinds=sync,lifecycle&types=Warning&namespace=n&pod=p&uid=u&since=5&until=2026-01-02T03:04:05Z';
  expect(await ask(query, { 'last-event-id': '7-1' }).next()).toMatchObject({ done: true });
  expect(queries).toEqual([
    {
      ...{ afterId: '7-1', follow: false },
      filter: {
        ...{ namespace: 'n', pod: 'p', uid: 'u', kinds: ['sync', 'lifecycle'], types: ['Warning'] },
        ...{ sinceMs: 5, untilMs: Date.UTC(2026, 0, 2, 3, 4, 5) },
      },
    },
  ]);
});

it('goes on behind the id in the header, whatever address the client began with', async () => {
  const { ask, queries } = setUp([]);
  await ask('follow=false&after=3-0', { 'last-event-id': '7-1' }).next();
  await ask('follow=false&after=3-0', { 'last-event-id': '' }).next();
  expect(queries.map(({ afterId }) => afterId)).toEqual(['7-1', '3-0']);
  expect(() => ask('after=3-0', { 'last-event-id': 'x' })).toThrow('Last-Event-ID: "x" is no id');
});

it.each([
  ['kinds=sync,foo', 'kinds: "foo" is none of lifecycle, sync'],
  ['types=bad', 'types: "bad" is none of Normal, Warning'],
  ['since=soon', 'since: "soon" is no time, such as 2026-01-02T03:04:05Z'],
  ['follow=maybe', 'follow: "maybe" is neither true nor false'],
  ['sinse=5', '"sinse" is no parameter; there are after, follow, kinds'],
  ['after=x', 'after: "x" is no id of an event, such as 1767323045000-0'],
])('refuses %s', (query, message) => {
  expect(() => setUp([]).ask(query)).toThrow(message);
});
