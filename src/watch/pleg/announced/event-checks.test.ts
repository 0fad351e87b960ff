import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntime } from '#testing/fake-runtime.js';
import { podOf } from '#support/harness/pleg-harness.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { InspectionPool } from '../inspection/inspection-pool.js';
import { EventChecks } from './event-checks.js';
import { EventAccuracy } from './event-accuracy.js';

async function setUp() {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  const limits = { concurrency: 2, slowAfterMs: 1_000, slowLimit: 2, deadlineMs: 10_000 };
  const trust = new EventAccuracy({ believedAfter: 1 });
  const pool = new InspectionPool({ clock, ...limits });
  const checks = new EventChecks({ runtime, logger: SILENT_LOGGER, pool, trust });
  const pod = podOf('p', { a: 'exited' }, { s: 'running' });
  runtime.setPod(pod);
  return { clock, runtime, trust, checks, pod, status: await runtime.getPodStatus(pod) };
}

it("compare the status in an event with the runtime's answer", async () => {
  const { clock, trust, checks, pod, status } = await setUp();
  checks.check(pod, status);
  await clock.settle();
  expect(trust.stats).toMatchObject({ agreed: 1, refuted: 0 });
  checks.check(pod, { ...status, containers: status.containers.map((each) => ({ ...each, exitCode: 9 })) });
  await clock.settle();
  expect(trust.stats).toMatchObject({ agreed: 1, refuted: 1 });
});

it('are made one at a time, until one is known to hang', async () => {
  const { clock, runtime, trust, checks, pod, status } = await setUp();
  runtime.setPod(podOf('q', { b: 'exited' }));
  const other = (await runtime.findPod('q'))!;
  const release = runtime.hangStatus('p');
  checks.check(pod, status);
  checks.check(pod, status);
  expect(checks.begun).toBe(1);
  await clock.advance(1_000);
  checks.check(other, await runtime.getPodStatus(other));
  await clock.settle();
  expect([checks.begun, trust.stats.agreed]).toEqual([2, 1]);
  release();
  await clock.settle();
  expect(trust.stats).toMatchObject({ agreed: 2, refuted: 0 });
});

it('prove nothing if the runtime fails, or if they are cancelled', async () => {
  const { clock, runtime, trust, checks, pod, status } = await setUp();
  runtime.failStatus('p', new Error('sick'));
  checks.check(pod, status);
  await clock.settle();
  expect([checks.begun, checks.failures]).toEqual([1, 1]);
  runtime.failStatus('p', undefined);
  runtime.hangStatus('p');
  checks.check(pod, status);
  checks.cancel(new Error('stopped'));
  await clock.settle();
  expect([checks.begun, checks.failures, clock.pendingTimers]).toEqual([2, 1, 0]);
  expect(trust.stats).toEqual({ used: 0, agreed: 0, refuted: 0 });
});

it('are cancelled although they hang and another one was started since', async () => {
  const { clock, runtime, checks, pod, status } = await setUp();
  for (let begun = 1; begun <= 2; begun++) {
    runtime.hangStatus('p');
    checks.check(pod, status);
    await clock.advance(1_000);
  }
  expect(checks.begun).toBe(2);
  checks.cancel(new Error('stopped'));
  await clock.settle();
  expect([checks.failures, clock.pendingTimers]).toEqual([0, 0]);
});
