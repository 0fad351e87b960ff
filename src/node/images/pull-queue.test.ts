import { beforeEach, expect, it } from 'vitest';
import { FakeClock } from '#testing/index.js';
import { PullQueue } from './pull-queue.js';

const NEVER = new AbortController().signal;
let clock: FakeClock;
let queue: PullQueue;
let begun: string[];
let ends: Map<string, (error?: Error) => void>;
beforeEach(() => {
  clock = new FakeClock();
  queue = new PullQueue({ clock, atOnce: 2 });
  begun = [];
  ends = new Map();
});

function pull(image: string, signal: AbortSignal = NEVER): Promise<unknown> {
  const work = (): Promise<string> => {
    begun.push(image);
    return new Promise((resolve, reject) =>
      ends.set(image, (error) => (error === undefined ? resolve(`ref of ${image}`) : reject(error))),
    );
  };
  return queue.run(image, work, signal);
}

it('fetches each image once for all who want it', async () => {
  const waiting = [pull('a'), pull('a'), pull('a')];
  await clock.advance(300);
  ends.get('a')!();
  const pulled = { imageRef: 'ref of a', durationMs: 300 };
  expect(await Promise.all(waiting)).toEqual([pulled, pulled, pulled]);
  expect(begun).toEqual(['a']);
});

it('fetches a few at a time, in the order of asking', async () => {
  const waiting = ['a', 'b', 'c', 'd'].map((image) => pull(image));
  await clock.settle();
  expect(begun).toEqual(['a', 'b']);
  ends.get('b')!();
  await clock.settle();
  expect(begun).toEqual(['a', 'b', 'c']);
  ends.get('a')!(new Error('no'));
  await expect(waiting[0]).rejects.toThrow('no');
  await clock.settle();
  ends.get('c')!();
  ends.get('d')!();
  await Promise.all(waiting.slice(1));
});

it('lets one who leaves leave alone', async () => {
  const stop = new AbortController();
  const leaving = pull('a', stop.signal);
  const staying = pull('a');
  await clock.settle();
  stop.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  ends.get('a')!();
  await expect(staying).resolves.toMatchObject({ imageRef: 'ref of a' });
});

it('goes on with a pull that has begun when all have left, and gives it to who comes next', async () => {
  const stop = new AbortController();
  const leaving = pull('a', stop.signal);
  await clock.settle();
  stop.abort(new Error('gone'));
  await expect(leaving).rejects.toThrow('gone');
  const next = pull('a');
  ends.get('a')!();
  await expect(next).resolves.toMatchObject({ imageRef: 'ref of a' });
  expect(begun).toEqual(['a']);
});

it('never begins a pull that nobody waits for any more, unless somebody comes again', async () => {
  const others = [pull('a'), pull('b')];
  const stop = new AbortController();
  const leaving = [pull('c', stop.signal), pull('d', stop.signal)];
  const settled = Promise.allSettled(leaving);
  stop.abort(new Error('gone'));
  await settled;
  const again = pull('d');
  ends.get('a')!();
  ends.get('b')!();
  await Promise.all(others);
  await clock.settle();
  expect(begun).toEqual(['a', 'b', 'd']);
  ends.get('d')!();
  await again;
});
