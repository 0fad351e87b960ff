import { expect, it } from 'vitest';
import { judgeRelay } from './judge-relay.js';
import { formatRelayReport } from './relay-report.js';
import { type RelayFigures } from './relay-benchmark.js';

const figures = (high: number, rounds = 30): RelayFigures => ({
  ...{ kind: 'chaos', load: 'Version', rounds, runsPerRound: 1 },
  ...{ barePipeP50Ms: 1, p50Ms: 1, p99Ms: 1, barePipeP99Ms: 1, barePipeCpuMs: 1, cpuMs: 1 },
  ...{ ratioOfMeans: { value: 1.2, low: 1.1, high }, ratioOfMedians: { value: 2, low: 2, high: 2 } },
  wallMs: { barePipe: [], relay: [] },
});

it('judges the upper end of the interval of the means, and says the same in the table', () => {
  for (const [high, met, word] of [
    [1.3, true, '| yes '],
    [1.31, false, '| no '],
  ] as const) {
    expect(judgeRelay(figures(high))).toMatchObject({ what: 'Version, through chaos', met });
    expect(formatRelayReport([figures(high)])).toContain(word);
  }
});

it('judges nothing of a few rounds', () => {
  expect(judgeRelay(figures(1, 5)).met).toBeUndefined();
  expect(formatRelayReport([figures(1, 5)])).toContain('not judged: 5 rounds');
});
