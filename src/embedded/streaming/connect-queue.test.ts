import { PassThrough, type Duplex } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { FakeClock } from '../../testing/fake-clock.js';
import { CONNECT_MS, ConnectQueue } from './connect-queue.js';

function setUp() {
  const clock = new FakeClock();
  const queue = new ConnectQueue({ clock });
  const begun: number[] = [];
  const settle: ((error?: Error) => void)[] = [];
  const connect = (id: number, signal = new AbortController().signal): Promise<Duplex> =>
    queue.connect((attempt) => {
      begun.push(id);
      return new Promise((resolve, reject) => {
        attempt.addEventListener('abort', () => reject(attempt.reason as Error));
        settle[id] = (error) => (error === undefined ? resolve(new PassThrough()) : reject(error));
      });
    }, signal);
  return { clock, connect, begun, settle };
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

it('makes none for a client that has left while it waited', async () => {
  const { connect, begun, settle } = setUp();
  for (const id of [0, 1, 2, 3]) void connect(id);
  const client = new AbortController();
  const late = connect(4, client.signal);
  client.abort(new Error('gone'));
  await nextRound();
  settle[0]!();
  await expect(late).rejects.toThrow('gone');
  expect(begun).toEqual([0, 1, 2, 3]);
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
