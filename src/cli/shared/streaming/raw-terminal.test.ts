import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { makeTransparent, RAW_SETTINGS } from './raw-terminal.js';

it('sets what Node’s raw mode leaves, after it, and lets Node restore all', () => {
  const calls: unknown[] = [];
  const stdin = Object.assign(new PassThrough(), {
    isTTY: true,
    fd: 7,
    setRawMode: (isRaw: boolean) => calls.push(isRaw),
  });
  const restore = makeTransparent(stdin, {
    set: (fd, settings) => void calls.push([fd, settings]),
    guard: (fd) => {
      calls.push(`guard ${fd}`);
      return () => void calls.push('end of guard');
    },
  });
  expect(calls).toEqual(['guard 7', true, [7, RAW_SETTINGS]]);
  expect(RAW_SETTINGS).toContain('-opost');
  restore();
  expect(calls.slice(3)).toEqual([false, 'end of guard']);
});
