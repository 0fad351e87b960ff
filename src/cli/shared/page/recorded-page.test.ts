import { expect, it } from 'vitest';
import { type Incident } from '#observe';
import { type RecordingEvent, type RecordingEvents } from '#proxy/record';
import { toIncidentPage, toRecordingPage } from './recorded-page.js';

const BEGIN_MS = Date.parse('2026-01-02T03:00:00.000Z');
const event = (afterMs: number, reason: string): RecordingEvent => ({
  ...{ atMs: BEGIN_MS + afterMs, kind: 'call', type: 'Warning', reason, message: '', details: {} },
});
const RECORDED: RecordingEvents = {
  ...{
    startedAt: '2026-01-02T03:00:00.000Z',
    durationMs: 60_000,
    mode: 'observe',
    upstream: 'unix:///r.sock',
  },
  ...{ end: 'stopped', part: 0, lost: 0, leftOut: 0 },
  events: [event(1_000, 'CallFailed'), event(50_000, 'SlowCall')],
};
const INCIDENT: Incident = {
  ...{ version: 1, id: 3, state: 'over', node: 'n1', podloop: '0.1.0' },
  runtime: { endpoint: 'unix:///r.sock', name: 'containerd', version: '2.1.9' },
  ...{ beganAt: '2026-01-02T03:00:10.000Z', endedAt: '2026-01-02T03:00:40.000Z' },
  recordedFrom: '2026-01-02T02:59:00.000Z',
  findings: [
    {
      ...{ key: 'k', code: 'ShimStopped', severity: 'critical', spells: 1, follows: [] },
      ...{ message: 'the shim is stopped', evidence: ['state T'], remedy: 'kill -CONT 4711' },
      pod: { uid: 'u1', namespace: 'default', name: 'web' },
      since: '2026-01-02T03:00:05.000Z',
      ...{ beganAt: '2026-01-02T03:00:10.000Z', endedAt: '2026-01-02T03:00:40.000Z' },
      ending: 'it goes on',
    },
  ],
  recurrences: [],
  gaps: ['the disk was full'],
};

it('a recording has its time, and says what is not in it', () => {
  const page = toRecordingPage(
    'node.plrec',
    { ...RECORDED, part: 1, end: 'full', lost: 2, leftOut: 3 },
    { atMs: 5_000, speed: 10 },
  );
  expect(page).toMatchObject({
    ...{ title: 'node.plrec', fromMs: BEGIN_MS, toMs: BEGIN_MS + 60_000, atMs: BEGIN_MS + 5_000, speed: 10 },
    ...{ bands: [], findings: [] },
  });
  expect(page.notes).toEqual([
    'The recording had rolled: what was before is not in this file.',
    'The recording was full: what came later is not in it.',
    '2 calls and messages came faster than they could be recorded.',
    '3 events are left out, as there are too many to show.',
  ]);
  expect(page.entries.map(({ id }) => id)).toEqual([`${BEGIN_MS + 1_000}-0`, `${BEGIN_MS + 50_000}-1`]);
});

it('an incident has its findings among the calls, from when they were so, and a band as long as it lasted', () => {
  const page = toIncidentPage(INCIDENT, { recorded: RECORDED });
  expect(page.title).toBe('Incident 3 of n1');
  expect(page.entries.map(({ atMs, reason, type }) => [atMs - BEGIN_MS, reason, type])).toEqual([
    [1_000, 'CallFailed', 'Warning'],
    [5_000, 'ShimStopped', 'Warning'],
    [40_000, 'ShimStopped', 'Normal'],
    [50_000, 'SlowCall', 'Warning'],
  ]);
  expect(page.entries[1]).toMatchObject({
    ...{ kind: 'finding', pod: { name: 'web' } },
    details: { state: 'began', severity: 'critical', evidence: 'state T' },
  });
  expect(page.entries[2]!.message).toBe('Over: it goes on');
  expect(page.bands).toEqual([{ label: 'Incident 3', fromMs: BEGIN_MS + 10_000, toMs: BEGIN_MS + 40_000 }]);
  expect([page.fromMs, page.toMs, page.atMs].map((ms) => ms! - BEGIN_MS)).toEqual([-60_000, 60_000, 10_000]);
  expect(page.notes).toEqual(['Missing: the disk was full']);
});

it('an incident that was cut off, and whose calls are missing, is shown as far as it is known', () => {
  const { endedAt: _endedAt, ...rest } = INCIDENT;
  const cut: Incident = { ...rest, state: 'cut off', lastSeenAt: '2026-01-02T03:02:00.000Z', gaps: [] };
  const page = toIncidentPage(cut, { gap: 'there is no recording' });
  expect(page.notes).toEqual(['Its calls are not shown: there is no recording']);
  expect(page.toMs - BEGIN_MS).toBe(120_000);
  expect(page.bands[0]!.toMs - BEGIN_MS).toBe(120_000);
});
