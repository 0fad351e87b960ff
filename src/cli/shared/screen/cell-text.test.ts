import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cellWidth, cutCells, fitCells, wrapCells, wrapParts, wrapWords } from './cell-text.js';
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

  it.each([
    ['scroll; PgUp PgDn Space by a screen', 14, 0, ['scroll; PgUp', 'PgDn Space by', 'a screen']],
    ['  / n    search; the next', 16, 9, ['  / n    search;', '  the next']],
    ['  /    search; the next one', 16, 7, ['  /    search;', '       the next', '       one']],
    [
      'Socket  /tmp/podloop-demo/podloop.sock',
      22,
      8,
      ['Socket', '        /tmp/', '        podloop-demo/', '        podloop.sock'],
    ],
    ['abcdefgh', 3, 0, ['abc', 'def', 'gh']],
    ['日本 語', 4, 0, ['日本', '語']],
    ['short', 40, 8, ['short']],
    ['', 4, 2, ['']],
  ])('is broken between words: %j in %i', (text, cells, indent, lines) => {
    expect(wrapWords(text, cells, indent)).toEqual(lines);
  });

  it('is broken into lines that fit, and ends, whatever it is', () => {
    fc.assert(
      fc.property(fc.string(), fc.integer({ min: 2, max: 12 }), fc.nat(12), (text, cells, indent) => {
        const plain = printable(text);
        const lines = wrapWords(plain, cells, indent);
        for (const line of lines) expect(cellWidth(line)).toBeLessThanOrEqual(cells);
        expect(lines.join('').replaceAll(' ', '')).toBe(plain.replaceAll(' ', ''));
      }),
    );
  });

  it('ends with wide characters, too, where there is room for none beside its indent', () => {
    expect(wrapWords('日本語', 2, 10)).toEqual(['日', '本', '語']);
    expect(wrapWords('日 本', 1, 10)).toEqual(['日', '本']);
    expect(wrapWords('   ', 2)).toEqual(['']);
  });

  it('has the parts of a title as whole as there is room', () => {
    const title = 'podloop demo   node demo   embedded 0.1.0   q or Ctrl-C ends it';
    expect(wrapParts(title, 80)).toEqual([title]);
    expect(wrapParts(title, 40)).toEqual([
      'podloop demo   node demo',
      'embedded 0.1.0   q or Ctrl-C ends it',
    ]);
    expect(wrapParts(title, 12)).toEqual([
      ...['podloop demo', 'node demo', 'embedded', '0.1.0', 'q or Ctrl-C', 'ends it'],
    ]);
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
