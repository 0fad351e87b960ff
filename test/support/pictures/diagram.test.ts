import { expect, it } from 'vitest';
import { drawDiagram } from './diagram.js';

const BOX = { x: 0, y: 0, width: 100, height: 40 };

it('draws boxes with their words, and no markup of them', () => {
  const boxes = [{ ...BOX, name: 'a & b', rows: ['<script>'] }];
  const svg = drawDiagram({ title: 'two "words"', width: 100, height: 40, boxes, arrows: [] });
  expect(svg).toContain('aria-label="two &quot;words&quot;"');
  expect(svg).toContain('font-weight="600">a &amp; b</text>');
  expect(svg).toContain('&lt;script&gt;');
  expect(svg).not.toContain('<script>');
});

it('draws arrows with a head, and what lasts in dashes', () => {
  const points = [
    [0, 10],
    [90, 10],
  ] as const;
  const label = { x: 5, y: 8, text: 'events' };
  const arrows = [
    { points, label },
    { points, isDashed: true },
  ];
  const svg = drawDiagram({ title: '', width: 100, height: 40, boxes: [], arrows });
  expect(svg.match(/<path d="M0 10 90 10"[^>]*marker-end="url\(#head\)"/g)).toHaveLength(1);
  expect(svg.match(/<path d="M0 10 90 10"[^>]*stroke-dasharray/g)).toHaveLength(1);
  expect(svg).toContain('>events</text>');
});

it('refuses words that are wider than their box', () => {
  const draw =
    (name: string, rows: string[] = []) =>
    () =>
      drawDiagram({ title: '', width: 100, height: 40, boxes: [{ ...BOX, name, rows }], arrows: [] });
  expect(draw('node/pods')).not.toThrow();
  expect(draw('node/pods/workers')).toThrow('do not fit into a box of 100 pixels');
  expect(draw('node', ['one thing at a time'])).toThrow('the words of "node"');
});
