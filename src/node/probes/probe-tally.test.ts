import { describe, expect, it } from 'vitest';
import { countOutcome, EMPTY_TALLY, probeTiming } from './probe-tally.js';
import { isVoid } from './probe-validity.js';
import { errored, failed, silent, succeeded, succeededWithWarning } from './probe-outcome.js';

/** `+` success, `-` failure; gives the verdicts, `.` for none. */
function play(outcomes: string, successThreshold: number, failureThreshold: number): string {
  let tally = EMPTY_TALLY;
  let verdicts = '';
  for (const outcome of outcomes) {
    const counted = countOutcome(tally, outcome === '+' ? 'success' : 'failure', {
      successThreshold,
      failureThreshold,
    });
    tally = counted.tally;
    verdicts += counted.verdict === undefined ? '.' : counted.verdict === 'success' ? '+' : '-';
  }
  return verdicts;
}

describe('counting outcomes', () => {
  it.each([
    ['+-+-', 1, 1, '+-+-'],
    ['---', 1, 3, '..-'],
    ['--+---', 1, 3, '..+..-'],
    ['-----', 1, 3, '..---'],
    ['+++', 3, 1, '..+'],
    ['++-+++', 3, 1, '..-..+'],
    ['-+-+-+', 2, 2, '......'],
  ])('of %s with thresholds %i and %i gives %s', (outcomes, success, failure, verdicts) => {
    expect(play(outcomes, success, failure)).toBe(verdicts);
  });
});

describe('the numbers of a probe', () => {
  it('have the defaults of Kubernetes', () => {
    expect(probeTiming({})).toEqual({
      initialDelayMs: 0,
      periodMs: 10_000,
      timeoutMs: 1_000,
      successThreshold: 1,
      failureThreshold: 3,
    });
    expect(probeTiming({ periodSeconds: 0, timeoutSeconds: 0, failureThreshold: 0 })).toEqual(
      probeTiming({}),
    );
  });
});

describe('an outcome that overlapped a stall', () => {
  const long = { totalMs: 3_000, longestMs: 3_000 };

  it.each([
    ['silence', silent(''), true],
    ['what the other side said', failed(''), false],
    ['success', succeeded(''), false],
    ['success with a warning', succeededWithWarning(''), false],
    // It counts neither way in any case.
    ['a probe that could not be run', errored(''), false],
  ])('of %s', (_, outcome, voided) => {
    expect(isVoid(outcome, long, 1_000)).toBe(voided);
  });

  it.each([
    [0, 0, false],
    [99, 99, false],
    [100, 100, true],
    [90, 499, false],
    [90, 500, true],
  ])('of at most %i ms and %i ms in all, with a timeout of a second', (longestMs, totalMs, voided) => {
    expect(isVoid(silent(''), { longestMs, totalMs }, 1_000)).toBe(voided);
  });
});
