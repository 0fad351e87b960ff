import { describe, expect, it } from 'vitest';
import { decodeKeys } from './keys.js';
import { AT_BEGIN, AT_END, type PageLine, pageRows, type PageView, pressPageKey } from './text-page.js';

const LINES: readonly PageLine[] = Array.from({ length: 20 }, (_, at) => ({ text: `line ${at}` }));
const SIZE = { columns: 20, rows: 5 };

function press(text: string, view: PageView = AT_BEGIN, lines = LINES): PageView {
  return decodeKeys(text).reduce((before, key) => {
    const after = pressPageKey(before, key, { lines, size: SIZE });
    return typeof after === 'object' ? after : before;
  }, view);
}

const shown = (view: PageView, lines = LINES): string[] =>
  pageRows(lines, view, SIZE).rows.map(({ text }) => text);

describe('a page of text', () => {
  it('is scrolled by lines, by screens, and to its ends', () => {
    expect(shown(press('jj'))[0]).toBe('line 2');
    expect(shown(press('jjk'))[0]).toBe('line 1');
    expect(shown(press('k'))[0]).toBe('line 0');
    expect(shown(press(' '))[0]).toBe('line 4');
    expect(shown(press('G')).at(-1)).toBe('line 19');
    expect(shown(press('Gg'))[0]).toBe('line 0');
    expect(pageRows(LINES, press('jj'), SIZE).place).toBe('3-7 of 20');
  });

  it('follows what comes while its end is seen, and stands still otherwise', () => {
    const more = [...LINES, { text: 'new' }];
    expect(shown(AT_END, more).at(-1)).toBe('new');
    const scrolled = press('k', AT_END);
    expect(shown(scrolled, more).at(-1)).toBe('line 18');
    expect(shown(press('jj', scrolled), more).at(-1)).toBe('new');
  });

  it('finds what is searched for, the next and the one before, and marks it', () => {
    const found = press('/NE 1\r');
    expect(shown(found)[0]).toBe('line 1');
    expect(shown(press('n', found))[0]).toBe('line 10');
    expect(shown(press('nN', found))[0]).toBe('line 1');
    expect(pageRows(LINES, found, SIZE).rows[0]).toMatchObject({
      marks: [{ begin: 2, end: 6, style: 'match' }],
    });
    expect(press('/nothing\r')).toMatchObject({ top: 0 });
    expect(press('/ab\x1b')).toMatchObject({ search: '', isTyping: false });
  });

  it('wraps what is longer than the screen, and shows control characters as nothing', () => {
    const long = [{ text: `${'x'.repeat(25)}\x1b[2J` }, { text: '日本語日本語日本語日本語' }];
    expect(shown(AT_BEGIN, long)).toEqual(['x'.repeat(20), 'xxxxx [2J', '日本語日本語日本語日', '本語']);
  });

  it('is left by q and Esc, and passes on the keys that are not its own', () => {
    for (const key of ['q', 'escape'])
      expect(pressPageKey(AT_BEGIN, key, { lines: LINES, size: SIZE })).toBe('back');
    expect(pressPageKey(AT_BEGIN, 'c', { lines: LINES, size: SIZE })).toBeUndefined();
  });
});
