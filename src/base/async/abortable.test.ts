import { getEventListeners } from 'node:events';
import { expect, it } from 'vitest';
import { abortable } from './abortable.js';

it('returns what the promise resolves with', async () => {
  const { signal } = new AbortController();
  await expect(abortable(Promise.resolve(3), signal)).resolves.toBe(3);
  await expect(abortable(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  await expect(abortable(Promise.resolve(3), undefined)).resolves.toBe(3);
});

it("rejects with the signal's reason, before or during the wait", async () => {
  const reason = new Error('enough');
  const stopping = new AbortController();
  const waiting = abortable(new Promise(() => undefined), stopping.signal);
  stopping.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect(abortable(Promise.resolve(3), stopping.signal)).rejects.toBe(reason);
});

it('ignores a rejection of the promise after the abort', async () => {
  const unhandled: unknown[] = [];
  const note = (error: unknown): void => void unhandled.push(error);
  process.on('unhandledRejection', note);
  let fail: (error: Error) => void = () => undefined;
  const stopping = new AbortController();
  const waiting = abortable(
    new Promise((_resolve, reject) => {
      fail = reject;
    }),
    stopping.signal,
  );
  stopping.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  fail(new Error('too late'));
  await new Promise((resolve) => setImmediate(resolve));
  process.off('unhandledRejection', note);
  expect(unhandled).toEqual([]);
});

it('leaves no listener on the signal', async () => {
  const { signal } = new AbortController();
  await abortable(Promise.resolve(), signal);
  await abortable(Promise.reject(new Error('no')), signal).catch(() => undefined);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
