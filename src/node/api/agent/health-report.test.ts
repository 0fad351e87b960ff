import { describe, expect, it } from 'vitest';
import { HealthReport } from './health-report.js';
import { type LogFields, type Logger } from '#base/log/logger.js';

type Health = Parameters<HealthReport['update']>[0];

const healthy: Health = {
  healthy: true,
  message: undefined,
  reason: undefined,
  thresholdMs: 180_000,
  lastSeenAtMs: 1,
  listInFlightMs: undefined,
  stuckPods: [],
  stuckPodCount: 0,
};
const pod = { uid: 'b3e6', namespace: 'default', name: 'web' };
const stuck = (forMs: number): Health => ({
  ...healthy,
  stuckPods: [{ pod, state: 'hung', sinceMs: 0, forMs, failures: 1, error: 'deadline' }],
  stuckPodCount: 1,
});

function report() {
  const told: [string, LogFields | undefined][] = [];
  const logger: Logger = {
    info: (message, fields) => told.push([message, fields]),
    warn: (message, fields) => told.push([message, fields]),
    error: (message, error, fields) => told.push([message, { err: error, ...fields }]),
    enabled: () => true,
  };
  return { told, report: new HealthReport(logger) };
}

describe('the report of health', () => {
  it('is silent while all is well', () => {
    const { told, report: subject } = report();
    subject.update(healthy, true);
    subject.update({ ...healthy, listInFlightMs: 20 }, true);
    expect(told).toEqual([]);
  });

  it('names a stuck pod once, and says when it is over', () => {
    const { told, report: subject } = report();
    subject.update(stuck(1_000), true);
    expect(told).toEqual([]);
    subject.update(stuck(3_400), true);
    subject.update(stuck(3_900), true);
    expect(told).toEqual([
      [
        'Pod is stuck in the runtime, others are not delayed',
        { pod, podUID: 'b3e6', state: 'hung', for: '3s', lastError: 'deadline' },
      ],
    ]);
    subject.update(healthy, true);
    subject.update(healthy, true);
    expect(told.slice(1)).toEqual([['Pod is no longer stuck', { pod, podUID: 'b3e6' }]]);
  });

  it('blames no pod while the runtime is away', () => {
    const { told, report: subject } = report();
    subject.update(stuck(30_000), false);
    expect(told).toEqual([]);
  });

  it('says when the list of pods is not answered, and when it is again', () => {
    const { told, report: subject } = report();
    subject.update({ ...healthy, listInFlightMs: 3_000 }, true);
    subject.update({ ...healthy, listInFlightMs: 9_000 }, true);
    subject.update(healthy, true);
    expect(told).toEqual([
      ['The runtime does not answer the list of pods', { for: '3s' }],
      ['The runtime answers the list of pods again', undefined],
    ]);
  });

  it('says "PLEG is not healthy" in the kubelet’s words, once, and when it is over', () => {
    const { told, report: subject } = report();
    const message = 'pleg was last seen active 3m5s ago; threshold is 3m0s';
    const reason = { kind: 'listFailing', sinceMs: 0, error: 'connection refused' } as const;
    const unhealthy: Health = { ...healthy, healthy: false, message, reason };
    subject.update(unhealthy, true);
    subject.update(unhealthy, true);
    subject.update(healthy, true);
    expect(told).toEqual([
      [
        'Runtime is unhealthy',
        { err: `PLEG is not healthy: ${message}`, reason: 'listFailing', lastError: 'connection refused' },
      ],
      ['Runtime is healthy again', undefined],
    ]);
  });

  it('does not call the time before the first list unhealthy', () => {
    const { told, report: subject } = report();
    subject.update(
      { ...healthy, healthy: false, message: 'pleg has yet to be successful', lastSeenAtMs: undefined },
      true,
    );
    expect(told).toEqual([]);
  });
});
