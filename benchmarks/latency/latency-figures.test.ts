import { expect, it } from 'vitest';

import { type PlegMode } from '#watch';
import { type Samples, toLatencyFigures } from './latency-figures.js';
import { type DeathSample } from './latency-turn.js';
import { type LatencyParts } from './part-latency.js';

const PLAN = { everyMs: 500 };

function parts(totalMs: number, ownMs = 1): LatencyParts {
  return { totalMs, ownMs, eventMs: totalMs - ownMs, callsMs: 0 };
}

function death(toldMs: number, more: Partial<DeathSample> = {}): DeathSample {
  return { told: parts(toldMs), replaced: parts(toldMs + 100, 2), times: 1, ...more };
}

/** All of a mode in one turn. */
function figuresOf(modes: Partial<Record<PlegMode, DeathSample[]>>, alone: DeathSample[] = []) {
  const turns = Object.entries(modes).map(([mode, deaths]) => [mode, [deaths]]);
  return figuresOfTurns(Object.fromEntries(turns) as Partial<Samples['modes']>, [alone]);
}

function figuresOfTurns(modes: Partial<Samples['modes']>, alone: DeathSample[][] = []) {
  const { modes: found, ...rest } = toLatencyFigures('1.7', '1.7.24', PLAN, {
    modes: { generic: [], evented: [], auto: [], ...modes },
    alone,
  });
  return { ...rest, of: (mode: string) => found.find((one) => one.mode === mode)! };
}

it('gives the spread of each mode from the end to the event and to the replacement', () => {
  const { toEvent, toReplacement } = figuresOf({ evented: [40, 10, 20].map((ms) => death(ms)) }).of(
    'evented',
  );
  expect(toEvent).toMatchObject({ count: 3, p50Ms: 20, maxMs: 40, ownMs: 1, everyMs: [40, 10, 20] });
  expect(toReplacement).toMatchObject({ count: 3, p50Ms: 120, maxMs: 140, ownMs: 2 });
});

it('takes podloop’s share of the sum of all times, so that long ones count as long', () => {
  const samples = [
    { ...death(10), told: parts(10, 10) },
    { ...death(90), told: parts(90, 10) },
  ];
  expect(figuresOf({ auto: samples }).of('auto').toEvent.ownShare).toBeCloseTo(0.2);
});

it('counts a death that was never told of, or never replaced, as missed, and takes it into no spread', () => {
  const samples = [death(10), death(10, { told: undefined }), death(10, { replaced: undefined })];
  const { deaths, missed, toEvent, toReplacement } = figuresOf({ generic: samples }).of('generic');
  expect({ deaths, missed }).toEqual({ deaths: 3, missed: 2 });
  expect([toEvent.count, toReplacement.count]).toEqual([2, 2]);
});

it('tells of as many pods as there were, which a short run has fewer of', () => {
  const turns = [[death(10), death(10)], [death(10)]];
  expect(figuresOfTurns({ generic: turns }).pods).toBe(2);
});

it('counts a death that was told of twice', () => {
  expect(figuresOf({ evented: [death(10), death(10, { times: 2 })] }).of('evented').repeated).toBe(1);
});

it('compares each mode with the bare observer, which watched the deaths of the generic one', () => {
  const generic = [10, 20, 30].map((ms) => death(ms * 50, { bareMs: ms, bareEventMs: ms - 2, nativeMs: 1 }));
  const found = figuresOf({ generic, evented: [20, 40, 60].map((ms) => death(ms)) });
  expect(found.bare).toMatchObject({ known: { p50Ms: 20 }, event: { p50Ms: 18 }, native: { p50Ms: 1 } });
  expect(found.of('evented').p50RatioToBare.value).toBeCloseTo(2);
  expect(found.of('evented').p99RatioToBare.value).toBeCloseTo(2);
});

it('lets what one side missed count against that side, and drops nothing of the other', () => {
  const generic = [death(500, { bareMs: 10 }), death(500), death(500, { bareMs: 10 })];
  const evented = [death(20), death(9_000), death(20)];
  const slow = figuresOf({ generic: generic.map((each) => ({ ...each, bareMs: 10 })), evented });
  // The p99 of 20, 20 and 9,000 lies near to 9,000.
  expect(slow.of('evented').p99RatioToBare.value).toBeGreaterThan(800);
  const never = figuresOf({
    generic: generic.map((each) => ({ ...each, bareMs: 10 })),
    evented: [death(20), death(20, { told: undefined })],
  });
  expect(never.of('evented').p99RatioToBare.value).toBe(Number.POSITIVE_INFINITY);
  const blind = figuresOf({ generic, evented });
  expect(blind.bare.missed).toBe(1);
  expect(blind.of('evented').p99RatioToBare.value).toBeNaN();
  expect(blind.of('evented').p50RatioToBare.value).toBeCloseTo(2);
});

it('draws turns, not deaths: what is alike within a turn is one piece of evidence', () => {
  const turn = (ms: number, bareMs?: number): DeathSample[] =>
    Array.from({ length: 20 }, () => death(ms, { bareMs }));
  const { of } = figuresOfTurns({
    generic: [turn(500, 10), turn(500, 10), turn(500, 10)],
    evented: [turn(20), turn(40)],
  });
  expect(of('evented')).toMatchObject({ turns: 2, deaths: 40 });
  expect(of('evented').p50RatioToBare).toEqual({ value: 3, low: 2, high: 4 });
});

it('compares each mode with the bare observer’s deaths one at a time, too', () => {
  const turn = (ms: number, bareMs?: number): DeathSample[] =>
    Array.from({ length: 20 }, () => death(ms, { bareMs }));
  const { of } = figuresOfTurns(
    { generic: [turn(500, 100), turn(500, 100)], evented: [turn(20), turn(20), turn(20)] },
    [turn(500, 5), turn(500, 10)],
  );
  const { p99RatioToBare, p99RatioToAlone, turns, turnsToAlone } = of('evented');
  expect(p99RatioToBare).toEqual({ value: 0.2, low: 0.2, high: 0.2 });
  expect(p99RatioToAlone).toEqual({ value: 2, low: 2, high: 4 });
  expect([turns, turnsToAlone]).toEqual([2, 2]);
});

it('gives no ratio where nothing can be compared', () => {
  expect(figuresOf({ evented: [death(10)] }).of('evented').p99RatioToBare.value).toBeNaN();
});

it('tells the pace of the runtime apart: the same deaths one at a time', () => {
  const { alone } = figuresOf({}, [
    death(30, { bareMs: 7 }),
    death(30, { bareMs: 9 }),
    death(30, { bareMs: 8 }),
  ]);
  expect(alone).toMatchObject({ known: { count: 3, p50Ms: 8 }, missed: 0 });
});
