import { expect, it } from 'vitest';
import { INITIAL_WINDOW_BYTES } from './spdy-frame.js';
import { SendWindows, type WindowedStream } from './send-windows.js';

const DATA = Buffer.alloc(100);

function streamWith(sendWindow: number): WindowedStream {
  return { sendWindow };
}

it('a blocked stream is retried once the client grants something', () => {
  const windows = new SendWindows();
  windows.setInitial(0, []);
  const stream = streamWith(0);
  let retries = 0;
  expect(windows.take(stream, DATA, () => retries++)).toBeUndefined();
  expect(windows.blockedCount).toBe(1);
  windows.widen(stream, 40);
  expect([retries, windows.blockedCount]).toEqual([1, 0]);
  expect(windows.take(stream, DATA, () => retries++)).toHaveLength(40);
});

it('a blocked stream is released when it closes', () => {
  const windows = new SendWindows();
  windows.setInitial(0, []);
  const stream = streamWith(0);
  let retries = 0;
  windows.take(stream, DATA, () => retries++);
  windows.forget(stream);
  windows.close();
  expect([retries, windows.blockedCount]).toEqual([0, 0]);
});

it('a peer that is known to count gets no more than the initial window', () => {
  const windows = new SendWindows(true);
  const [one, other] = [streamWith(INITIAL_WINDOW_BYTES), streamWith(INITIAL_WINDOW_BYTES)];
  const data = Buffer.alloc(2 * INITIAL_WINDOW_BYTES);
  expect(windows.take(one, data, () => undefined)).toHaveLength(INITIAL_WINDOW_BYTES);
  // The window of the connection is used up, too.
  expect(windows.take(other, data, () => undefined)).toBeUndefined();
  windows.widen(undefined, 10);
  expect(windows.take(other, data, () => undefined)).toHaveLength(10);
});
