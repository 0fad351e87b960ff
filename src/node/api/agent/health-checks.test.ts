import { describe, expect, it } from 'vitest';
import { buildHealthChecks } from './health-checks.js';

const HOUR = 3_600_000;

function problems(
  state: { lastActiveAgoMs?: number; errors?: string[]; pleg?: string; runtime?: string[]; log?: string },
  endpoint: 'healthz' | 'livez' | 'readyz' = 'healthz',
): Record<string, string> {
  const { lastActiveAgoMs, errors = [], pleg, runtime = [], log } = state;
  const loop = {
    ...{ lastActiveAgoMs, errors, podsWithEvents: 0, foldedEvents: 0, longestSliceMs: 0 },
    ...{ podsWithEarlyEvents: 0, foldedEarlyEvents: 0 },
  };
  const health = {
    ...{ healthy: pleg === undefined, message: pleg, reason: undefined, thresholdMs: 1, lastSeenAtMs: 1 },
    ...{ listInFlightMs: undefined, stuckPods: [], stuckPodCount: 0 },
  };
  const checks = buildHealthChecks({
    options: { syncFrequencyMs: 60_000 },
    parts: {
      pleg: { health: () => health },
      runtimeState: { runtimeErrors: () => runtime },
      loop: { state: () => loop },
    },
    findLogProblem: () => log,
  });
  return Object.fromEntries(
    checks[endpoint].flatMap(({ name, findProblem }) => {
      const problem = findProblem();
      return problem === undefined ? [] : [[name, problem]];
    }),
  );
}

describe("the agent's health", () => {
  it('is good when nothing is wrong, also before the loop has turned once', () => {
    expect(problems({})).toEqual({});
    expect(problems({ lastActiveAgoMs: 299_000 })).toEqual({});
  });

  it('says since when the sync loop hangs, and does not blame it for a runtime that is away', () => {
    expect(problems({ lastActiveAgoMs: HOUR })).toEqual({
      syncloop: 'sync Loop took longer than expected: last seen active 1h0m0s ago; threshold is 5m0s',
    });
    expect(
      problems({ lastActiveAgoMs: HOUR, errors: ['x'], runtime: ['container runtime is down'] }),
    ).toEqual({
      runtime: 'container runtime is down',
    });
  });

  it('distinguishes what a restart of the agent may fix from what it cannot', () => {
    const state = { pleg: 'pleg has yet to be successful', runtime: ['a', 'b'], log: 'nobody reads it' };
    expect(problems(state, 'livez')).toEqual({ log: 'nobody reads it' });
    expect(problems(state, 'readyz')).toEqual({
      ...{ pleg: 'pleg has yet to be successful', runtime: 'a; b', log: 'nobody reads it' },
    });
  });
});
