import { describe, expect, it } from 'vitest';
import { barPlot, distributionOf, linePlot } from './plot.js';

describe('a plot of lines', () => {
  it('has a mark for each point, its interval, round numbers on its axes, and a legend', () => {
    const svg = linePlot({
      ...{ title: 'a < b', x: { label: 'containers' }, y: { label: 'ms' } },
      series: [
        {
          label: 'one',
          points: [
            { x: 0, y: 1, low: 0.5, high: 1.5 },
            { x: 10_000, y: 43 },
          ],
        },
        { label: 'two', points: [{ x: 0, y: 2 }] },
      ],
    });
    expect(svg.match(/<circle/g)).toHaveLength(3);
    expect(svg.match(/>(\d+)</g)).toEqual(
      ['0', '2000', '4000', '6000', '8000', '10000', '0', '10', '20', '30', '40', '50'].map(
        (text) => `>${text}<`,
      ),
    );
    expect(svg).toContain('a &lt; b');
    for (const text of ['containers', 'ms', 'one', 'two']) expect(svg).toContain(`>${text}<`);
    expect(svg).not.toContain('NaN');
  });

  it('has powers of ten on a logarithmic axis, and leaves out what has no place there', () => {
    const svg = linePlot({
      ...{ title: 't', x: { label: 'ms', scale: 'log' }, y: { label: 'share' }, steps: true },
      series: [distributionOf('a', [0, 3, 70, 5])],
    });
    for (const tick of ['1', '10', '100']) expect(svg).toContain(`>${tick}<`);
    expect(svg.match(/H[\d.]+V/g)).toHaveLength(2);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });

  it('may be empty', () => {
    const svg = linePlot({ title: 't', x: { label: 'x' }, y: { label: 'y' }, series: [] });
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});

describe('a plot of bars', () => {
  it('has one for each value that there is, from the ground up', () => {
    const svg = barPlot({
      ...{ title: 't', y: { label: 'cores' }, groups: ['110 pods', '500 pods'] },
      series: [
        { label: 'generic', values: [1, 4] },
        { label: 'auto', values: [Number.NaN, 1] },
      ],
    });
    // Two of them are the legend's.
    expect(svg.match(/<rect/g)).toHaveLength(5);
    expect(svg).not.toMatch(/NaN|Infinity/);
  });
});
