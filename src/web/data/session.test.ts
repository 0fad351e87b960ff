import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Session } from './session.js';

/** What the browser has of a connection. */
class FakeSocket {
  static newest: FakeSocket;
  onmessage: ((message: { readonly data: ArrayBuffer }) => void) | undefined;
  onclose: ((end: { readonly code: number; readonly reason: string }) => void) | undefined;

  constructor() {
    FakeSocket.newest = this;
  }

  close(): void {}
}

beforeEach(() => {
  vi.stubGlobal('WebSocket', FakeSocket);
  vi.stubGlobal('location', { host: 'localhost' });
});

afterEach(() => {
  vi.unstubAllGlobals();
});

it.each([
  { how: 'broke', code: 1006, isWhole: false, lines: ['whole'] },
  { how: 'was refused in the middle', code: 4500, isWhole: false, lines: ['whole'] },
  { how: 'ended', code: 1000, isWhole: true, lines: ['whole', 'the last'] },
])('reads the lines of a stream that $how', ({ code, isWhole, lines }) => {
  const came: string[] = [];
  const ends: boolean[] = [];
  new Session(() => '').stream('/log', {
    onLines: (more) => void came.push(...more),
    onEnd: (end) => void ends.push(end.isWhole),
  });
  const socket = FakeSocket.newest;
  socket.onmessage!({ data: new TextEncoder().encode('whole\nthe last').buffer });
  socket.onclose!({ code, reason: '' });
  expect(came).toEqual(lines);
  expect(ends).toEqual([isWhole]);
});

it('does not wait for long for a server that does not say whether the session is over', async () => {
  const [ending, limits] = [new AbortController(), [] as number[]];
  const timeout = vi.spyOn(AbortSignal, 'timeout').mockImplementation((ms) => {
    limits.push(ms);
    return ending.signal;
  });
  vi.stubGlobal('fetch', async (_: string, { signal }: RequestInit) => {
    await new Promise((_resolve, reject) => {
      signal!.addEventListener('abort', () => reject(signal!.reason as Error));
    });
  });
  const isOver = new Session(() => '').isOver();
  timeout.mockRestore();
  expect(limits).toEqual([5_000]);
  ending.abort();
  expect(await isOver).toBe(false);
});
