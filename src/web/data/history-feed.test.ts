import { expect, it, vi } from 'vitest';
import { HistoryFeed } from './history-feed.js';
import { type Session, type StreamReader } from './session.js';

/** A feed whose records a test sends. */
function aFeed(maxEntries: number): { feed: HistoryFeed; send: (count: number) => void } {
  let reader: StreamReader | undefined;
  const session = {
    stream: (_path: string, each: StreamReader) => {
      reader = each;
      return { close: () => undefined };
    },
  } as unknown as Session;
  const feed = new HistoryFeed(session, { maxEntries });
  let number = 0;
  const send = (count: number): void => {
    const lines = Array.from({ length: count }, () => {
      const id = `${++number}-0`;
      return `data: ${JSON.stringify({ id, atMs: number, kind: 'event', type: 'Normal', reason: 'Pulled' })}`;
    });
    reader!.onLines(lines);
  };
  return { feed, send };
}

it('holds only so many records: the oldest go, and it says that there are more', async () => {
  const { feed, send } = aFeed(100);
  send(109);
  expect([feed.tracks.entries.length, feed.isFull]).toEqual([109, false]);
  send(2);
  await vi.waitFor(() => expect(feed.isFull).toBe(true));
  expect(feed.tracks.entries.map(({ atMs }) => atMs)).toEqual(
    Array.from({ length: 100 }, (_, at) => at + 12),
  );
  expect(feed.fromMs).toBe(12);
  send(1);
  expect(feed.tracks.entries.at(-1)?.atMs).toBe(112);
});
