import { describe, expect, it } from 'vitest';
import { INCIDENT_VERSION, parseIncident } from './incident-record.js';

const INCIDENT = {
  ...{ version: INCIDENT_VERSION, id: 3, state: 'over', node: 'node', podloop: '0.1.0' },
  ...{ beganAt: '2026-01-02T03:00:00.000Z', findings: [], recurrences: [], gaps: [] },
};

describe('the file of an incident', () => {
  it('is read as it was written, with keys that this version does not know', () => {
    const later = { ...INCIDENT, kernelLog: ['oom'] };
    expect(parseIncident(JSON.stringify(later))).toEqual(later);
  });

  it('is read without lists that an older version did not write', () => {
    const { recurrences: _recurrences, gaps: _gaps, ...older } = INCIDENT;
    expect(parseIncident(JSON.stringify(older))).toMatchObject({ recurrences: [], gaps: [] });
  });

  it.each([
    ['{', 'it is no JSON'],
    ['[]', 'it is no incident'],
    ['{"version":1}', 'it is no incident'],
    [JSON.stringify({ ...INCIDENT, version: INCIDENT_VERSION + 1 }), 'has version 2 of the format'],
  ])('is refused when it is %s', (text, why) => {
    expect(() => parseIncident(text)).toThrow(why);
  });
});
