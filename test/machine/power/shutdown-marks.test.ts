import { describe, expect, it } from 'vitest';
import { CRITICAL, findShutdownFaults, ORDINARY, parseMarks, startedPods } from './shutdown-marks.js';

const BOOT = '3f2a11cc';
const marksOf = (...lines: readonly string[]) =>
  parseMarks(lines.map((line) => `${BOOT} ${line}\n`).join(''), BOOT);
const PODS = [...ORDINARY, CRITICAL];
const STARTS = PODS.map((pod) => `${pod} start`);
const endsOf = (...pods: readonly string[]): string[] => [
  ...pods.map((pod) => `${pod} term`),
  ...pods.map((pod) => `${pod} end`),
];
const WHOLE = [...STARTS, ...endsOf(...ORDINARY), ...endsOf(CRITICAL)];

describe('the marks of a shutdown', () => {
  it('are those of one boot, without a line that was broken off', () => {
    const text = `00000000 web-0 start\n${BOOT} web-0 start\n${BOOT} web-1 sta`;
    expect([...startedPods(parseMarks(text, BOOT))]).toEqual(['web-0']);
  });

  it('are right where all end in their order, or are cut off anywhere after the first was asked to', () => {
    expect(findShutdownFaults(marksOf(...WHOLE), 'whole')).toEqual([]);
    for (let length = STARTS.length + 1; length <= WHOLE.length; length++)
      expect(findShutdownFaults(marksOf(...WHOLE.slice(0, length)), 'cut')).toEqual([]);
  });

  it.each<[string, string[], string]>([
    ['is cut off', WHOLE.slice(0, -1), 'critical did not get the time to end'],
    ['asks nobody', STARTS, 'nobody was asked to end'],
    ['starts a pod', [...WHOLE, 'web-0 start'], 'web-0 has started during the shutdown'],
    ['starts a pod twice', [STARTS[0]!, ...WHOLE], 'web-0 has started 2 times'],
    ['ends a pod twice', [...WHOLE, 'web-1 term'], 'web-1 was asked to end 2 times'],
    [
      'ends the critical pod with the others',
      [...STARTS, ...endsOf(...PODS)],
      'web-2 had not ended before critical was asked to',
    ],
  ])('are wrong where it %s', (_what, lines, fault) => {
    expect(findShutdownFaults(marksOf(...lines), 'whole')).toContain(fault);
  });
});
