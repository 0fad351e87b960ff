import { describe, expect, it } from 'vitest';
import { aPlegReport, anInspection } from '#support/builders/pleg-report-builder.js';
import { podDetails } from './pod-details.js';

const WEB = { uid: 'web', namespace: 'default', name: 'web' };
const textOf = (...args: Parameters<typeof podDetails>): string =>
  podDetails(...args)
    .map(({ text }) => text)
    .join('\n');

describe('details of a pod', () => {
  it('have its inspections', () => {
    const text = textOf(aPlegReport(), 'web');
    expect(text).toContain('Pod          default/web\nUid          web\nState        ok\n');
    expect(text).toContain('  last       30ms\n  longest    40ms\n  count      1, 0 failed');
    expect(text).toMatch(/Calls in flight\n {2}none$/);
  });

  it('say why it is stuck, and which calls have no answer', () => {
    const call = { method: 'ContainerStatus', operation: 'container_status', startedAtMs: 0, ageMs: 12_000 };
    const report = aPlegReport({
      slowestPods: [anInspection('web', { inFlightMs: 12_000 })],
      stuckPods: [{ pod: WEB, state: 'hung', sinceMs: 0, forMs: 90_000, failures: 2, error: 'deadline' }],
      callsInFlight: [
        { ...call, pod: WEB, containerId: 'c0ffee', deadlineMs: 120_000 },
        { ...call, pod: { ...WEB, uid: 'other' } },
      ],
      callsInFlightCount: 5,
    });
    const text = textOf(report, 'web');
    expect(text).toContain('State        hung for 90.0s, 2 inspections failed\nError        deadline');
    expect(text).toContain('  now        12.0s');
    expect(text.match(/container_status/g)).toHaveLength(1);
    expect(text).toContain(
      '  container_status, no answer for 12.0s; given up after 2m\n    container  c0ffee',
    );
    expect(text).toMatch(/\(the report has 2 of 5 calls\)$/);
  });

  it('say that a pod is gone', () => {
    expect(textOf(aPlegReport(), 'gone')).toBe('The report has nothing of this pod any more.');
  });
});
