import { expect, it } from 'vitest';
import { type Estimate } from '../stats.js';
import { judgeGrowth, judgeRelist } from './judge-relist.js';
import { type RelistFigures, type SideFigures } from './relist-benchmark.js';
import { formatRelistReport } from './relist-report.js';

const upTo = (high: number): Estimate => ({ value: 1, low: 1, high });

function side(containers: number, longestOwnMs: number, power = 1): SideFigures {
  const wallMs = [0.99, 1, 1.01].map((each) => (each * containers ** power) / 100);
  const loop = {
    longestTurnMs: 20,
    longestDelayMs: 20,
    longestGcMs: 5,
    longestTransportMs: 15,
    longestOwnMs,
  };
  return { ...{ meanMs: 1, p10Ms: 1, p50Ms: 1, p99Ms: 1, cpuMs: 1 }, loop, wallMs, cpuRoundsMs: [1, 1, 1] };
}

function figures(more: Partial<RelistFigures> = {}, power = 1): RelistFigures {
  const { containers = 1_000 } = more;
  const parts = { totalMs: 1, callsMs: 1, decodeMs: 0, diffMs: 0, restMs: 0 };
  return {
    ...{ containers, pods: containers / 2, answerBytes: 1, rounds: 30, runsPerRound: 1 },
    ...{ bare: side(containers, Number.NaN), relist: side(containers, 3, power) },
    parts: { ...parts, cpuMs: 1, callsCpuMs: 1, decodeCpuMs: 0, restCpuMs: 0 },
    ...{ ratioOfMeans: upTo(1.1), ratioOfMedians: upTo(1.1), ratioOfP10: upTo(1.1), cpuRatio: upTo(1.2) },
    ...more,
  };
}

const metOf = (one: RelistFigures) => judgeRelist(one).map(({ met }) => met);

it('judges time, CPU and podloop’s own turns, and not what the transport and the collector keep', () => {
  expect(metOf(figures())).toEqual([true, true, true, undefined]);
  expect(metOf(figures({ ratioOfMeans: upTo(1.16) }))[0]).toBe(false);
  expect(metOf(figures({ cpuRatio: upTo(1.31) }))[1]).toBe(false);
  expect(metOf(figures({ relist: side(1_000, 10.1) }))[2]).toBe(false);
});

it('says in the table what the goal says, by the means', () => {
  const wideMedians = figures({ ratioOfMedians: upTo(2) });
  expect(metOf(wideMedians)[0]).toBe(true);
  expect(formatRelistReport([wideMedians])).toContain('| yes ');
  const wideMeans = figures({ ratioOfMeans: upTo(2) });
  expect(formatRelistReport([wideMeans])).not.toContain('| yes ');
});

it('judges growth over sizes that say something of it', () => {
  const sizes = [100, 1_000, 10_000].map((containers) => ({ containers }));
  expect(judgeGrowth(sizes.map((one) => figures(one))).map(({ met }) => met)).toEqual([true]);
  expect(judgeGrowth(sizes.map((one) => figures(one, 1.2))).map(({ met }) => met)).toEqual([false]);
  expect(judgeGrowth([figures({ containers: 100 }), figures()])).toEqual([]);
});

it('judges no time, CPU or growth of a few rounds', () => {
  expect(metOf(figures({ rounds: 29 }))).toEqual([undefined, undefined, true, undefined]);
  expect(formatRelistReport([figures({ rounds: 1 })])).toContain('not judged: 1 round');
  const [goal] = judgeGrowth([figures(), figures({ containers: 5_000, rounds: 29 })]);
  expect(goal).toMatchObject({ met: undefined, unjudged: '29 rounds' });
});

it('does not take growth that is not known for too much', () => {
  const unknown = figures({ containers: 5_000 });
  const none = { ...unknown, relist: { ...unknown.relist, wallMs: [] } };
  expect(judgeGrowth([figures(), none]).map(({ met }) => met)).toEqual([undefined]);
});

it('tells what one container costs on the largest node beside one of a thousand', () => {
  const text = formatRelistReport([figures(), figures({ containers: 10_000 }, 1.2)]);
  expect(text).toContain('One container of 10000 takes 6.31');
  expect(formatRelistReport([figures()])).not.toContain('One container of');
});
