import { describe, expect, it } from 'vitest';
import { INCIDENT_VERSION, parseIncident } from './incident-record.js';

const INCIDENT = {
  ...{ version: INCIDENT_VERSION, id: 3, state: 'over', node: 'node', podloop: '0.1.0' },
  ...{ beganAt: '2026-01-02T03:00:00.000Z', findings: [], recurrences: [], gaps: [] },
  recordedFrom: '2026-01-02T02:55:00.000Z',
  runtime: { endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' },
};

const FINDING = {
  ...{ code: 'DiskFull', severity: 'warning', message: 'the disk is full', remedy: 'make room' },
  ...{ evidence: [], follows: [], beganAt: '2026-01-02T03:00:00.000Z', spells: 1 },
};

/** What a reader would trip over. */
const DAMAGES: readonly object[] = [
  ...[{ state: 'odd' }, { beganAt: 'yesterday' }, { endedAt: 7 }, { gaps: {} }, { gaps: [1] }, { node: [] }],
  { lastSeenAt: 'yesterday' },
  { findings: [{ ...FINDING, asOf: 'yesterday' }] },
  ...[{ recurrences: [null] }, { recordedFrom: 5 }, { runtime: { endpoint: {} } }],
  ...[null, 1, 'text', {}].map((finding) => ({ findings: [finding] })),
  // Each field that every finding has, without it and with a value of another kind.
  ...['code', 'severity', 'message', 'remedy', 'evidence', 'follows', 'beganAt'].flatMap((key) =>
    [undefined, 7, {}].map((value) => ({ findings: [FINDING, { ...FINDING, [key]: value }] })),
  ),
  { findings: [{ ...FINDING, pod: 'web' }] },
  { findings: [{ ...FINDING, evidence: [{}] }] },
];

describe('the file of an incident', () => {
  it('is read as it was written, with keys that this version does not know', () => {
    const later = { ...INCIDENT, kernelLog: ['oom'] };
    expect(parseIncident(JSON.stringify(later))).toEqual(later);
  });

  it('is read without lists that an older version did not write', () => {
    const { recurrences: _recurrences, gaps: _gaps, ...older } = INCIDENT;
    expect(parseIncident(JSON.stringify(older))).toMatchObject({ recurrences: [], gaps: [] });
  });

  it('is read with findings', () => {
    const found = { ...INCIDENT, findings: [FINDING] };
    expect(parseIncident(JSON.stringify(found))).toEqual(found);
  });

  it.each([
    ['{', 'it is no JSON'],
    ['[]', 'it is no incident'],
    ['{"version":1}', 'it is no incident'],
    ...DAMAGES.map((damage): [string, string] => [
      JSON.stringify({ ...INCIDENT, ...damage }),
      'it is no incident',
    ]),
    [JSON.stringify({ ...INCIDENT, version: INCIDENT_VERSION + 1 }), 'has version 2 of the format'],
  ])('is refused when it is %s', (text, why) => {
    expect(() => parseIncident(text)).toThrow(why);
  });
});
