import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { aProbe, aProbedPod, ProbeHarness } from '#support/harness/probe-harness.js';
import { probeEnded, type ProbeEnd } from '#base/channels/probe-channels.js';
import { type ProbeMemory, type RememberedProbes } from './probe-memory.js';

const UID = 'uid-web';
const ALL = { startupProbe: aProbe(), livenessProbe: aProbe(), readinessProbe: aProbe() };

describe('the pods that are probed', () => {
  it('end with removePod, and nothing of them stays', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod(ALL));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect([h.hanging, h.manager.readiness('a')]).toEqual([1, true]);
    h.manager.removePod(UID);
    await h.clock.settle();
    expect(h.manager.stats).toEqual({
      workers: 0,
      inFlight: 0,
      waiting: 0,
      voided: 0,
      unanswered: 0,
      heldBack: 0,
    });
    expect([h.manager.readiness('a'), h.manager.started('a')]).toEqual([undefined, undefined]);
    expect(h.clock.pendingTimers).toBe(0);
    h.manager.removePod(UID);
  });

  it('that end are asked for readiness alone', async () => {
    await using h = new ProbeHarness();
    const pod = aProbedPod(ALL);
    h.manager.addPod(pod);
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    h.manager.stopLivenessAndStartup(UID);
    h.script('main/liveness', 'failure');
    h.script('main/readiness', 'failure');
    h.manager.addPod({ ...pod });
    const before = h.runs.length;
    await h.clock.advance(2_000);
    expect(h.runs.slice(before)).toEqual(['main/readiness@a', 'main/readiness@a']);
    expect(h.verdicts.at(-1)).toBe('a readiness failure');
    expect([h.manager.started('a'), h.manager.failure('a')]).toEqual([true, undefined]);
  });

  it('that end begin with none of liveness and startup, whatever is edited', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({}));
    h.observe(UID, 'main', 'a');
    h.manager.stopLivenessAndStartup(UID);
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe(), readinessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect(h.runs).toEqual(['main/readiness@a']);
  });

  it('are probed again when they come again after they were removed', async () => {
    await using h = new ProbeHarness();
    const pod = aProbedPod({ readinessProbe: aProbe() });
    h.manager.addPod(pod);
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    h.manager.removePod(UID);
    h.observe(UID, 'main', 'b');
    h.manager.addPod(pod);
    await h.clock.advance(10);
    expect([h.runs, h.manager.readiness('b')]).toEqual([['main/readiness@a', 'main/readiness@b'], true]);
  });

  it('whose container goes while its probe waits for a turn have nothing run', async () => {
    await using h = new ProbeHarness({ concurrency: 1 });
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }, { name: 'late' }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    h.observe('uid-late', 'main', 'b');
    await h.clock.settle();
    expect(h.manager.stats.waiting).toBe(1);
    h.observe('uid-late', 'main', 'b', { state: 'exited' });
    const errors: string[] = [];
    const unsubscribe = probeEnded.subscribe((ended: ProbeEnd) => void errors.push(ended.containerId));
    h.release();
    await h.clock.settle();
    unsubscribe();
    // Both wait for the next container.
    expect([h.runs, errors, h.manager.stats.workers]).toEqual([['main/liveness@a'], ['a'], 2]);
  });

  it('go when they are no longer desired', async () => {
    await using h = new ProbeHarness();
    for (const name of ['a', 'b']) h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }, { name }));
    h.manager.cleanUp(new Set(['uid-a']));
    await h.clock.settle();
    expect(h.manager.stats.workers).toBe(1);
  });

  it('may change their probes while they run', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe(), readinessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect(h.manager.readiness('a')).toBe(true);
    h.script('main/liveness', 'failure');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ failureThreshold: 3 }) }));
    await h.clock.advance(2_500);
    expect([h.manager.readiness('a'), h.verdicts]).toEqual([undefined, ['a readiness success']]);
    await h.clock.advance(1_000);
    expect(h.verdicts.at(-1)).toBe('a liveness failure');
  });

  it('may have a shorter period from then on', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 600 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10_000);
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 5 }) }));
    await h.clock.advance(11_000);
    expect(h.runsAtSeconds).toEqual([0, 15, 20]);
  });

  it('that are given again keep what runs', async () => {
    await using h = new ProbeHarness();
    const pod = aProbedPod({ livenessProbe: aProbe({ periodSeconds: 5 }) });
    for (let second = 0; second < 10; second++) {
      h.manager.addPod({ ...pod });
      if (second === 0) h.observe(UID, 'main', 'a');
      await h.clock.advance(1_000);
    }
    expect(h.runsAtSeconds).toEqual([0, 5, 10]);
  });

  it('whose containers are not started again need no worker once they have ended', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod(ALL, { restartPolicy: 'Never' }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(10);
    expect(h.manager.stats.workers).toBe(3);
    h.observe(UID, 'main', 'a', { state: 'exited' });
    await h.clock.settle();
    expect([h.manager.stats.workers, h.manager.readiness('a')]).toEqual([0, false]);
  });

  it('keep their workers where the end of another container may restart all of them', async () => {
    await using h = new ProbeHarness();
    const pod = aProbedPod(ALL, { restartPolicy: 'Never' });
    const exitCodes = { operator: 'In', values: [42] } as const;
    const restartPolicyRules = [{ action: 'RestartAllContainers', exitCodes } as const];
    const other = { name: 'other', image: 'i', restartPolicy: 'Never' as const, restartPolicyRules };
    h.manager.addPod({ ...pod, spec: { ...pod.spec, containers: [...pod.spec.containers, other] } });
    h.observe(UID, 'main', 'a', { state: 'exited' });
    await h.clock.settle();
    expect(h.manager.stats.workers).toBe(3);
    h.observe(UID, 'main', 'b');
    await h.clock.advance(10);
    expect([h.manager.started('b'), h.manager.readiness('b')]).toEqual([true, true]);
  });

  it('have a container probed that an edit has started once more after it had ended for good', async () => {
    await using h = new ProbeHarness();
    h.manager.addPod(aProbedPod(ALL, { restartPolicy: 'Never' }));
    h.observe(UID, 'main', 'a', { state: 'exited' });
    await h.clock.settle();
    expect(h.manager.stats.workers).toBe(0);
    h.manager.addPod(aProbedPod(ALL, { restartPolicy: 'Never' }));
    await h.clock.settle();
    h.observe(UID, 'main', 'b');
    await h.clock.advance(10);
    expect([h.manager.stats.workers, h.manager.started('b'), h.manager.readiness('b')]).toEqual([
      3,
      true,
      true,
    ]);
    expect(h.manager.readiness('a')).toBeUndefined();
  });

  it('have their sidecars probed, and these are restarted whatever the pod says', async () => {
    await using h = new ProbeHarness();
    const pod = aProbedPod({}, { restartPolicy: 'Never' });
    const sidecar = { name: 'proxy', image: 'i', restartPolicy: 'Always' as const, readinessProbe: aProbe() };
    const init = { name: 'init', image: 'i', readinessProbe: aProbe() };
    h.manager.addPod({ ...pod, spec: { ...pod.spec, initContainers: [init, sidecar] } });
    h.observe(UID, 'proxy', 'p', { state: 'exited' });
    await h.clock.advance(5_000);
    h.observe(UID, 'proxy', 'q');
    await h.clock.advance(10);
    expect(h.runs).toEqual(['proxy/readiness@q']);
  });

  it('are all left alone once the manager is closed', async () => {
    const h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    await h.manager.close();
    await h.manager.close();
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }, { name: 'late' }));
    expect([h.hanging, h.manager.stats.workers, h.clock.pendingTimers]).toEqual([0, 0, 0]);
  });
});

describe('after the agent was restarted', () => {
  /** As files would keep it. */
  class Notes implements ProbeMemory {
    readonly notes = new Map<string, Map<string, RememberedProbes>>();
    recall(podUid: string, containerId: string): RememberedProbes | undefined {
      return this.notes.get(podUid)?.get(containerId);
    }
    remember(podUid: string, containerId: string, found: RememberedProbes): void {
      const pod = this.notes.get(podUid) ?? new Map<string, RememberedProbes>();
      this.notes.set(podUid, pod.set(containerId, { ...pod.get(containerId), ...found }));
    }
    forget(podUid: string, containerId: string): void {
      this.notes.get(podUid)?.delete(containerId);
    }
    forgetPod(podUid: string): void {
      this.notes.delete(podUid);
    }
    pods(): readonly string[] {
      return [...this.notes.keys()];
    }
  }

  async function afterRestart(memory: Notes, clock: FakeClock): Promise<ProbeHarness> {
    const startedAtMs = clock.now();
    const first = new ProbeHarness({ clock, memory });
    first.manager.addPod(aProbedPod(ALL));
    first.observe(UID, 'main', 'a', { startedAtMs });
    await clock.advance(100);
    expect([first.manager.readiness('a'), first.manager.started('a')]).toEqual([true, true]);
    await first.manager.close();
    await clock.advance(60_000);
    const second = new ProbeHarness({ clock, memory });
    second.script('main/startup', 'failure');
    second.script('main/readiness', 'failure');
    second.manager.addPod(aProbedPod(ALL));
    return second;
  }

  it('a container is ready and started until a probe says otherwise', async () => {
    const [memory, clock] = [new Notes(), new FakeClock()];
    await using h = await afterRestart(memory, clock);
    h.observe(UID, 'main', 'a', { startedAtMs: clock.now() - 60_000 });
    expect([h.manager.readiness('a'), h.manager.started('a')]).toEqual([true, true]);
    await clock.advance(600);
    expect(h.runs.sort()).toEqual(['main/liveness@a', 'main/readiness@a']);
    expect([h.manager.readiness('a'), h.manager.started('a')]).toEqual([false, true]);
    expect(h.verdicts).toEqual(['a readiness failure']);
    expect(memory.recall(UID, 'a')).toEqual({ ready: false, started: true });
  });

  it('nothing of it goes over to another container', async () => {
    const [memory, clock] = [new Notes(), new FakeClock()];
    await using h = await afterRestart(memory, clock);
    h.observe(UID, 'main', 'b');
    expect([h.manager.readiness('b'), h.manager.started('b')]).toEqual([false, false]);
  });

  it('a container that ended meanwhile is not ready', async () => {
    const [memory, clock] = [new Notes(), new FakeClock()];
    await using h = await afterRestart(memory, clock);
    h.observe(UID, 'main', 'a', { state: 'exited' });
    expect(h.manager.readiness('a')).toBe(false);
  });

  it('only what is gone is forgotten', async () => {
    const [memory, clock] = [new Notes(), new FakeClock()];
    await using h = await afterRestart(memory, clock);
    memory.remember('uid-gone', 'x', { ready: true });
    h.manager.cleanUp(new Set([UID]));
    expect(memory.pods()).toEqual([UID]);
    h.manager.removePod(UID);
    expect(memory.pods()).toEqual([]);
  });
});

describe('a stall of our own event loop', () => {
  function record(): { ends: ProbeEnd[]; stop: () => void } {
    const ends: ProbeEnd[] = [];
    return { ends, stop: probeEnded.subscribe((end) => ends.push(end)) };
  }

  it('makes nothing of silence, and the probe is repeated at once', async () => {
    await using h = new ProbeHarness();
    const { ends, stop } = record();
    h.script('main/liveness', 'hang', 'success');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    h.clock.stall(3_000);
    h.release('silence');
    await h.clock.advance(10);
    stop();
    expect(h.runsAtSeconds).toEqual([0, 3]);
    expect(h.verdicts).toEqual([]);
    expect(ends.map(({ outcome }) => outcome)).toEqual(['void', 'success']);
    expect(ends[0]).toMatchObject({ durationMs: 3_000, stalledMs: 2_980, message: 'i/o timeout' });
    expect(h.manager.stats.voided).toBe(1);
  });

  it('leaves what the other side said as it is', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    h.clock.stall(3_000);
    h.release('failure');
    await h.clock.advance(10);
    expect(h.verdicts).toEqual(['a liveness failure']);
  });

  it('never adds up to a failure, however often it comes back, and probes do not run wild', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe({ periodSeconds: 10 }) }));
    h.observe(UID, 'main', 'a');
    await h.clock.settle();
    for (let stall = 0; stall < 30; stall++) {
      h.clock.stall(300);
      h.release('silence');
      await h.clock.settle();
    }
    expect(h.verdicts).toEqual([]);
    // The first one and five repeats; the next comes with its period.
    expect(h.runs).toHaveLength(6);
    await h.clock.advance(10_000);
    expect(h.runs).toHaveLength(7);
  });

  it('that lasts no longer than a slice of work excuses nobody', async () => {
    await using h = new ProbeHarness();
    h.script('main/liveness', 'hang');
    h.manager.addPod(aProbedPod({ livenessProbe: aProbe() }));
    h.observe(UID, 'main', 'a');
    await h.clock.advance(500);
    h.clock.stall(60);
    await h.clock.advance(440);
    h.release('silence');
    await h.clock.advance(10);
    expect(h.verdicts).toEqual(['a liveness failure']);
  });
});
