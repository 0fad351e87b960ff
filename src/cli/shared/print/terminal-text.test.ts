import { expect, it } from 'vitest';
import { escapeTerminal } from './terminal-text.js';

it.each([
  ['what commands a terminal', '\u001B[2J\r\u009B', String.raw`^[[2J\r` + '\uFFFD'],
  ['what changes the direction of text', 'a\u202Eb\u2066c\u200Fd', String.raw`a\u202Eb\u2066c\u200Fd`],
  ['what is not seen', 'a\u200Bb\uFEFFc\u{E0041}d\u00ADe', String.raw`a\u200Bb\uFEFFc\uDB40\uDC41d\u00ADe`],
  ['what ends a line for some readers', 'a\u2028b', String.raw`a\u2028b`],
])('%s is shown', (_what, text, shown) => {
  expect(escapeTerminal(text)).toBe(shown);
});

it('text of any script stays as it is, with the joiners that it needs', () => {
  const text = 'näh می\u200Cخواهم \u{1F468}\u200D\u{1F469} ≥ 10\tµs';
  expect(escapeTerminal(text)).toBe(text);
});
