import { expect, it } from 'vitest';
import { judgeLatency } from './judge-latency.js';
import { toLatencyFigures } from './latency-figures.js';
import { type DeathSample } from './latency-turn.js';

const PLAN = { pods: 2, everyMs: 500 };

function death(ms: number, more: Partial<DeathSample> = {}): DeathSample {
  const parts = { totalMs: ms, ownMs: 1, eventMs: ms - 1, callsMs: 0 };
  return { told: parts, replaced: parts, times: 1, bareMs: 10, ...more };
}

function goalsOf(evented: readonly DeathSample[], turns: number, aloneTurns: number) {
  const of = (deaths: readonly DeathSample[], count = turns) =>
    Array.from({ length: count }, () => [...deaths]);
  const modes = { generic: of([death(500), death(700)]), evented: of(evented), auto: [] };
  const alone = of([death(500, { bareMs: 5 })], aloneTurns);
  return judgeLatency(toLatencyFigures('2.1', '2.1.0', PLAN, { modes, alone }));
}

/** Without what is held against ends one at a time, of which there are none. */
function judge(evented: readonly DeathSample[], turns = 4) {
  const goals = goalsOf(evented, turns, 0).filter(({ goal }) => !goal.includes('one at a time'));
  return Object.fromEntries(goals.map(({ what, met }) => [what.replace(', containerd 2.1', ''), met]));
}

it('judges how soon an event comes, and that each comes once', () => {
  expect(judge([death(20), death(25)])).toEqual({
    'p99 from end to event, evented': true,
    'ends never told of or never replaced, generic': true,
    'ends told of more than once, generic': true,
    'ends never told of or never replaced, evented': true,
    'ends told of more than once, evented': true,
  });
  expect(judge([death(20), death(9_000)])).toMatchObject({ 'p99 from end to event, evented': false });
});

it('does not pass over an end that was missed or told of twice', () => {
  expect(judge([death(20), death(20, { told: undefined })])).toMatchObject({
    'p99 from end to event, evented': false,
    'ends never told of or never replaced, evented': false,
  });
  expect(judge([death(20), death(20, { replaced: undefined })])).toMatchObject({
    'p99 from end to event, evented': true,
    'ends never told of or never replaced, evented': false,
  });
  expect(judge([death(20), death(20, { times: 2 })])).toMatchObject({
    'ends told of more than once, evented': false,
  });
});

it('holds an event against the bare calls where nothing else happened, too', () => {
  const toAlone = (ms: number, turns: number) =>
    goalsOf([death(ms)], 4, turns).find(({ goal }) => goal.includes('one at a time'));
  expect(toAlone(15, 4)).toMatchObject({ what: 'p99 from end to event, evented, containerd 2.1', met: true });
  // Within three times what the bare calls take at the same pace.
  expect(toAlone(20, 4)).toMatchObject({ met: false });
  expect(toAlone(15, 1)).toMatchObject({ met: undefined, unjudged: '1 turn' });
  expect(toAlone(15, 0)).toMatchObject({ met: undefined, unjudged: '0 turns' });
});

it('judges no ratio of too few turns, and none to an observer that saw too little', () => {
  expect(judge([death(20)], 3)).toMatchObject({ 'p99 from end to event, evented': undefined });
  const blind = [[death(500, { bareMs: undefined })]];
  const modes = { generic: blind, evented: [[death(20)], [death(20)], [death(20)], [death(20)]], auto: [] };
  const [first] = judgeLatency(toLatencyFigures('2.1', '2.1.0', PLAN, { modes, alone: [] }));
  expect(first?.met).toBeUndefined();
});
