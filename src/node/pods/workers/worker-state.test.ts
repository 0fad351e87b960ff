import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { WORKER_EDGES, type WorkerPhase, WorkerState, workTypeOf } from './worker-state.js';

const PHASES = Object.keys(WORKER_EDGES) as WorkerPhase[];

/** A state that has been led to `phase` by the shortest way. */
function stateIn(phase: WorkerPhase): WorkerState {
  const state = new WorkerState({ uid: 'uid-web', clock: new FakeClock(), logger: SILENT_LOGGER });
  const ways: Record<WorkerPhase, WorkerPhase[]> = {
    waiting: [],
    syncing: ['syncing'],
    stopping: ['stopping'],
    terminating: ['syncing', 'terminating'],
    terminated: ['syncing', 'terminating', 'terminated'],
    finished: ['syncing', 'terminating', 'finished'],
  };
  for (const step of ways[phase]) expect(state.transition(PHASES, step)).toBe(true);
  return state;
}

describe("a pod worker's state", () => {
  it.each(PHASES.flatMap((from) => PHASES.map((to) => [from, to] as const)))(
    'goes from %s to %s only along an edge',
    (from, to) => {
      const state = stateIn(from);
      const isEdge = WORKER_EDGES[from].includes(to);
      expect(state.transition(PHASES, to)).toBe(isEdge);
      expect(state.phase).toBe(isEdge ? to : from);
    },
  );

  it('stays when the phase is none of those that the caller meant', () => {
    const state = stateIn('syncing');
    expect(state.transition(['waiting'], 'stopping')).toBe(false);
    expect(state.phase).toBe('syncing');
  });

  it('has no way back, and no phase that leads nowhere but the last', () => {
    for (const [index, phase] of PHASES.entries()) {
      for (const next of WORKER_EDGES[phase]) expect(PHASES.indexOf(next)).toBeGreaterThan(index);
      expect(WORKER_EDGES[phase].length > 0).toBe(phase !== 'finished');
    }
  });

  it.each([
    ['waiting', 'SyncPod', [false, false, false, false, false]],
    ['syncing', 'SyncPod', [true, false, false, false, false]],
    ['stopping', 'TerminatingPod', [false, true, false, false, false]],
    ['terminating', 'TerminatingPod', [true, true, true, false, false]],
    ['terminated', 'TerminatedPod', [true, true, true, true, false]],
    ['finished', 'TerminatedPod', [true, true, true, true, true]],
  ] as const)('%s asks for %s', (phase, workType, answers) => {
    const state = stateIn(phase);
    expect(workTypeOf(phase)).toBe(workType);
    expect([
      ...[state.isStarted, state.isTerminationRequested, state.isTerminationStarted],
      ...[state.isTerminated, state.isFinished],
    ]).toEqual(answers);
  });

  it('knows when it entered each phase', async () => {
    const clock = new FakeClock();
    const state = new WorkerState({ uid: 'uid-web', clock, logger: SILENT_LOGGER });
    const startMs = clock.monotonicMs();
    await clock.advance(500);
    state.transition(['waiting'], 'syncing');
    expect(state.enteredAtMs('waiting')).toBe(startMs);
    expect(state.enteredAtMs('syncing')).toBe(startMs + 500);
    expect(state.enteredAtMs('stopping')).toBeUndefined();
  });
});
