import { describe, expect, it } from 'vitest';
import { PromText } from './prom-text.js';

const FAMILY = { name: 'a_total', type: 'counter', help: 'Counts a\\b\nand "c".' } as const;

describe('a page in Prometheus’ text format', () => {
  it('escapes what would end a label or a line', () => {
    const text = new PromText();
    text.begin(FAMILY);
    text.sample({ one: 'back\\slash', two: 'quo"te', three: 'new\nline', four: '' }, 1.5, 1_700_000_000_000);
    expect(text.toString()).toBe(
      '# HELP a_total Counts a\\\\b\\nand "c".\n# TYPE a_total counter\n' +
        'a_total{one="back\\\\slash",two="quo\\"te",three="new\\nline",four=""} 1.5 1700000000000\n',
    );
  });

  it('writes numbers as Prometheus reads them, and no family without a sample', () => {
    const text = new PromText();
    text.begin({ ...FAMILY, name: 'empty' });
    text.sample({}, undefined);
    text.begin(FAMILY);
    for (const [of, value] of Object.entries({ inf: Infinity, minus: -Infinity, nan: NaN, big: 1.5e21 })) {
      text.sample({ of }, value);
    }
    expect(text.toString().split('\n').slice(2)).toEqual([
      'a_total{of="inf"} +Inf',
      'a_total{of="minus"} -Inf',
      'a_total{of="nan"} NaN',
      'a_total{of="big"} 1.5e+21',
      '',
    ]);
  });

  it('drops and counts what a scraper would refuse the page for', () => {
    const text = new PromText();
    text.begin(FAMILY);
    text.sample({ pod: 'p' }, 1);
    text.sample({ pod: 'p' }, 2);
    text.begin({ ...FAMILY, name: 'b_total' });
    text.sample({ pod: 'p' }, 3);
    expect(text.duplicates).toBe(1);
    expect(text.toString()).toContain('a_total{pod="p"} 1\n# HELP b_total');
    expect(text.toString()).toContain('b_total{pod="p"} 3\n');
  });

  it('keeps the head of a family that is written in several slices once', async () => {
    const text = new PromText();
    text.begin(FAMILY);
    text.sample({ n: '1' }, 1);
    await text.nextSlice();
    text.sample({ n: '2' }, 2);
    expect(text.toString().match(/# TYPE/g)).toHaveLength(1);
    expect(text.toString()).toMatch(/ 1\na_total\{n="2"\} 2\n$/);
  });
});
