import { expect, it } from 'vitest';
import { cutOff, type Incident, type IncidentFinding } from '#observe';
import { toIncidentLines } from './incident-text.js';

const INCIDENT: Incident = {
  ...{ version: 1, id: 3, state: 'over', node: 'node-1', podloop: '0.1.0' },
  runtime: { endpoint: 'unix:///run/cri.sock', name: 'containerd', version: '2.1.9' },
  ...{ beganAt: '2026-01-02T03:00:00.000Z', endedAt: '2026-01-02T03:02:30.000Z' },
  recordedFrom: '2026-01-02T02:55:00.000Z',
  findings: [
    {
      ...{ key: 'ShimStopped', code: 'ShimStopped', severity: 'critical', spells: 2 },
      message: 'the shim of pod default/web is stopped\nby a signal',
      evidence: ['state T'],
      remedy: 'kill -CONT 4711',
      pod: { uid: 'u', namespace: 'default', name: 'web' },
      process: { pid: 4711, command: 'containerd-shim' },
      follows: ['ListHangs: ListContainers is not answered'],
      ...{ beganAt: '2026-01-02T03:00:00.000Z', endedAt: '2026-01-02T03:02:00.000Z' },
      since: '2026-01-02T02:59:50.000Z',
      ending: 'containerd-shim (pid 4711) has ended',
    },
    {
      ...{ key: 'KubeletUnhealthy', code: 'KubeletUnhealthy', severity: 'warning', spells: 1 },
      ...{ message: 'the kubelet is not healthy', evidence: [], remedy: 'see above', follows: [] },
      ...{ beganAt: '2026-01-02T03:00:45.000Z', endedAt: '2026-01-02T03:02:30.000Z' },
    },
  ],
  recurrences: [{ at: '2026-01-02T03:10:00.000Z', code: 'ShimStopped' }],
  gaps: ['its calls could not be recorded: ENOSPC'],
};

it('an incident says who was first, what followed, what to do, what ended it, and what is missing', () => {
  expect(toIncidentLines(INCIDENT)).toEqual([
    'Incident 3 of node node-1: over',
    'From 2026-01-02T03:00:00.000Z until 2026-01-02T03:02:30.000Z (2m30s); calls are recorded from 2026-01-02T02:55:00.000Z',
    'Runtime: containerd 2.1.9 at unix:///run/cri.sock',
    '',
    'First: CRITICAL ShimStopped: the shim of pod default/web is stopped by a signal',
    '  since: 2026-01-02T02:59:50.000Z',
    '  pod: default/web',
    '  process: containerd-shim (pid 4711)',
    '  evidence: state T',
    '  follows from it: ListHangs: ListContainers is not answered',
    '  what to do: kill -CONT 4711',
    '  over at 2026-01-02T03:02:00.000Z, after 2m0s; it began 2 times: containerd-shim (pid 4711) has ended',
    '',
    'After 45s: WARNING KubeletUnhealthy: the kubelet is not healthy',
    '  what to do: see above',
    '  over at 2026-01-02T03:02:30.000Z, after 1m45s',
    '',
    'It came back after its end (1), the last time at 2026-01-02T03:10:00.000Z',
    '',
    'Missing: its calls could not be recorded: ENOSPC',
  ]);
});

it('one that was cut off says when it was seen last, and claims of nothing that it lasts', () => {
  const { endedAt: _endedAt, ...rest } = INCIDENT;
  const [{ endedAt: _end, ending: _ending, ...finding }] = INCIDENT.findings as [IncidentFinding];
  const findings = [{ ...finding, asOf: '2026-01-02T03:01:00.000Z' }];
  const open: Incident = { ...rest, state: 'open', findings };
  const lines = toIncidentLines(cutOff(open, Date.parse('2026-01-02T03:01:10Z')));
  expect(lines.slice(0, 2)).toEqual([
    'Incident 3 of node node-1: cut off',
    'From 2026-01-02T03:00:00.000Z until after 2026-01-02T03:01:10.000Z (at least 1m10s), when its observer ended; calls are recorded from 2026-01-02T02:55:00.000Z',
  ]);
  expect(lines).toContain('  as of: 2026-01-02T03:01:00.000Z');
  expect(lines).toContain('  nobody saw its end, as the observer ended; it began 2 times');
  expect(lines.at(-1)).toContain('the observer ended before the incident did');
  expect(lines.join('\n')).not.toContain('it lasts');
  expect(toIncidentLines(open)[1]).toContain('and it lasts');
});

it('a name cannot begin a line of its own or command the terminal', () => {
  const hostile = 'web\nFirst: CRITICAL forged\r\u001B[2J\u2028\u009B31m\u202Egpj.exe\u2066';
  const [finding] = INCIDENT.findings;
  const incident: Incident = {
    ...INCIDENT,
    node: hostile,
    runtime: { endpoint: hostile, name: hostile, version: hostile },
    findings: [
      {
        ...{ ...finding!, message: hostile, evidence: [hostile], follows: [hostile], remedy: hostile },
        ...{ pod: { uid: 'u', namespace: hostile, name: hostile }, container: hostile, ending: hostile },
        process: { pid: 1, command: hostile },
      },
    ],
    gaps: [hostile],
  };
  const lines = toIncidentLines(incident);
  expect(lines.join('')).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
  expect(lines.filter((line) => line.startsWith('First:'))).toHaveLength(1);
});
