import { expect, it } from 'vitest';
import { formatHungReport } from './hung-report.js';
import { type HungPodFigures } from './hung-pods.js';
import { formatMassReport } from './mass-report.js';
import { formatSinglesReport } from './singles-report.js';

const NAMES = ['podloop', 'kubelet', 'kubelet, events on'];
/** The first cell of each row of all tables, and the cell of the first contender. */
const rowsOf = (report: string): string[][] =>
  report
    .split('\n')
    .filter((line) => line.startsWith('| ') && !/^\| -/.test(line))
    .map((line) =>
      line
        .split('|')
        .slice(1, 3)
        .map((cell) => cell.trim()),
    );

it('holds ends beside pods that hang next to those while nothing hangs', () => {
  const hungOf = (hungPods: number, more: Partial<HungPodFigures> = {}): HungPodFigures => ({
    ...{ hungPods, deaths: 2, toEventMs: [10, 20], missed: 0, repeated: 0, heldCalls: hungPods * 4 },
    ...{ hungForMs: 240_000, named: hungPods, ...more },
  });
  const turns = [hungOf(0), hungOf(1), hungOf(3, { heldCalls: 0, firstUnhealthyMs: 181_000 })];
  const rounds = turns.map((each) => ({ hung: [each], failures: [] }));
  const report = formatHungReport(NAMES.map((name) => ({ name, rounds })));
  expect(rowsOf(report)).toEqual([
    ['what', 'podloop'],
    ['nothing hangs, 20 pods: deaths, ms; missed', '15 / 20 / 20; 0 of 2'],
    ['calls about 1 of 20 pods hang: others’ deaths, ms; missed', '15 / 20 / 20; 0 of 2'],
    [
      'calls about 1 of 20 pods hang: for, s; unhealthy first after, s; calls held; hung pods named',
      '240; never; 4; 1',
    ],
    ['calls about 3 of 20 pods hang: others’ deaths, ms; missed', '15 / 20 / 20; 0 of 2 (**nothing hung**)'],
    [
      'calls about 3 of 20 pods hang: for, s; unhealthy first after, s; calls held; hung pods named',
      '240; 181; **none: nothing hung**; 3',
    ],
  ]);
  expect(report).not.toContain('ratio');
});

it('tells of phases that failed, and of nothing where nothing was found', () => {
  const rounds = [{ failures: [{ phase: 'node', why: 'it ended by itself' }] }];
  const figures = NAMES.map((name) => ({ name, rounds }));
  for (const report of [formatSinglesReport(figures), formatMassReport(figures), formatHungReport(figures)])
    expect(report).toContain('- podloop, node: it ended by itself');
  expect(rowsOf(formatSinglesReport(figures))).toContainEqual(['end of a process to its event', 'none']);
  expect(rowsOf(formatMassReport(figures))).toContainEqual(['idle, CPU', 'none']);
});
