import { expect, it } from 'vitest';
import { type cri } from '../../../src/watch/cri/index.js';
import {
  CONTAINER_CREATED,
  CONTAINER_EXITED,
  CONTAINER_RUNNING,
  SANDBOX_NOTREADY,
  SANDBOX_READY,
} from '../embedded-node.js';
import { type ContainerHistory, type PodHistory } from './churn-history.js';
import { findContradictions } from './history-check.js';

function pod(more: Partial<PodHistory> = {}, container: Partial<ContainerHistory> = {}): PodHistory {
  const made: ContainerHistory = {
    name: 'c',
    program: { exitsWith: 7 },
    id: 'C',
    started: 'yes',
    stopped: 'no',
    removed: 'no',
    end: undefined,
    ...container,
  };
  return { name: 'p', id: 'P', stopped: 'no', removed: 'no', containers: [made], ...more };
}

interface Answer {
  readonly ready?: boolean;
  readonly state?: cri.ContainerState;
  readonly exitCode?: number;
  readonly runs?: number;
  readonly noPod?: boolean;
  readonly noContainer?: boolean;
}

function check(history: PodHistory, answer: Answer = {}): string[] {
  const { ready = true, state = CONTAINER_EXITED, exitCode = 7, runs = 1 } = answer;
  const status = { id: 'C', metadata: { name: 'c' }, state, exitCode, finishedAt: 5n };
  const item = { id: 'P', metadata: { name: 'p' }, state: ready ? SANDBOX_READY : SANDBOX_NOTREADY };
  return findContradictions([history], {
    pods: answer.noPod === true ? [] : [item as cri.PodSandbox],
    containers: new Map(answer.noContainer === true ? [] : [['C', status as cri.ContainerStatus]]),
    runs: new Map([['c', runs]]),
  });
}

it.each<[string, PodHistory, Answer]>([
  ['what was asked and answered', pod(), {}],
  ['a pod whose removal may have been done', pod({ removed: 'perhaps' }), { noPod: true, noContainer: true }],
  [
    'a creation that was never answered',
    pod({}, { id: undefined, started: 'no' }),
    { state: CONTAINER_CREATED, runs: 0 },
  ],
  [
    'a creation that was never done',
    pod({}, { id: undefined, started: 'no' }),
    { noContainer: true, runs: 0 },
  ],
  ['a start that was never done', pod({}, { started: 'perhaps' }), { state: CONTAINER_CREATED, runs: 0 }],
  ['a stop that may have been done', pod({}, { stopped: 'perhaps', program: 'runsOn' }), { exitCode: 137 }],
  ['a program that runs on', pod({}, { program: 'runsOn' }), { state: CONTAINER_RUNNING }],
])('accepts %s', (_, history, answer) => {
  expect(check(history, answer)).toEqual([]);
});

it.each<[string, PodHistory, Answer]>([
  ['pod p is gone', pod(), { noPod: true, noContainer: true }],
  ['pod p is not ready', pod(), { ready: false }],
  ['pod p was stopped and is ready', pod({ stopped: 'yes' }), {}],
  ['pod p was removed and is back', pod({ removed: 'yes' }), {}],
  ['container c of p is gone', pod(), { noContainer: true }],
  ['container c of p was removed and is back', pod({}, { removed: 'yes' }), {}],
  ['container c of p ran more than once', pod(), { runs: 2 }],
  ['container c of p was started and is only created', pod(), { state: CONTAINER_CREATED }],
  ['container c of p ran and is only created', pod({}, { started: 'perhaps' }), { state: CONTAINER_CREATED }],
  ['container c of p runs and was never started', pod({}, { started: 'no' }), { state: CONTAINER_RUNNING }],
  ['container c of p has ended and was never started', pod({}, { started: 'no' }), {}],
  ['container c of p ended with 9 and not with 7', pod(), { exitCode: 9 }],
  ['container c of p runs although its program ends', pod(), { state: CONTAINER_RUNNING }],
  ['container c of p was stopped and runs', pod({}, { stopped: 'yes' }), { state: CONTAINER_RUNNING }],
  [
    'container c of p ended with 137 although nobody stopped it',
    pod({}, { program: 'runsOn' }),
    { exitCode: 137 },
  ],
])('says: %s', (sentence, history, answer) => {
  expect(check(history, answer)).toContain(sentence);
});

it('says when an end that was told is told otherwise', () => {
  const history = pod({}, { stopped: 'yes' });
  expect(check(history)).toEqual([]);
  expect(check(history, { exitCode: 137 })).toEqual(['container c of p ended with 7 at 5, now 137 at 5']);
  expect(check(history, { state: CONTAINER_RUNNING })).toEqual(['container c of p had ended and runs again']);
});

it('says when something is there that nobody asked for', () => {
  expect(check(pod({ containers: [] }))).toEqual(['C is there and was never asked for']);
});
