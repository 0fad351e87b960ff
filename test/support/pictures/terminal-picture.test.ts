import { expect, it } from 'vitest';
import { drawTerminal, wrapLine } from './terminal-picture.js';

it('draws what stands in a terminal, and no markup of it', () => {
  const svg = drawTerminal('$ podloop <x>', [
    { text: 'CRITICAL PodHung: a & b', mark: { length: 8, colour: 'red' } },
    { text: '' },
    { text: '  evidence: "quoted" </text><script>' },
  ]);
  expect(svg).toContain('<text x="18.0" y="56" fill="#ff7b72" font-weight="bold" textLength="67.2"');
  expect(svg).toContain('PodHung: a &amp; b</text>');
  expect(svg).toContain('&lt;/text&gt;&lt;script&gt;');
  expect(svg).not.toContain('<script>');
  expect(svg.match(/<text/g)).toHaveLength(4);
});

it('wraps lines at blanks, and leaves words whole', () => {
  expect(wrapLine('  what to do: kill the shim of it', 20)).toEqual([
    '  what to do: kill',
    '    the shim of it',
  ]);
  expect(wrapLine('x'.repeat(30), 20)).toEqual(['x'.repeat(30)]);
});
