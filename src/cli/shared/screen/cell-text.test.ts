import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellWidth, cutCells, fitCells, wrapCells } from './cell-text.js';
import { printable } from './screen-text.js';

describe('text in cells', () => {
  it.each([
    ['web', 3],
    ['日本語', 6],
    ['한글', 4],
    ['e\u0301', 1],
    ['😀', 2],
    ['❤\ufe0f', 2],
    ['…', 1],
    ['', 0],
  ])('%s takes %i', (text, cells) => {
    expect(cellWidth(text)).toBe(cells);
  });

  it('is cut before a character that has no room, with an ellipsis', () => {
    expect(cutCells('日本語', 6)).toBe('日本語');
    expect(cutCells('日本語', 5)).toBe('日本…');
    expect(cutCells('日本語', 4)).toBe('日…');
    expect(cutCells('日本語', 1)).toBe('…');
    expect(cutCells('web', 2)).toBe('w…');
    expect(cutCells('web', 0)).toBe('');
  });

  it('fills its place, whatever is in it', () => {
    expect(fitCells('日本', 3)).toBe('日…');
    expect(fitCells('日本', 4)).toBe('日本');
    expect(fitCells('日本', 6)).toBe('日本  ');
    expect(fitCells('日本', 2)).toBe('… ');
  });

  it('is wrapped without losing a character', () => {
    expect(wrapCells('abcdef', 4)).toEqual(['abcd', 'ef']);
    expect(wrapCells('a日本b', 3)).toEqual(['a日', '本b']);
    expect(wrapCells('', 4)).toEqual(['']);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 40 }), (given, cells) => {
        const text = printable(given);
        const lines = wrapCells(text, cells);
        expect(lines.join('')).toBe(text);
        for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(cells);
      }),
    );
  });

  it('never takes more than its place', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 0, max: 40 }), (given, cells) => {
        const text = printable(given);
        expect(cellWidth(cutCells(text, cells))).toBeLessThanOrEqual(cells);
        expect(cellWidth(fitCells(text, cells))).toBe(cells);
      }),
    );
  });
});
