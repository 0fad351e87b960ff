import { describe, expect, it } from 'vitest';
import {
  type AgentName,
  computePodStates,
  findFaults,
  findUnsettled,
  type FoundAgent,
  type LedgerLine,
  parseLedger,
} from './ledger.js';

const begin = (n: number, act: 'apply' | 'delete', pod: string, version?: number): LedgerLine => ({
  ...{ op: 'begin', n, agent: 'box', act, pod },
  ...(version === undefined ? {} : { version }),
});
const done = (n: number): LedgerLine => ({ op: 'done', n });
const nothing: FoundAgent = {
  ...{ pods: [], processes: {}, runs: {}, historyFaults: [], warningIds: [], unreadable: [] },
};
const running = (name: string, version: number) => ({ name, version, phase: 'Running', isReady: true });
const statesOf = (ledger: readonly LedgerLine[], agent: AgentName = 'box') =>
  [...computePodStates(ledger, agent)].map(([pod, { states }]) => [pod, [...states]]);

describe('parseLedger', () => {
  it('leaves out a last line that was cut off', () => {
    expect(parseLedger('{"op":"done","n":1}\n{"op":"done","n":2}\n{"op":"do')).toEqual([done(1), done(2)]);
  });
});

describe('computePodStates', () => {
  it.each<[string, LedgerLine[], unknown[]]>([
    ['a confirmed pod has one state', [begin(1, 'apply', 'a', 1), done(1)], [['a', [1]]]],
    [
      'a pod whose first manifest was under way may be there',
      [begin(1, 'apply', 'a', 1)],
      [['a', ['never', 1]]],
    ],
    [
      'an edit under way leaves two versions',
      [begin(1, 'apply', 'a', 1), done(1), begin(2, 'apply', 'a', 2)],
      [['a', [1, 2]]],
    ],
    [
      'a confirmed delete is the only state',
      [begin(1, 'apply', 'a', 1), begin(2, 'delete', 'a'), done(2)],
      [['a', ['deleted']]],
    ],
  ])('%s', (_what, ledger, expected) => {
    expect(statesOf(ledger)).toEqual(expected);
  });

  it('keeps agents apart', () => {
    expect(statesOf([begin(1, 'apply', 'a', 1)], 'containerd')).toEqual([]);
  });
});

describe('findUnsettled', () => {
  const ledger = [begin(1, 'apply', 'a', 3), done(1), begin(2, 'apply', 'once-1', 1), done(2)];
  const once = { ...running('once-1', 1), phase: 'Succeeded', isReady: false };

  it('is content with pods that run once each, and with those that have succeeded', () => {
    const found = { ...nothing, pods: [running('a', 3), once], processes: { a: 1 } };
    expect(findUnsettled(ledger, 'box', found)).toEqual([]);
  });

  it.each<[string, Partial<FoundAgent>, string]>([
    ['a pod that is gone', { pods: [once] }, 'a is gone'],
    ['an old version', { pods: [running('a', 2), once] }, 'a is there with version 2, not 3'],
    ['a pod without a process', { pods: [running('a', 3), once] }, 'a has 0 processes'],
    [
      'a pod that is not ready',
      { pods: [{ ...running('a', 3), isReady: false }, once] },
      'a is Running, not ready',
    ],
    [
      'a pod that has to run once more',
      { pods: [running('a', 3), { ...once, phase: 'Running' }], processes: { a: 1 } },
      'once-1 is Running, not Succeeded',
    ],
  ])('names %s', (_what, found, problem) => {
    expect(findUnsettled(ledger, 'box', { ...nothing, ...found })).toEqual([problem]);
  });

  it('names a deleted pod that is back', () => {
    const deleted = [...ledger.slice(0, 2), begin(3, 'delete', 'a'), done(3)];
    expect(findUnsettled(deleted, 'box', { ...nothing, pods: [running('a', 3)] })).toEqual([
      'a is there with version 3, not deleted',
    ]);
    expect(findUnsettled(deleted, 'box', nothing)).toEqual([]);
  });
});

describe('findFaults', () => {
  it.each<[string, LedgerLine[], Partial<FoundAgent>, string[]]>([
    ['nothing where nothing is wrong', [], { processes: { a: 1 } }, []],
    ['a pod that runs twice', [], { processes: { a: 2 } }, ['a runs 2 times at once']],
    ['a damaged history', [], { historyFaults: ['HistoryDamaged'] }, ['the history says HistoryDamaged']],
    [
      'an unreadable record',
      [],
      { unreadable: ['Record of an image'] },
      ['the log says: Record of an image'],
    ],
    [
      'a lost warning',
      [{ op: 'warning', agent: 'box', id: '7' }],
      { warningIds: ['8'] },
      ['the warning 7 is lost'],
    ],
    ['no warning of another agent', [{ op: 'warning', agent: 'containerd', id: '7' }], {}, []],
    [
      'a pod that succeeded and was run again',
      [{ op: 'ended', agent: 'box', pod: 'once-1' }],
      { runs: { 'once-1': 2 } },
      ['once-1 had succeeded and has begun 2 times'],
    ],
  ])('names %s', (_what, ledger, found, faults) => {
    expect(findFaults(ledger, 'box', { ...nothing, ...found })).toEqual(faults);
  });
});
