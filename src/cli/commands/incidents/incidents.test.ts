import { expect, it } from 'vitest';
import { type Incident } from '#observe';
import { toIncidentRows } from './incidents.js';

it('each incident is a row with its first finding, and how long it has lasted by now', () => {
  const finding = {
    ...{ key: '', code: 'DiskFull', severity: 'warning' as const, message: '' },
    ...{ evidence: [], remedy: '', follows: [] },
    ...{ beganAt: '2026-01-02T03:00:00.000Z', spells: 1 },
  };
  const incident: Incident = {
    ...{ version: 1, id: 1, state: 'over', node: '', podloop: '', recordedFrom: '' },
    runtime: { endpoint: '', name: '', version: '' },
    ...{ beganAt: '2026-01-02T03:00:00.000Z', endedAt: '2026-01-02T03:01:00.000Z', findings: [finding] },
    ...{ recurrences: [], gaps: [] },
  };
  const { endedAt: _endedAt, ...open } = incident;
  const pod = { uid: 'u', namespace: 'default', name: 'web' };
  const rows = toIncidentRows(
    [
      incident,
      { ...open, id: 3, state: 'cut off', lastSeenAt: '2026-01-02T03:00:03.000Z' },
      { ...open, id: 2, state: 'open', findings: [{ ...finding, severity: 'critical', pod }, finding] },
    ],
    Date.parse('2026-01-02T03:00:05.000Z'),
  );
  expect(rows.map((row) => row.replaceAll(/ +/g, ' '))).toEqual([
    'ID BEGAN LASTED STATE SEVERITY FIRST FINDINGS POD',
    '1 2026-01-02T03:00:00.000Z 1m0s over warning DiskFull 1 -',
    '3 2026-01-02T03:00:00.000Z 3s+ cut off warning DiskFull 1 -',
    '2 2026-01-02T03:00:00.000Z 5s open critical DiskFull 2 default/web',
  ]);
});
