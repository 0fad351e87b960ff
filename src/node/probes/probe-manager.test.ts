import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { aProbe, aProbedPod, ProbeHarness, type ScriptedOutcome } from '#support/harness/probe-harness.js';
import { probeNotRun } from '#base/channels/probe-channels.js';

const UID = 'uid-web';

describe('a liveness probe', () => {
  it('says once that a container is to be replaced, and leaves it alone until it was', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'success', 'failure');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ failureThreshold: 3 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(2_500);
    expect(h.verdicts).toEqual([]);
    await h.clock.advance(60_000);
    expect(h.verdicts).toEqual(['a liveness failure']);
    expect(h.runs).toHaveLength(4);
    expect(h.manager.failure('a')).toEqual({
      type: 'liveness',
      message: 'Liveness probe failed: HTTP probe failed with statuscode: 500',
    });

    h.script('main/liveness', 'success');
    h.observe(UID, 'main', 'b');
    await h.clock.advance(3_500);
    expect(h.runs.slice(4)).toEqual(Array(4).fill('main/liveness@b'));
    expect([h.manager.failure('a'), h.manager.failure('b')]).toEqual([undefined, undefined]);
    expect(h.verdicts).toEqual(['a liveness failure']);
  });

  it('carries its own grace period', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'failure');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ terminationGracePeriodSeconds: 5 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect(h.results).toEqual([
      {
        podUid: UID,
        containerId: 'a',
        containerName: 'main',
        type: 'liveness',
        result: 'failure',
        message: 'Liveness probe failed: HTTP probe failed with statuscode: 500',
        terminationGracePeriodSeconds: 5,
      },
    ]);
    expect(h.manager.failure('a')?.terminationGracePeriodSeconds).toBe(5);
  });

  it('starts counting again for another container', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'failure');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ failureThreshold: 3 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(1_500);
    h.observe(UID, 'main', 'b');
    await h.clock.advance(1_500);
    expect([h.runs.length, h.verdicts.length]).toEqual([4, 0]);
    await h.clock.advance(1_000);
    expect(h.verdicts).toEqual(['b liveness failure']);
  });

  it('that could not be run is tried three times at once and counts neither way', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'failure', 'error', 'error', 'error', 'error', 'failure', 'success');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ failureThreshold: 2 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(500);
    expect(h.runs).toHaveLength(1);
    await h.clock.advance(1_000);
    expect([h.runs.length, h.verdicts.length]).toEqual([4, 0]);
    await h.clock.advance(1_000);
    expect(h.verdicts).toEqual(['a liveness failure']);
  });

  it('that cannot be run as often in a row as it may fail is published once, until it was run again', async () => {
    const published: string[] = [];
    const leave = probeNotRun.subscribe(({ type, times, message }) =>
      published.push(`${type} ${times} ${message}`),
    );
    await using h = new ProbeHarness();
    // Each error is tried three times at once.
    const errors = Array<ScriptedOutcome>(12).fill('error');
    h.script('main/liveness', ...errors, 'held back', 'success', ...errors.slice(0, 6), 'success', 'error');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ failureThreshold: 3 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(1_500);
    expect(published).toEqual([]);
    await h.clock.advance(1_000);
    expect(published).toEqual(['liveness 3 no such container']);
    await h.clock.advance(6_000);
    expect(published).toHaveLength(1);
    await h.clock.advance(4_000);
    leave();
    expect(published).toHaveLength(2);
    expect(h.verdicts).toEqual([]);
  });

  it.each(['liveness', 'readiness', 'startup'] as const)(
    'of %s whose command alone is not answered fails, and is counted',
    async (type) => {
      await using h = new ProbeHarness();
      h.script(`main/${type}`, 'unanswered', 'unanswered', 'held back', 'unanswered');
      h.manager.addPod(aProbedPod({ [`${type}Probe`]: aProbe({ failureThreshold: 3 }) }));
      h.observe(UID, 'main', 'a');
      await h.clock.advance(3_500);
      // What was not begun neither adds to the row nor breaks it, and is not tried again at once.
      expect(h.runs).toHaveLength(4);
      expect(h.verdicts).toEqual(type === 'readiness' ? [] : [`a ${type} failure`]);
      expect(h.manager.readiness('a') ?? false).toBe(false);
      expect(h.manager.stats).toMatchObject({ unanswered: 3, heldBack: 1, voided: 0 });
    },
  );

  it.each([
    [1_000, true],
    [3_000, false],
  ])('that hung for 12 s counts after a stall of %d ms: %s', async (stallMs, counts) => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(5_000);
    h.clock.stall(stallMs);
    await h.clock.advance(5_000);
    h.release('unanswered');
    await h.clock.settle();
    expect(h.manager.stats.voided).toBe(counts ? 0 : 1);
    expect(h.verdicts).toEqual(counts ? ['a liveness failure'] : []);
  });

  it('of a container that was replaced while it ran says nothing', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang', 'success');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    h.observe(UID, 'main', 'b');
    h.release('failure');
    await h.clock.advance(2_000);
    expect(h.verdicts).toEqual([]);
    expect(h.runs).toEqual(['main/liveness@a', ...Array<string>(3).fill('main/liveness@b')]);
  });

  it('of a container that ended while it ran says nothing', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang', 'success');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    h.observe(UID, 'main', 'a', { state: 'exited' });
    h.release('failure');
    await h.clock.advance(5_000);
    expect([h.verdicts, h.runs.length]).toEqual([[], 1]);
  });
});

describe('a readiness probe', () => {
  it('makes a container ready and unready, and says every change once', async () => {
    await using h = new ProbeHarness();
    h.script('main/readiness', 'failure', 'success', 'success', 'failure', 'failure', 'success');
    h.manager.addPod(aProbedPod({ readinessProbe: aProbe({ failureThreshold: 2 }) }));
    h.observe(UID, 'main', 'a');
    expect(h.manager.readiness('a')).toBe(false);
    const seen: (boolean | undefined)[] = [];
    for (let second = 0; second < 6; second++) {
      await h.clock.advance(second === 0 ? 10 : 1_000);
      seen.push(h.manager.readiness('a'));
    }
    expect(seen).toEqual([false, true, true, true, false, true]);
    expect(h.verdicts).toEqual(['a readiness success', 'a readiness failure', 'a readiness success']);
  });

  it('is over as soon as the container no longer runs', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ readinessProbe: aProbe({ failureThreshold: 100 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect(h.manager.readiness('a')).toBe(true);
    h.observe(UID, 'main', 'a', { state: 'exited' });
    expect(h.manager.readiness('a')).toBe(false);
    h.observe(UID, 'main', 'b', { state: 'waiting' });
    expect([h.manager.readiness('a'), h.manager.readiness('b')]).toEqual([undefined, false]);
    await h.clock.settle();
    expect(h.verdicts).toEqual(['a readiness success', 'a readiness failure']);
  });

  it('holds while nothing can be observed, and goes on', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ readinessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    h.observe(UID, 'main', 'unknown');
    await h.clock.advance(2_000);
    expect([h.manager.readiness('a'), h.runs.length]).toEqual([true, 3]);
    h.observe(UID, 'main', undefined);
    expect(h.manager.readiness('a')).toBe(false);
  });

  it('is unknown of containers that have none', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect([h.manager.readiness('a'), h.manager.started('a'), h.manager.readiness('x')]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });

  it('needs several successes where it says so', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ readinessProbe: aProbe({ successThreshold: 3 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(1_500);
    expect(h.manager.readiness('a')).toBe(false);
    await h.clock.advance(1_000);
    expect(h.manager.readiness('a')).toBe(true);
  });
});

describe('a startup probe', () => {
  const probes = {
    startupProbe: aProbe({ failureThreshold: 5 }),
    livenessProbe: aProbe({ periodSeconds: 60 }),
    readinessProbe: aProbe({ periodSeconds: 60 }),
  };

  it('holds the others back until it succeeds, and then they come at once', async () => {
    await using h = new ProbeHarness();
    h.script('main/startup', 'failure', 'failure', 'success');
    h.manager.addPod(aProbedPod(probes));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(1_500);
    expect(h.runs).toEqual(['main/startup@a', 'main/startup@a']);
    expect([h.manager.started('a'), h.manager.readiness('a')]).toEqual([false, false]);
    await h.clock.advance(510);
    expect(h.runs.slice(2).sort()).toEqual(['main/liveness@a', 'main/readiness@a', 'main/startup@a']);
    expect([h.manager.started('a'), h.manager.readiness('a')]).toEqual([true, true]);
    expect(h.verdicts).toEqual(['a startup success', 'a readiness success']);
  });

  it('is not run again for that container, but for the next', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod(probes));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(30_000);
    expect(h.runs.filter((run) => run.startsWith('main/startup'))).toEqual(['main/startup@a']);
    h.script('main/startup', 'failure');
    h.observe(UID, 'main', 'b');
    await h.clock.advance(1_500);
    expect(h.runs.filter((run) => run.endsWith('@b'))).toEqual(['main/startup@b', 'main/startup@b']);
    expect([h.manager.started('a'), h.manager.started('b')]).toEqual([undefined, false]);
  });

  it('that fails for good has its container replaced', async () => {
    await using h = new ProbeHarness();
    h.script('main/startup', 'failure');
    h.manager.addPod(aProbedPod(probes));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(30_000);
    expect(h.runs).toHaveLength(5);
    expect(h.verdicts).toEqual(['a startup failure']);
    expect(h.manager.failure('a')?.type).toBe('startup');
    expect([h.manager.hasFailedStartup('a'), h.manager.hasFailedLiveness('a')]).toEqual([true, false]);
    expect([h.manager.hasStarted('a'), h.manager.hasFailedStartup('x')]).toEqual([false, false]);
  });
});

describe('the initial delay', () => {
  it('counts from the start of the container, not from when it was seen', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 10 }) }));
    await h.clock.advance(20_000);
    h.observe(UID, 'main', 'a', { startedAtMs: h.clock.now() - 6_000 });
    await h.clock.advance(3_990);
    expect(h.runs).toEqual([]);
    await h.clock.advance(20);
    expect(h.runs).toHaveLength(1);
  });

  it.each([3_600_000, -3_600_000])(
    'does not notice that the clock on the wall jumps by %i ms',
    async (jump) => {
      await using h = new ProbeHarness();
      h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 10 }) }));
      h.observe(UID, 'main', 'a');
      await h.clock.advance(5_000);
      h.clock.jumpWallClock(jump);
      await h.clock.advance(4_900);
      expect(h.runs).toEqual([]);
      await h.clock.advance(200);
      expect(h.runs).toHaveLength(1);
    },
  );

  it('is not over at once for a container that started while the clock on the wall was set forward', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 10 }) }));
    await h.clock.advance(20_000);
    h.observe(UID, 'main', 'a', { startedAtMs: h.clock.now() - 3_600_000 });
    await h.clock.advance(8_900);
    expect(h.runs).toEqual([]);
    await h.clock.advance(1_200);
    expect(h.runs).toHaveLength(1);
  });

  it('is not cut short by an edit of something else, and follows an edit of its own', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 30 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10_000);
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 30 }) }));
    await h.clock.advance(19_900);
    expect(h.runs).toEqual([]);
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 40 }) }));
    await h.clock.advance(9_900);
    expect(h.runs).toEqual([]);
    await h.clock.advance(300);
    expect(h.runs).toHaveLength(1);
  });

  it('is no longer than it says for a container that started in the future', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ initialDelaySeconds: 10 }) }));
    h.observe(UID, 'main', 'a', { startedAtMs: h.clock.now() + 3_600_000 });
    await h.clock.advance(10_010);
    expect(h.runs).toHaveLength(1);
  });
});

describe('when probes run', () => {
  it('is at once, and then every period', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 7 }) }));
    await h.clock.advance(3_000);
    h.observe(UID, 'main', 'a');
    await h.clock.advance(22_000);
    expect(h.runsAtSeconds).toEqual([3, 10, 17, 24]);
  });

  it('makes up once for periods that a slow probe missed', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang', 'success');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(3_500);
    h.release();
    await h.clock.advance(2_100);
    expect(h.runsAtSeconds).toEqual([0, 3.5, 4.5, 5.5]);
  });

  it('is spread over the period for containers that ran before the agent, and only for them', async () => {
    await using h = new ProbeHarness();
    await h.clock.advance(1_000);
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 6 }) }, { name: 'old' }));
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 600 }) }, { name: 'slow' }));
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 6 }) }, { name: 'new' }));
    const before = { startedAtMs: h.clock.now() - 60_000 };
    h.observe('uid-old', 'main', 'old', before);
    h.observe('uid-slow', 'main', 'slow', before);
    h.observe('uid-new', 'main', 'new');
    await h.clock.advance(6_500);
    expect(h.runs.slice(0, 3).map((run) => run.split('@')[1])).toEqual(['new', 'old', 'slow']);
    expect(h.runsAtSeconds.slice(0, 3)).toEqual([1, 4, 6]);
  });

  it('needs no notification of a new container', async () => {
    const targets = { find: () => target };
    let target: ReturnType<typeof running> | 'absent' = 'absent';
    const clock = new FakeClock();
    const running = (containerId: string) => ({
      containerId,
      state: 'running' as const,
      startedAtMs: clock.now(),
      host: '10.88.0.2',
    });
    await using h = new ProbeHarness({ clock, targets });
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    await clock.advance(10_300);
    target = running('a');
    await clock.advance(1_000);
    expect(h.runs).toEqual(['main/liveness@a']);
  });

  it('is bounded for all pods together, and fair between them', async () => {
    await using h = new ProbeHarness({ concurrency: 2 });
    h.script('main/liveness', 'hang');
    h.script('main/readiness', 'hang');
    const probes = { livenessProbe: aProbe(), readinessProbe: aProbe() };
    for (const name of ['a', 'b', 'c']) {
      h.manager.addPod(aProbedPod(probes, { name }));
      h.observe(`uid-${name}`, 'main', name);
      await h.clock.settle();
    }
    expect(h.manager.stats).toMatchObject({ workers: 6, inFlight: 2, waiting: 4 });
    expect(h.hanging).toBe(2);
    // Slow ones give their places up to others.
    await h.clock.advance(1_010);
    expect(h.manager.stats).toMatchObject({ inFlight: 4, waiting: 2 });
    await h.clock.advance(1_010);
    expect(h.manager.stats).toMatchObject({ inFlight: 6, waiting: 0 });
  });
});
