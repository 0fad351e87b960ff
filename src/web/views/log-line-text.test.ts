import { expect, it } from 'vitest';
import { parseLogLine, splitAt } from './log-line-text.js';

it('reads the time of a line, and takes out what is for terminals', () => {
  expect(parseLogLine('2026-01-02T03:04:05.678901234Z hello \u001b[31mred\u001b[0m')).toEqual({
    ...{ atMs: Date.parse('2026-01-02T03:04:05.678Z'), text: 'hello red' },
  });
  expect(parseLogLine('2026-01-02T03:04:05Z')).toMatchObject({ text: '' });
  expect(parseLogLine('no time here').atMs).toBeUndefined();
  expect(parseLogLine('\u001b]0;title\u0007a\u0000b\tc').text).toBe('ab\tc');
  expect(parseLogLine('2026-01-02T03:04:05Z <b>&amp;</b>').text).toBe('<b>&amp;</b>');
  expect(parseLogLine('a\u009b31mb').text).toBe('a31mb');
});

it('shows what would reorder or hide the text of a line', () => {
  expect(parseLogLine('2026-01-02T03:04:05Z a\u202eb\u200bc').text).toBe(String.raw`a\u202Eb\u200Bc`);
});

it('splits a line at what is searched for, in any case of letters', () => {
  const parts = (text: string, wanted: string) =>
    splitAt(text, wanted).map((each) => (each.isFound ? `[${each.text}]` : each.text));
  expect(parts('An error: ERROR', 'error')).toEqual(['An ', '[error]', ': ', '[ERROR]']);
  expect(parts('abc', '')).toEqual(['abc']);
  expect(parts('abc', 'x')).toEqual(['abc']);
  expect(parts('aa', 'a')).toEqual(['[a]', '[a]']);
  expect(parts('a.c', '.')).toEqual(['a', '[.]', 'c']);
  const many = splitAt('xo'.repeat(4_000), 'x');
  expect(many.length).toBeLessThan(300);
  expect(many.map(({ text }) => text).join('')).toBe('xo'.repeat(4_000));
});
