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
});

it('splits a line at what is searched for, in any case of letters', () => {
  const parts = (text: string, wanted: string) =>
    splitAt(text, wanted).map((each) => (each.isFound ? `[${each.text}]` : each.text));
  expect(parts('An error: ERROR', 'error')).toEqual(['An ', '[error]', ': ', '[ERROR]']);
  expect(parts('abc', '')).toEqual(['abc']);
  expect(parts('abc', 'x')).toEqual(['abc']);
  expect(parts('aa', 'a')).toEqual(['[a]', '[a]']);
  expect(parts('a.c', '.')).toEqual(['a', '[.]', 'c']);
});
