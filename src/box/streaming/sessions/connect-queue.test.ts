import { PassThrough, type Duplex } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { CONNECT_MS, ConnectQueue, ENTER_MS } from './connect-queue.js';

function setUp() {
  const clock = new FakeClock();
  const queue = new ConnectQueue({ clock, maxAtOnce: 4, maxIntoOne: 2 });
  const begun: number[] = [];
  const settle: ((error?: Error) => void)[] = [];
  const asked: (() => void)[] = [];
  /** The sandbox of each connection (default: one of its own). */
  const connect = (
    id: number,
    { signal = new AbortController().signal, sandboxId = String(id), isEntered = true } = {},
  ): Promise<Duplex> =>
    queue.connect(
      ({ signal: attempt, onAsked }) => {
        begun.push(id);
        asked[id] = onAsked;
        if (isEntered) onAsked();
        return new Promise((resolve, reject) => {
          attempt.addEventListener('abort', () => reject(attempt.reason as Error));
          settle[id] = (error) => (error === undefined ? resolve(new PassThrough()) : reject(error));
        });
      },
      { sandboxId, signal },
    );
  return { clock, queue, connect, begun, settle, asked };
}

it('makes four connections at a time, then the next ones in their order', async () => {
  const { connect, begun, settle } = setUp();
  const all = [0, 1, 2, 3, 4, 5].map((id) => connect(id));
  await nextRound();
  expect(begun).toEqual([0, 1, 2, 3]);
  settle[2]!();
  settle[0]!(new Error('refused'));
  await expect(all[0]).rejects.toThrow('refused');
  await nextRound();
  expect(begun).toEqual([0, 1, 2, 3, 4, 5]);
});

it('keeps those who wait before one who comes just as a place is given back', async () => {
  const { connect, begun, settle } = setUp();
  const all = [0, 1, 2, 3, 4].map((id) => connect(id));
  await nextRound();
  settle[0]!();
  await all[0];
  void connect(5);
  await nextRound();
  expect(begun).toEqual([0, 1, 2, 3, 4]);
});

it('lets a client that leaves while it waits go at once, and its place with it', async () => {
  const { connect, queue, begun, settle } = setUp();
  for (const id of [0, 1, 2, 3]) void connect(id);
  const client = new AbortController();
  const late = connect(4, { signal: client.signal });
  void connect(5);
  expect(queue.waitingCount).toBe(2);
  client.abort(new Error('gone'));
  // No connection has settled: a caller that leaves does not wait for those in progress.
  await expect(late).rejects.toThrow('gone');
  expect(queue.waitingCount).toBe(1);
  settle[0]!();
  await nextRound();
  expect(begun).toEqual([0, 1, 2, 3, 5]);
});

it('makes no connection for a client that has left before', async () => {
  const { connect, begun } = setUp();
  await expect(connect(0, { signal: AbortSignal.abort(new Error('gone')) })).rejects.toThrow('gone');
  expect(begun).toEqual([]);
});

it('leaves places for other pods when one has many connections and answers none', async () => {
  const { connect, begun, settle } = setUp();
  for (let id = 0; id < 10; id++) void connect(id, { sandboxId: 'deaf' });
  void connect(10, { sandboxId: 'a' });
  void connect(11, { sandboxId: 'b' });
  void connect(12, { sandboxId: 'a' });
  await nextRound();
  expect(begun).toEqual([0, 1, 10, 11]);
  settle[10]!();
  await nextRound();
  expect(begun).toEqual([0, 1, 10, 11, 12]);
  settle[0]!();
  await nextRound();
  expect(begun.at(-1)).toBe(2);
});

it('gives up those that nobody answers, so that the next ones have their turn', async () => {
  const { clock, connect, begun, settle } = setUp();
  const deaf = Promise.allSettled([0, 1, 2, 3].map((id) => connect(id)));
  const next = connect(4);
  await nextRound();
  await clock.advance(CONNECT_MS);
  const reasons = (await deaf).map((each) =>
    each.status === 'rejected' ? String(each.reason) : 'connected',
  );
  expect(reasons).toHaveLength(4);
  for (const reason of reasons) expect(reason).toMatch(/nobody accepts the connection within 10 s$/);
  expect(begun).toEqual([0, 1, 2, 3, 4]);
  settle[4]!();
  await next;
});

it.each([0, CONNECT_MS, ENTER_MS - 1])(
  'gives a program all of its time, entered after %i ms',
  async (lateMs) => {
    const { clock, connect, settle, asked } = setUp();
    const slow = [0, 1].map((id) => connect(id, { isEntered: false }));
    const outcomes = Promise.allSettled(slow);
    await nextRound();
    await clock.advance(lateMs);
    for (const onAsked of asked) onAsked();
    await clock.advance(CONNECT_MS - 1);
    settle[0]!();
    await slow[0];
    await clock.advance(1);
    const [first, second] = await outcomes;
    expect(first?.status).toBe('fulfilled');
    expect(String((second as PromiseRejectedResult).reason)).toMatch(
      /nobody accepts the connection within 10 s$/,
    );
  },
);

it('gives up a sandbox that is not entered', async () => {
  const { clock, connect, queue } = setUp();
  const stuck = Promise.allSettled([connect(0, { isEntered: false })]);
  await nextRound();
  await clock.advance(ENTER_MS);
  expect(String(((await stuck)[0] as PromiseRejectedResult).reason)).toMatch(/is not entered within 60 s$/);
  expect(queue.waitingCount).toBe(0);
});
