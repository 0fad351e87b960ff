import { describe, expect, it } from 'vitest';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { aPlegReport, anInspection } from '#support/builders/pleg-report-builder.js';
import { cellWidth } from '../../shared/screen/cell-text.js';
import { EventRates } from './event-rates.js';
import { paintRows, plainRows } from '../../shared/screen/row.js';
import { POD_ORDERS, type PodOrder, selectPods } from './sort-pods.js';
import { plainTopRows, topRows } from './top-rows.js';
import { INITIAL_VIEW, type TopView } from './top-view.js';

const EVIL = 'x\x1b[31m\x1b]0;title\x07\u202e\u009b2J\r\nBOOM';

function scene(report: PlegReport, view: Partial<TopView> = {}) {
  const rates = new EventRates();
  rates.add(report);
  return { title: 'test', report, rates, view: { ...INITIAL_VIEW, ...view }, problem: undefined };
}

function draw(report: PlegReport, columns: number, rows: number, view: Partial<TopView> = {}): string[] {
  return paintRows(topRows(scene(report, view), { columns, rows }), { columns, withColor: false });
}

/** Without the styles that we put there ourselves. */
const plain = (line: string): string => line.replaceAll(/\x1b\[[017;]*m/g, '');

describe('the screen', () => {
  it('has what was asked for: health, relists, events, pods, calls and the pods by name', () => {
    const callsInFlight = [
      {
        ...{ method: 'ContainerStatus', operation: 'container_status', startedAtMs: 0, ageMs: 12_000 },
        ...{
          pod: { uid: 'web', namespace: 'default', name: 'web' },
          containerId: '0123456789abcdef',
          deadlineMs: 120_000,
        },
      },
    ];
    const lines = draw(aPlegReport({ callsInFlight, callsInFlightCount: 1 }), 120, 24).map(plain);
    expect(lines).toHaveLength(24);
    const text = lines.join('\n');
    for (const pattern of [
      /^podloop top {3}\d\d:\d\d:\d\d {3}test$/m,
      /^Health {4}container_status of default\/web has had no answer for 12.0s/m,
      /^Relist {4}24ms \(list 10ms diff 1.0ms inspect 1.0ms\) {13}▅█ {2}max 24ms$/m,
      /^Period {4}1.02s from begin to begin \(generic: 1.00s between\)/m,
      /^Events {4}0.1\/s \(started 0.1\)/m,
      /^Loop {6}podloop’s own event loop is late by /m,
      /^Pods {6}2, 2 running; containers: running 3 exited 1$/m,
      /^container_status +12.0s +2m +default\/web +container 0123456789abc$/m,
      /^default\/web +- +30ms +40ms +1 +0 +ok *$/m,
      /^sort: worst {3}\? help {2}q quit/m,
    ]) {
      expect(text).toMatch(pattern);
    }
  });

  it('fits every size, and lets nothing through that commands a terminal', () => {
    const pod = { uid: 'u', namespace: EVIL, name: EVIL };
    const report = aPlegReport({
      slowestPods: [
        { ...anInspection('a'), pod },
        ...Array.from({ length: 40 }, (_, i) => anInspection(`pod-${i}`)),
      ],
      stuckPods: [{ pod, state: 'failing', sinceMs: 0, forMs: 5_000, failures: 3, error: EVIL }],
      stuckPodCount: 1,
      callsInFlight: Array.from({ length: 20 }, () => ({
        ...{ method: EVIL, operation: EVIL, pod, containerId: EVIL, startedAtMs: 0, ageMs: 1 },
      })),
      callsInFlightCount: 300,
      stream: { ...aPlegReport().stream, state: 'waiting', received: 1, lastError: EVIL },
    });
    for (const columns of [0, 1, 2, 7, 20, 41, 80, 130]) {
      for (const rows of [0, 1, 2, 3, 8, 10, 11, 12, 13, 24, 40]) {
        for (const view of [{}, { showsHelp: true }, { isTyping: true, filter: EVIL }, { selectedAt: 100 }]) {
          const lines = draw(report, columns, rows, view).map(plain);
          expect(lines.length).toBeLessThanOrEqual(rows);
          for (const line of lines) {
            expect(cellWidth(line)).toBeLessThanOrEqual(columns);
            expect(line).not.toMatch(/\p{C}/u);
          }
        }
      }
    }
    expect(plainRows(plainTopRows(scene(report))).join('')).not.toMatch(/\p{C}/u);
  });

  it('gives calls a third of the room at most, and says how many it leaves out', () => {
    const callsInFlight = Array.from({ length: 200 }, (_, i) => ({
      ...{ method: 'Version', operation: `call_${i}`, startedAtMs: 0, ageMs: 1 },
    }));
    const lines = draw(aPlegReport({ callsInFlight, callsInFlightCount: 230 }), 100, 40).map(plain);
    expect(lines.filter((line) => line.startsWith('call_')).length).toBeLessThan(12);
    expect(lines.find((line) => line.startsWith('… and'))).toBe(
      `… and ${230 - lines.filter((line) => line.startsWith('call_')).length} more`,
    );
    expect(lines.some((line) => line.startsWith('default/web'))).toBe(true);
  });

  it('shows only what the filter leaves, and how much that is', () => {
    const lines = draw(aPlegReport(), 100, 24, { filter: 'JOB' }).map(plain);
    expect(lines.filter((line) => line.startsWith('default/'))).toEqual([
      expect.stringMatching(/^default\/job/),
    ]);
    expect(lines.at(-1)).toMatch(/filter: JOB \(1 of 2 pods\)/);
  });

  it('marks the selected pod, and has it among those that are seen', () => {
    const slowestPods = Array.from({ length: 60 }, (_, at) => anInspection(`pod-${at}`));
    const report = aPlegReport({ slowestPods });
    const selectedIn = (view: Partial<TopView>): string[] =>
      topRows(scene(report, { order: 'name', ...view }), { columns: 100, rows: 30 })
        .filter(({ style }) => style === 'selected')
        .map(({ text }) => text.split(' ')[0]!);
    expect(selectedIn({})).toEqual(['default/pod-0']);
    expect(selectedIn({ selectedUid: 'pod-59' })).toEqual(['default/pod-59']);
    expect(selectedIn({ selectedUid: 'pod-30' })).toEqual(['default/pod-30']);
    const quiet = topRows({ ...scene(report), hasKeyboard: false }, { columns: 100, rows: 30 });
    expect(quiet.some(({ style }) => style === 'selected')).toBe(false);
  });

  it('puts columns below one another where names take two cells a character', () => {
    const pod = { uid: 'u', namespace: 'default', name: '日本語' };
    const report = aPlegReport({ slowestPods: [{ ...anInspection('a'), pod }, anInspection('plain-name')] });
    const rows = plainTopRows(scene(report)).map(({ text }) => text);
    const ends = rows.filter((text) => /日本語|plain-name/.test(text)).map((text) => cellWidth(text));
    expect(ends).toHaveLength(2);
    expect(ends[0]).toBe(ends[1]);
  });

  it('marks what is wrong, and without colours where nobody wants them', () => {
    const report = aPlegReport({
      health: { healthy: false, thresholdMs: 1, message: 'm', reason: 'notRelisting' },
    });
    const rows = topRows(scene(report), { columns: 80, rows: 24 });
    expect(paintRows(rows, { columns: 80, withColor: true }).join('')).toContain('\x1b[1;31mHealth');
    expect(paintRows(rows, { columns: 80, withColor: false }).join('')).not.toMatch(/\x1b\[[\d;]*3\dm/);
  });
});

describe('the order of pods', () => {
  const pods = [
    anInspection('calm', { lastMs: 1, longestMs: 900, count: 1 }),
    anInspection('slow', { lastMs: 50, longestMs: 60, count: 2 }),
    anInspection('waiting', { inFlightMs: 10, lastMs: 2, longestMs: 3, count: 9 }),
    anInspection('failing', { lastMs: 3, longestMs: 4, count: 3, failed: 7 }),
  ];
  const stuckPods = [
    { pod: pods[3]!.pod, state: 'failing' as const, sinceMs: 0, forMs: 5_000, failures: 7 },
    // Its first inspection has not ended.
    {
      pod: { uid: 'new', namespace: 'a', name: 'new' },
      state: 'hung' as const,
      sinceMs: 0,
      forMs: 9_000,
      failures: 0,
    },
  ];
  const report = aPlegReport({ slowestPods: pods, stuckPods, stuckPodCount: 2 });
  const namesBy = (order: PodOrder, reversed = false): string =>
    selectPods(report, { order, reversed, filter: '' })
      .map(({ pod }) => pod.name)
      .join(' ');

  it.each([
    ['worst', 'new failing waiting slow calm'],
    ['last', 'slow failing waiting calm new'],
    ['longest', 'calm slow failing waiting new'],
    ['failures', 'failing new calm slow waiting'],
    ['inspections', 'waiting failing slow calm new'],
    ['name', 'new calm failing slow waiting'],
  ] as const)('by %s is: %s', (order, names) => {
    expect(namesBy(order)).toBe(names);
    expect(namesBy(order, true)).toBe(names.split(' ').reverse().join(' '));
  });

  it('is told for each that can be chosen', () => {
    expect([...POD_ORDERS].sort()).toEqual(['failures', 'inspections', 'last', 'longest', 'name', 'worst']);
  });
});
