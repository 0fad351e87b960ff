import { describe, expect, it } from 'vitest';
import { CallGate } from '#testing/call-gate.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { formatErrors, type HealthCheck, type RuntimeCondition, RuntimeState } from './runtime-state.js';

const RUNTIME_READY = condition('RuntimeReady', true);
const NETWORK_READY = condition('NetworkReady', true);

interface SetUpOptions {
  readonly healthChecks?: readonly HealthCheck[];
  readonly prepare?: (gate: CallGate) => void;
}

function condition(type: string, status: boolean, reason = '', message = ''): RuntimeCondition {
  return { type, status, reason, message };
}

/** A state that asks a runtime which the test drives; `prepare` is called before the first question. */
function setUp({ healthChecks = [], prepare }: SetUpOptions = {}) {
  const clock = new FakeClock();
  const gate = new CallGate({ clock });
  prepare?.(gate);
  const logger = new LogRecorder();
  const runtime = { conditions: [RUNTIME_READY, NETWORK_READY], calls: 0 };
  const state = new RuntimeState({
    ...{ clock, logger, healthChecks },
    getConditions: async (signal) => {
      runtime.calls++;
      await gate.pass(signal);
      return runtime.conditions;
    },
  });
  const stopping = new AbortController();
  const running = state.run(stopping.signal);
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
  };
  return { clock, gate, logger, runtime, state, stop };
}

describe('the state of the runtime', () => {
  it('is not known before the first answer', async () => {
    let letGo = (): void => undefined;
    const { state, clock, stop } = setUp({ prepare: (gate) => (letGo = gate.hang()) });
    await clock.settle();
    expect(state.errors()).toEqual(['container runtime status check may not have completed yet']);
    expect(state.networkErrors()).toEqual(['network state unknown']);
    letGo();
    await clock.settle();
    expect(state.errors()).toEqual([]);
    expect(state.networkErrors()).toEqual([]);
    await stop();
  });

  it('is pending until the first answer or failure, when nothing else is wrong', async () => {
    const pleg = { problem: 'pleg has yet to be successful' as string | undefined, isPending: true };
    const check: HealthCheck = {
      name: 'PLEG',
      findProblem: () => pleg.problem,
      isPending: () => pleg.isPending,
    };
    let letGo = (): void => undefined;
    const { state, clock, stop } = setUp({
      healthChecks: [check],
      prepare: (gate) => (letGo = gate.hang()),
    });
    await clock.settle();
    expect([state.errors().length, state.isPending()]).toEqual([2, true]);
    pleg.isPending = false;
    expect(state.isPending()).toBe(false);
    pleg.isPending = true;
    letGo();
    await clock.settle();
    expect([state.errors().length, state.isPending()]).toEqual([1, true]);
    pleg.problem = undefined;
    expect([state.errors(), state.isPending()]).toEqual([[], true]);
    await stop();
  });

  it('is not pending once a question has failed, or the runtime has said that it is not ready', async () => {
    const late = setUp({ prepare: (gate) => void gate.hang() });
    await late.clock.advance(10_000);
    expect(late.state.isPending()).toBe(false);
    await late.stop();
    const { state, runtime, clock, stop } = setUp();
    runtime.conditions = [condition('RuntimeReady', false, 'Why', 'so')];
    await clock.advance(5_000);
    expect(state.isPending()).toBe(false);
    await stop();
  });

  it('is asked every 5 s', async () => {
    const { runtime, clock, stop } = setUp();
    await clock.advance(4_999);
    expect(runtime.calls).toBe(1);
    await clock.advance(1);
    expect(runtime.calls).toBe(2);
    await clock.advance(50_000);
    expect(runtime.calls).toBe(12);
    await stop();
    expect(clock.pendingTimers).toBe(0);
  });

  it("says that the runtime is not ready in the runtime's words", async () => {
    const { state, runtime, clock, logger, stop } = setUp();
    await clock.settle();
    runtime.conditions = [condition('RuntimeReady', false, 'Starting', 'wait a little'), NETWORK_READY];
    await clock.advance(5_000);
    expect(state.errors()).toEqual([
      'container runtime not ready: RuntimeReady=false reason:Starting message:wait a little',
    ]);
    expect(logger.complaints).toMatchObject([{ message: 'Container runtime not ready' }]);
    await stop();
  });

  it('says apart that the network is not ready', async () => {
    const { state, runtime, clock, stop } = setUp();
    const words = [
      'NetworkPluginNotReady',
      'Network plugin returns error: cni plugin not initialized',
    ] as const;
    runtime.conditions = [RUNTIME_READY, condition('NetworkReady', false, ...words)];
    await clock.settle();
    expect(state.errors()).toEqual([]);
    expect(state.networkErrors()).toEqual([
      `container runtime network not ready: NetworkReady=false reason:${words[0]} message:${words[1]}`,
    ]);
    await stop();
  });

  it('says no more of it than an API server takes', async () => {
    const { state, runtime, clock, stop } = setUp();
    const long = 'x'.repeat(2 * 1024 * 1024);
    runtime.conditions = ['RuntimeReady', 'NetworkReady'].map((type) => condition(type, false, 'Odd', long));
    await clock.settle();
    for (const errors of [state.runtimeErrors(), state.networkErrors()]) {
      const error = errors.at(-1) ?? '';
      expect(error).toMatch(/ message:x+… \(cut, 2097152 bytes in all\)$/);
      expect(Buffer.byteLength(error)).toBeLessThan(33 * 1024);
    }
    await stop();
  });

  it('takes a condition that is missing for one that does not hold', async () => {
    const { state, runtime, clock, stop } = setUp();
    runtime.conditions = [];
    await clock.settle();
    expect(state.errors()).toEqual([
      'container runtime status check may not have completed yet',
      'container runtime not ready: the runtime did not return RuntimeReady',
    ]);
    expect(state.networkErrors()).toHaveLength(1);
    await stop();
  });

  it('gives up a call that hangs, and says after half a minute that the runtime is down', async () => {
    const { state, gate, clock, runtime, logger, stop } = setUp();
    await clock.settle();
    const letGo = gate.hang();
    await clock.advance(29_000);
    expect(state.errors()).toEqual([]);
    expect(runtime.calls).toBeGreaterThan(2);
    expect(logger.complaints[0]).toMatchObject({
      message: 'Container runtime sanity check failed',
      fields: { err: { code: 'CRI_DEADLINE_EXCEEDED' } },
    });
    await clock.advance(1_000);
    expect(state.errors()).toEqual(['container runtime is down']);
    letGo();
    await clock.advance(10_000);
    expect(state.errors()).toEqual([]);
    await stop();
  });

  it('is asked again soon while the runtime does not answer', async () => {
    const { state, gate, clock, runtime, stop } = setUp({
      prepare: (door) => door.fail(new Error('connection refused')),
    });
    await clock.advance(500);
    expect(runtime.calls).toBe(2);
    gate.fail(undefined);
    await clock.advance(1_000);
    expect(state.errors()).toEqual([]);
    await stop();
  });

  it('does not notice that the clock on the wall jumps', async () => {
    const { state, clock, stop } = setUp();
    await clock.settle();
    clock.jumpWallClock(3_600_000);
    expect(state.errors()).toEqual([]);
    await stop();
  });

  it('asks each health check when somebody wants to know', async () => {
    let problem: string | undefined = 'pleg has yet to be successful';
    const { state, clock, stop } = setUp({
      healthChecks: [{ name: 'PLEG', findProblem: () => problem }],
    });
    expect(formatErrors(state.errors())).toBe(
      '[container runtime status check may not have completed yet, PLEG is not healthy: pleg has yet to be successful]',
    );
    await clock.settle();
    expect(formatErrors(state.errors())).toBe('PLEG is not healthy: pleg has yet to be successful');
    problem = undefined;
    expect(state.errors()).toEqual([]);
    await stop();
  });
});
