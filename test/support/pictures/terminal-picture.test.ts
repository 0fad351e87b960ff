import { expect, it } from 'vitest';
import { drawTerminal, wrapLine } from './terminal-picture.js';

it('draws what stands in a terminal, and no markup of it', () => {
  const svg = drawTerminal('$ podloop <x>', [
    { text: 'CRITICAL PodHung: a & b', marks: [{ begin: 0, end: 8, colour: 'red', isBold: true }] },
    { text: '' },
    { text: '  evidence: "quoted" </text><script>' },
  ]);
  expect(svg).toContain('<text x="18.0" y="56" fill="#ff7b72" font-weight="bold" textLength="67.2"');
  expect(svg).toContain('PodHung: a &amp; b</text>');
  expect(svg).toContain('&lt;/text&gt;&lt;script&gt;');
  expect(svg).not.toContain('<script>');
  expect(svg.match(/<text/g)).toHaveLength(4);
});

it('draws words between others, and a row that is selected', () => {
  const svg = drawTerminal('$ podloop', [
    { text: 'web  Running  5s', marks: [{ begin: 5, end: 12, colour: 'green' }] },
    { text: 'db   Failed    ', marks: [{ begin: 0, end: 15, isInverse: true }] },
  ]);
  expect(svg).toMatch(/<text x="60.0" y="56" fill="#7ee787" textLength="58.8"[^>]*>Running<\/text>/);
  expect(svg).toMatch(
    /<rect x="18.0" y="61" width="126.0" height="20" fill="#e6edf3"\/><text [^>]*fill="#0d1117"/,
  );
});

it('wraps lines at blanks, and leaves words whole', () => {
  expect(wrapLine('  what to do: kill the shim of it', 20)).toEqual([
    '  what to do: kill',
    '    the shim of it',
  ]);
  expect(wrapLine('x'.repeat(30), 20)).toEqual(['x'.repeat(30)]);
});
