import { describe, expect, it } from 'vitest';
import { cutText } from './cut-text.js';

describe('a text that is cut', () => {
  it.each(['', 'short', 'x'.repeat(100), 'é'.repeat(50), '🙂'.repeat(25)])(
    'is as it was where it takes no more: %s',
    (text) => {
      expect(cutText(text, 100)).toBe(text);
    },
  );

  it('ends with a mark, and is no longer than allowed with it', () => {
    const cut = cutText('x'.repeat(1_000), 100);
    expect(cut).toMatch(/^x+… \(cut, 1000 bytes in all\)$/);
    expect(Buffer.byteLength(cut)).toBe(100);
  });

  it.each([0, 1, 2, 3])('is cut between characters, at any position: %i', (shift) => {
    const cut = cutText('x'.repeat(shift) + '🙂'.repeat(1_000), 100);
    expect(cut).toMatch(/^x*(🙂)+… \(cut, \d+ bytes in all\)$/u);
    expect(Buffer.byteLength(cut)).toBeGreaterThan(96);
    expect(Buffer.byteLength(cut)).toBeLessThanOrEqual(100);
  });
});
