import { PassThrough, type Duplex } from 'node:stream';
import { setImmediate as nextRound } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { ConnectQueue } from './connect-queue.js';

function setUp() {
  const queue = new ConnectQueue();
  const begun: number[] = [];
  const settle: ((error?: Error) => void)[] = [];
  const connect = (id: number, signal = new AbortController().signal): Promise<Duplex> =>
    queue.connect(() => {
      begun.push(id);
      return new Promise((resolve, reject) => {
        settle[id] = (error) => (error === undefined ? resolve(new PassThrough()) : reject(error));
      });
    }, signal);
  return { connect, begun, settle };
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
