import { describe, expect, it } from 'vitest';
import { aContainerStatus, aContainer, aPod, aPodStatus } from '#testing/builders.js';
import { type ObservedState, type PodStatus } from '../observed/runtime.js';
import { runningContainerCondition, WatchConditions } from './watch-conditions.js';

const always = (): boolean => true;
const never = (): boolean => false;

describe('watched conditions', () => {
  it('have a version that each `set` raises, for each key of each pod', () => {
    const conditions = new WatchConditions();
    conditions.set('a', 'k', always);
    conditions.set('a', 'k', never);
    conditions.set('a', 'other', never);
    conditions.set('b', 'k', never);
    expect([conditions.version('a', 'k'), conditions.version('a', 'other')]).toEqual([1, 0]);
    expect([conditions.version('b', 'k'), conditions.version('b', 'none')]).toEqual([0, undefined]);
    expect([...conditions.uids()]).toEqual(['a', 'b']);
    expect(conditions.snapshot('a').map(({ key, condition }) => [key, condition])).toEqual([
      ['k', never],
      ['other', never],
    ]);
  });

  it('are removed when they are complete, unless they were replaced meanwhile', () => {
    const conditions = new WatchConditions();
    conditions.set('a', 'k', always);
    const [old] = conditions.snapshot('a');
    conditions.set('a', 'k', never);
    expect(conditions.complete('a', old!)).toBe(false);
    const [newer] = conditions.snapshot('a');
    expect(conditions.complete('a', newer!)).toBe(true);
    expect(conditions.complete('a', newer!)).toBe(false);
    expect([conditions.has('a'), [...conditions.uids()]]).toEqual([false, []]);
  });

  it('that are met are completed; one that throws or was replaced meanwhile is not', () => {
    const conditions = new WatchConditions();
    const refuse = (): boolean => {
      throw new Error('no');
    };
    for (const [key, condition] of Object.entries({ always, never, refuse, replaced: always })) {
      conditions.set('a', key, condition);
    }
    const watched = conditions.snapshot('a');
    conditions.set('a', 'replaced', never);
    const thrown: string[] = [];
    const onThrow = (key: string, error: unknown): void => void thrown.push(`${key}: ${String(error)}`);
    expect(conditions.completeMet('a', watched, aPodStatus(aPod()), onThrow)).toEqual(['always']);
    expect(thrown).toEqual(['refuse: Error: no']);
    expect(conditions.snapshot('a').map(({ key }) => key)).toEqual(['never', 'refuse', 'replaced']);
  });

  it('are forgotten with their pod', () => {
    const conditions = new WatchConditions();
    conditions.set('a', 'k', never);
    conditions.forget('a');
    expect([conditions.has('a'), conditions.snapshot('a'), conditions.version('a', 'k')]).toEqual([
      false,
      [],
      undefined,
    ]);
  });
});

describe('a condition on a running container', () => {
  const statusWith = (...states: ObservedState[]): PodStatus =>
    aPodStatus(aPod(), {
      containers: states.map((state, attempt) =>
        aContainerStatus(aContainer({ name: 'c', attempt, state }), { restartCount: attempt }),
      ),
    });

  it.each([
    ['running', true, true],
    ['running', false, false],
    ['exited', true, true],
    ['exited', false, true],
    [undefined, true, true],
    [undefined, false, true],
  ] as const)('%s whose predicate says %s: %s', (state, says, met) => {
    const status = state === undefined ? statusWith() : statusWith(state);
    expect(runningContainerCondition('c', () => says)(status)).toBe(met);
  });

  it('concerns the newest container of that name, in any order of the list', () => {
    const asked: number[] = [];
    const condition = runningContainerCondition('c', ({ attempt }) => {
      asked.push(attempt);
      return false;
    });
    const status = statusWith('exited', 'exited', 'running');
    expect(condition(status)).toBe(false);
    expect(condition({ ...status, containers: [...status.containers].reverse() })).toBe(false);
    expect(asked).toEqual([2, 2]);
    expect(runningContainerCondition('another', never)(status)).toBe(true);
  });
});
