import { describe, expect, it } from 'vitest';
import { forEachAtOnce } from './for-each-at-once.js';

/** Work that ends when the test opens its gate. */
function gates(): {
  readonly began: string[];
  readonly work: (item: string) => Promise<void>;
  readonly end: (item: string) => Promise<void>;
} {
  const began: string[] = [];
  const ends = new Map<string, () => void>();
  return {
    began,
    work: async (item) => {
      began.push(item);
      await new Promise<void>((resolve) => ends.set(item, resolve));
    },
    end: async (item) => {
      ends.get(item)!();
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    },
  };
}

describe('concurrent work', () => {
  it('begins in order, each item as one before it has ended', async () => {
    const { began, work, end } = gates();
    const all = forEachAtOnce(['a', 'b', 'c'], 2, work);
    expect(began).toEqual(['a', 'b']);
    await end('b');
    expect(began).toEqual(['a', 'b', 'c']);
    await end('a');
    await end('c');
    await all;
  });

  it('begins nothing more after an abort, and lets running work end', async () => {
    const { began, work, end } = gates();
    const stopping = new AbortController();
    const all = forEachAtOnce(['a', 'b', 'c'], 1, work, stopping.signal);
    const reason = new Error('enough');
    stopping.abort(reason);
    await end('a');
    await expect(all).rejects.toBe(reason);
    expect(began).toEqual(['a']);
  });
});
