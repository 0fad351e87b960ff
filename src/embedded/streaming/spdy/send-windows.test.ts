import { expect, it } from 'vitest';
import { SendWindows } from './send-windows.js';
import { SpdyStream } from './spdy-stream.js';

const DATA = Buffer.alloc(100);

function streamWith(sendWindow: number): SpdyStream {
  const nothing = (): void => undefined;
  const link = {
    ...{ sendReply: nothing, sendData: nothing, sendEnd: nothing, sendReset: nothing },
    ...{ take: nothing, release: nothing },
  };
  const stream = new SpdyStream({ id: 1, headers: new Map(), link, remoteEnded: false, localEnded: false });
  stream.sendWindow = sendWindow;
  return stream;
}

it('what waits for a window is tried again once the client grants something', () => {
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

it('what waits is let go with its stream', () => {
  const windows = new SendWindows();
  windows.setInitial(0, []);
  const stream = streamWith(0);
  let retries = 0;
  windows.take(stream, DATA, () => retries++);
  windows.forget(stream);
  windows.close();
  expect([retries, windows.blockedCount]).toEqual([0, 0]);
});
