import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type CriCall } from '#base/channels/channels.js';
import { SlowCallsReport } from './slow-calls-report.js';

const pod = { uid: 'u1', namespace: 'default', name: 'web' };
const SECOND = 1_000;

function setUp() {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const calls: CriCall[] = [];
  const report = new SlowCallsReport({
    ...{ clock, logger, requestTimeoutMs: 120 * SECOND },
    callsInFlight: () => calls,
  });
  const begin = (method: string, more: Partial<CriCall> = {}): void => {
    calls.push({
      ...{ id: calls.length + 1, method, operation: method, pod, deadlineMs: 120 * SECOND, streaming: false },
      ...{ containerId: undefined, sandboxId: undefined },
      ...{ startedAtMonotonicMs: clock.monotonicMs(), startedAtMs: clock.now() },
      ...more,
    });
  };
  return { clock, logger, calls, report, begin };
}

describe('the report of slow calls', () => {
  it('names a call and its pod once while it hangs, and says when it is over', async () => {
    const { clock, logger, calls, report, begin } = setUp();
    begin('RunPodSandbox');
    await clock.advance(9 * SECOND);
    report.update();
    expect(logger.lines).toEqual([]);
    await clock.advance(2 * SECOND);
    report.update();
    report.update();
    expect(logger.lines).toMatchObject([
      { level: 'warn', fields: { method: 'RunPodSandbox', pod, podUID: 'u1', for: '11s' } },
    ]);
    calls.length = 0;
    report.update();
    expect(logger.lines).toMatchObject([{ level: 'warn' }, { level: 'info', fields: { pod } }]);
  });

  it('gives a stop the grace period that it asks for', async () => {
    const { clock, logger, report, begin } = setUp();
    begin('StopContainer', { deadlineMs: 150 * SECOND, containerId: 'c1' });
    await clock.advance(39 * SECOND);
    report.update();
    expect(logger.lines).toEqual([]);
    await clock.advance(2 * SECOND);
    report.update();
    expect(logger.lines).toMatchObject([{ fields: { method: 'StopContainer', containerID: 'c1' } }]);
  });

  it.each([
    ['the pull of an image', 'PullImage', { deadlineMs: undefined }],
    ['a stream', 'GetContainerEvents', { streaming: true }],
    ['what is told of the pod', 'ContainerStatus', {}],
    ['what is told of all pods', 'ListContainers', {}],
  ])('says nothing of %s', async (_, method, more) => {
    const { clock, logger, report, begin } = setUp();
    begin(method, more);
    await clock.advance(600 * SECOND);
    report.update();
    expect(logger.lines).toEqual([]);
  });
});
