import { expect, it, vi } from 'vitest';
import { HistoryFeed } from './history-feed.js';
import { type Session, type StreamReader } from './session.js';

interface Fed {
  readonly feed: HistoryFeed;
  readonly session: Session;
  readonly send: (count: number) => void;
  /** What was asked for, the newest last. */
  readonly asked: { readonly path: string; readonly reader: StreamReader }[];
}

/** A feed whose records a test sends. */
function aFeed(maxEntries: number): Fed {
  const asked: Fed['asked'] = [];
  const session = {
    stream: (path: string, reader: StreamReader) => {
      asked.push({ path, reader });
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
    asked[0]!.reader.onLines(lines);
  };
  return { feed, session, send, asked };
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

function older(count: number): string[] {
  return Array.from({ length: count }, (_, at) => {
    const id = `${-count + at}-0`;
    return `data: ${JSON.stringify({ id, atMs: -count + at, kind: 'event', type: 'Normal', reason: 'Pulled' })}`;
  });
}

/** One whose first records have come. */
async function aLiveFeed(maxEntries: number): Promise<Fed> {
  const fed = aFeed(maxEntries);
  fed.asked[0]!.reader.onOpen!();
  fed.send(2);
  await vi.waitFor(() => expect(fed.feed.state).toBe('live'));
  return fed;
}

it('keeps the newest of older records, however many there are', async () => {
  const { feed, asked } = await aLiveFeed(100);
  const loaded = feed.loadSince(0);
  const { reader } = asked[1]!;
  for (let piece = 0; piece < 20; piece++) reader.onLines(older(2_000).slice(piece * 100, (piece + 1) * 100));
  reader.onEnd({ message: '', isWhole: true });
  await loaded;
  expect(feed.tracks.entries.map(({ atMs }) => atMs).slice(0, 2)).toEqual([-98, -97]);
  expect([feed.tracks.entries.length, feed.isFull, feed.fromMs]).toEqual([100, true, -98]);
});

it('says why older records cannot be read, and does not ask for them again at once', async () => {
  const { feed, asked } = await aLiveFeed(100);
  const loaded = feed.loadSince(0);
  asked[1]!.reader.onEnd({ status: 429, message: 'too many streams', isWhole: false });
  await loaded;
  expect(feed.olderProblem).toBe('too many streams');
  await feed.loadSince(0);
  expect(asked).toHaveLength(2);
});

it('gives up on older records from an agent that hangs', async () => {
  const { feed, asked } = await aLiveFeed(100);
  const loaded = feed.loadSince(0);
  const { reader } = asked[1]!;
  expect(reader.silenceMs).toBe(asked[0]!.reader.silenceMs);
  expect(reader.silenceMs).toBeGreaterThan(0);
  reader.onEnd({ message: `nothing has come for ${reader.silenceMs! / 1_000} s`, isWhole: false });
  await loaded;
  expect([feed.isLoadingOlder, feed.olderProblem]).toEqual([false, 'nothing has come for 40 s']);
});

it('asks once whether the session is over, however often it connects to a server that hangs', async () => {
  const { asked, session } = aFeed(100);
  const answers: ((isOver: boolean) => void)[] = [];
  session.isOver = () => new Promise((resolve) => void answers.push(resolve));
  const breakNow = async (): Promise<void> => {
    const { length } = asked;
    const { reader } = asked.at(-1)!;
    reader.onOpen!();
    reader.onEnd({ message: '', isWhole: false });
    await vi.waitFor(() => expect(asked).toHaveLength(length + 1));
  };
  await breakNow();
  await breakNow();
  expect(answers).toHaveLength(1);
  answers[0]!(false);
  await Promise.resolve();
  await breakNow();
  expect(answers).toHaveLength(2);
});
