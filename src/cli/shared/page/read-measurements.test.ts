import { expect, it } from 'vitest';
import { readMeasurements } from './read-measurements.js';

const BEGIN_MS = Date.parse('2026-01-02T03:00:00.000Z');
const check = (afterMs: number, more: object = {}): string =>
  JSON.stringify({
    ...{ at: new Date(BEGIN_MS + afterMs).toISOString(), kind: 'check', healthy: true, stuckPodCount: 0 },
    ...{ isConnected: true, longestListMs: 4, usualListMs: 3, ioFull: 1, memoryFull: 0, stoppedShims: 0 },
    ...{ stoppedDaemons: 0, longOciCalls: 0, callsInFlight: [] },
    ...more,
  });

it('has what was measured at each check, and nothing where nothing was', () => {
  const hung = { listInFlightMs: 9_000, callsInFlight: [{ ageMs: 9_000 }, { ageMs: 20 }], stoppedShims: 1 };
  const lines = [check(0), check(5_000, { ...hung, ioFull: undefined, stoppedDaemons: 1 })];
  const { timesMs, charts } = readMeasurements(`${lines.join('\n')}\n`)!;
  expect(timesMs).toEqual([BEGIN_MS, BEGIN_MS + 5_000]);
  const values = charts.flatMap((chart) => chart.lines.map((line) => [line.label, line.values]));
  expect(Object.fromEntries(values)).toEqual({
    ...{ longest: [4, 9_000], usual: [3, 3], 'the oldest': [0, 9_000], 'for disks': [1, null] },
    ...{ 'for memory': [0, 0], 'stuck pods': [0, 0], 'stopped processes': [0, 2] },
  });
});

it('passes over examinations, and lines that a kill has cut off', () => {
  const examination = JSON.stringify({
    at: new Date(BEGIN_MS).toISOString(),
    kind: 'examination',
    facts: {},
  });
  expect(readMeasurements('')).toBeUndefined();
  expect(readMeasurements(`${examination}\n{"at":"2026-01-02T03:00`)).toBeUndefined();
  expect(readMeasurements(`${examination}\n[1]\n${check(0)}\n{"at"`)!.timesMs).toEqual([BEGIN_MS]);
});

it('keeps what stood out when there are too many for a chart', () => {
  const lines = Array.from({ length: 10_000 }, (_, at) =>
    check(at * 5_000, at === 4_711 ? { ioFull: 99 } : {}),
  );
  const { timesMs, charts } = readMeasurements(lines.join('\n'))!;
  expect(timesMs.length).toBeLessThanOrEqual(1_500);
  expect(charts[2]!.lines[0]!.values).toContain(99);
});
