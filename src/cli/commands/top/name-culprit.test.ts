import { describe, expect, it } from 'vitest';
import { type PlegReport, type ReportedCall, type ReportedStuckPod } from '#kube/node/pleg-report.js';
import { aPlegReport, aRelist } from '#support/builders/pleg-report-builder.js';
import { nameCulprit } from './name-culprit.js';

const MESSAGE = 'pleg was last seen active 3m5s ago; threshold is 3m0s';
const pod = { uid: 'u', namespace: 'default', name: 'web' };

function call(operation: string, ageMs: number, more: Partial<ReportedCall> = {}): ReportedCall {
  return { method: operation, operation, startedAtMs: 0, ageMs, deadlineMs: 120_000, ...more };
}

function stuck(name: string, more: Partial<ReportedStuckPod> = {}): ReportedStuckPod {
  return { pod: { ...pod, name, uid: name }, state: 'hung', sinceMs: 0, forMs: 34_000, failures: 0, ...more };
}

function unhealthy(reason: string, error?: string): Pick<PlegReport, 'health'> {
  const health = { healthy: false, thresholdMs: 180_000, message: MESSAGE, reason };
  return { health: error === undefined ? health : { ...health, error } };
}

const sayOf = (changes: Partial<PlegReport>): string => {
  const { severity, text } = nameCulprit(aPlegReport(changes));
  return `${severity}: ${text}`;
};

describe('the verdict', () => {
  it('is ok of a healthy node, and of one at which the first look is under way', () => {
    expect(sayOf({})).toBe('ok: ok, last relist 400ms ago (threshold 3m)');
    expect(sayOf({ ...unhealthy('neverSucceeded'), forMs: 1_000 })).toMatch(/^ok: the first list/);
  });

  it('names the list call that hangs, before the node is unhealthy and after', () => {
    const relists = { count: 1, ofOnePod: 0, history: [aRelist()], listInFlightMs: 185_000 };
    const callsInFlight = [call('list_podsandbox', 185_000)];
    expect(
      sayOf({
        relists: { ...relists, listInFlightMs: 4_000 },
        callsInFlight: [call('list_podsandbox', 4_000)],
      }),
    ).toBe('warning: the runtime does not answer: list_podsandbox has had no answer for 4.00s');
    expect(sayOf({ ...unhealthy('listHanging'), relists, callsInFlight })).toBe(
      `unhealthy: PLEG is not healthy: ${MESSAGE} (list_podsandbox has had no answer for 3m5s)`,
    );
    expect(sayOf({ ...unhealthy('listHanging'), relists })).toMatch(
      /\(the list of pods has had no answer for 3m5s\)$/,
    );
  });

  it('blames the list of pods, in one piece or in several, and not statistics that hang beside it', () => {
    const relists = { count: 1, ofOnePod: 0, history: [aRelist()], listInFlightMs: 5_000 };
    const callsInFlight = [call('list_podsandbox_stats', 60_000), call('stream_containers', 5_000)];
    expect(sayOf({ relists, callsInFlight })).toBe(
      'warning: the runtime does not answer: stream_containers has had no answer for 5.00s',
    );
  });

  it.each<[string, Partial<ReportedCall>]>([
    ['the pull of an image, for an hour', { operation: 'pull_image', ageMs: 3_500_000, ownMs: 3_600_000 }],
    ['a pull that its caller ends', { operation: 'pull_image', ageMs: 9_000_000 }],
    ['a stop within its grace period', { operation: 'stop_container', ageMs: 38_000, ownMs: 30_000 }],
  ])('takes %s, for no trouble', (_, { operation = '', ageMs = 0, ownMs }) => {
    const deadline = ownMs === undefined ? {} : { deadlineMs: 3_600_000 };
    const { deadlineMs: _none, ...bare } = call(operation, ageMs, { pod });
    const slow = { ...bare, ...deadline, ...(ownMs === undefined ? {} : { ownMs }) };
    expect(sayOf({ callsInFlight: [slow] })).toMatch(/^ok/);
  });

  it('names a stop that goes on beyond its grace period', () => {
    const stop = call('stop_container', 41_000, { pod, deadlineMs: 150_000, ownMs: 30_000 });
    expect(sayOf({ callsInFlight: [stop] })).toMatch(/^warning: stop_container of default\/web/);
  });

  it('says why the list fails, from the first failure on', () => {
    const history = [aRelist(), aRelist({ error: 'connection refused' })];
    expect(sayOf({ relists: { count: 1, ofOnePod: 0, history } })).toBe(
      'warning: the list of pods fails: connection refused; the last that succeeded began 400ms ago',
    );
    expect(sayOf(unhealthy('listFailing', 'connection refused'))).toMatch(
      /\(the list of pods fails: connection refused\)$/,
    );
    expect(sayOf(unhealthy('neverSucceeded', 'permission denied'))).toMatch(
      /\(the list of pods fails: permission denied\)$/,
    );
    expect(sayOf(unhealthy('notRelisting'))).toMatch(/\(nobody relists\)$/);
  });

  it('names stuck pods with their calls, three of them, and that the others are not held up', () => {
    const callsInFlight = [call('container_status', 34_000, { pod: { ...pod, name: 'a', uid: 'a' } })];
    expect(sayOf({ stuckPods: [stuck('a')], stuckPodCount: 1, callsInFlight })).toBe(
      'warning: stuck: default/a for 34.0s in container_status; other pods are not delayed',
    );
    const stuckPods = [
      stuck('a', { state: 'failing', error: 'no such task' }),
      ...['b', 'c', 'd'].map((name) => stuck(name)),
    ];
    expect(sayOf({ stuckPods, stuckPodCount: 7 })).toMatch(
      /^warning: .*default\/a failing for 34.0s \(no such task\), .* and 4 more;/,
    );
    expect(sayOf({ ...unhealthy('inspectionsFailing'), stuckPods, stuckPodCount: 4 })).toMatch(
      /\(no pod’s status is answered; stuck: default\/a .* and 1 more\)$/,
    );
  });

  it('names any other call that has no answer for long', () => {
    expect(sayOf({ callsInFlight: [call('run_podsandbox', 12_000, { pod })] })).toBe(
      'warning: run_podsandbox of default/web has had no answer for 12.0s; other pods are not delayed',
    );
    expect(sayOf({ callsInFlight: [call('run_podsandbox', 9_000, { pod })] })).toMatch(/^ok/);
  });
});
