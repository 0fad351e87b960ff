import { describe, expect, it } from 'vitest';
import { type PodLifecycleEvent } from '../../../node/observer.js';
import { type RecordedPodEvent } from '../../../node/telemetry/reports/pod-event-log.js';
import { OLDEST_STAMP } from '#base/time/clock.js';
import { toNewsRow } from './list-rows.js';
import { SummaryNews } from './summary-news.js';

const pod = { uid: 'u', namespace: 'default', name: 'web' };

const died: PodLifecycleEvent = {
  ...{ type: 'ContainerDied', kind: 'container', pod, containerId: 'c', containerName: 'server' },
  ...{ exitCode: 3, reason: 'Error', occurredAtNs: undefined },
  ...{ trigger: 'event', stamp: OLDEST_STAMP, observedAtMs: 20 },
};

const backOff: RecordedPodEvent = {
  ...{ pod, type: 'Warning', reason: 'BackOff', message: 'Back-off', container: 'server' },
  ...{ count: 2, firstAtMs: 5, lastAtMs: 15 },
};

describe('what happened', () => {
  it('is in the order of time, whoever told it', () => {
    const news = new SummaryNews();
    news.addEvent(died);
    news.add({ atMs: 10, text: 'began' });
    const rows = news.list([backOff]).map((line) => toNewsRow(line).text);
    expect(rows.map((row) => row.slice('hh:mm:ss  '.length))).toEqual([
      'began',
      'default/web  Warning BackOff  server: Back-off (2 times)',
      'default/web  ContainerDied  server: exit code 3, Error',
    ]);
  });

  it('is one line a change, although events of pods report some as well', () => {
    const news = new SummaryNews();
    news.addEvent({ ...died, type: 'ContainerStarted' });
    const started = {
      ...backOff,
      type: 'Normal',
      reason: 'Started',
      message: 'Started container server',
    } as const;
    expect(news.list([started, { ...started, reason: 'Created' }])).toHaveLength(1);
  });

  it('shortens the pod rather than what happened to it', () => {
    const line = { atMs: 0, pod: 'default/a-name-that-is-long', text: 'ContainerDied  server' };
    expect(toNewsRow(line, 50).text.slice('hh:mm:ss'.length)).toBe(
      '  default/a-name-…  ContainerDied  server',
    );
    expect(toNewsRow(line).text).toContain(line.pod);
  });

  it('leaves out what says nothing to people', () => {
    const news = new SummaryNews();
    news.addEvent({ ...died, kind: 'sandbox' });
    news.addEvent({
      type: 'PodSync',
      pod,
      folded: 0,
      trigger: 'request',
      stamp: OLDEST_STAMP,
      observedAtMs: 1,
    });
    expect(news.list([])).toEqual([]);
  });

  it('keeps the newest only', () => {
    const news = new SummaryNews({ capacity: 2 });
    for (const atMs of [1, 2, 3]) news.add({ atMs, text: `at ${atMs}` });
    expect(news.list([]).map(({ atMs }) => atMs)).toEqual([2, 3]);
  });
});
