import { describe, expect, it } from 'vitest';
import { judgeFailure, parseLiveReport, parseVitestReport, unreportedResult } from './machine-result.js';

const report = (...assertionResults: object[]): string =>
  JSON.stringify({ testResults: [{ status: 'failed', message: 'of the file', assertionResults }] });

describe('a report of vitest', () => {
  it('has one result for each test that ran', () => {
    const text = report(
      { fullName: 'a passes', status: 'passed', duration: 1_234.5, failureMessages: [] },
      { fullName: 'b fails', status: 'failed', duration: 20, failureMessages: ['expected 1 to be 2'] },
      { fullName: 'c is skipped', status: 'skipped' },
    );
    expect(parseVitestReport(text)).toEqual([
      { title: 'a passes', verdict: 'passed', seconds: 1.2 },
      { title: 'b fails', verdict: 'failed', seconds: 0, reason: 'expected 1 to be 2' },
    ]);
  });

  it('of a file that could not even be read has one result for the file', () => {
    const file = { status: 'failed', message: 'SyntaxError: no', assertionResults: [] };
    expect(parseVitestReport(JSON.stringify({ testResults: [file] }))).toEqual([
      { title: 'the set-up of the file', verdict: 'failed', seconds: 0, reason: 'SyntaxError: no' },
    ]);
  });

  it('of a file whose hooks failed and whose tests did not says what vitest wrote about them', () => {
    const skipped = { fullName: 'a', status: 'skipped' };
    const passed = { fullName: 'b', status: 'passed', duration: 100 };
    for (const assertionResults of [[skipped], [passed, skipped]]) {
      const text = JSON.stringify({ testResults: [{ status: 'failed', message: '', assertionResults }] });
      const output = 'words\n⎯ Failed Suites 1 ⎯\n\nError: Hook timed out in 5ms.\n';
      const setUp = parseVitestReport(text, output).find(({ title }) => title === 'the set-up of the file');
      expect(setUp).toMatchObject({ verdict: 'not judged', reason: 'Error: Hook timed out in 5ms.' });
    }
  });

  it('of a file whose hooks failed says the first error, where vitest heads it otherwise', () => {
    const file = { status: 'failed', message: '', assertionResults: [{ fullName: 'a', status: 'skipped' }] };
    const output = `FAIL a\nTypeError: none\n at b\n${'-'.repeat(500)}\n Tests  1 skipped`;
    expect(parseVitestReport(JSON.stringify({ testResults: [file] }), output)[0]!.reason).toMatch(
      /^TypeError: none\n at b\n-/,
    );
  });

  it('without any file has one result for the whole suite, so that nothing is lost', () => {
    const output = 'Error: [vitest-pool-runner]: Timeout waiting for worker to respond';
    expect(parseVitestReport(JSON.stringify({ testResults: [] }), output)).toEqual([
      { title: 'the whole suite', verdict: 'not judged', seconds: 0, reason: output },
    ]);
    expect(parseVitestReport(JSON.stringify({ testResults: [] }), 'no such file')[0]?.verdict).toBe('failed');
  });

  it('says of a test without a word of its own what the file says', () => {
    const text = report({ fullName: 'a', status: 'failed', failureMessages: [] });
    expect(parseVitestReport(text)[0]).toMatchObject({ verdict: 'failed', reason: 'of the file' });
  });
});

it('a suite that was cut off keeps the results of the tests that were over', () => {
  const lines = [
    { fullName: 'a passes', status: 'passed', duration: 2_000 },
    { fullName: 'b fails', status: 'failed', duration: 100, failureMessages: ['expected 1 to be 2'] },
  ].map((line) => `${JSON.stringify(line)}\n`);
  expect(parseLiveReport(`${lines.join('')}{"fullName":"c`)).toEqual([
    { title: 'a passes', verdict: 'passed', seconds: 2 },
    { title: 'b fails', verdict: 'failed', seconds: 0.1, reason: 'expected 1 to be 2' },
  ]);
  expect(parseLiveReport('')).toEqual([]);
});

describe('a failure', () => {
  it.each([
    'Error: Test timed out in 900000ms.\nIf this is a long-running test',
    'Error: Hook timed out in 60000ms.',
    'Error: in vain waited for () => count > 0',
    'Error: waited in vain for a line on stdout that matches /ready/',
    'AssertionError: : expected [ …(1) ] to deeply equal []\n+ "in vain expected: phase=Running"',
    'TimeoutError: The operation was aborted due to timeout',
  ])('of a time limit is not judged: %j', (message) => {
    expect(judgeFailure([message]).verdict).toBe('not judged');
  });

  it('is a failure as soon as one message is about something else', () => {
    expect(judgeFailure(['Error: Test timed out in 5ms.', 'expected 1 to be 2']).verdict).toBe('failed');
    expect(judgeFailure([]).verdict).toBe('failed');
  });

  it('is quoted without colours and not at length', () => {
    const { reason } = judgeFailure([`\u001b[31mred\u001b[39m ${'x'.repeat(5_000)}`]);
    expect(reason).toMatch(/^red x+$/);
    expect(reason!.length).toBeLessThan(500);
  });
});

it('a suite that was cut off is not judged, one that ended without a report has failed', () => {
  const output = 'one\ntwo';
  expect(unreportedResult({ timedOut: true, code: 124, output }).verdict).toBe('not judged');
  const died = unreportedResult({ timedOut: false, code: 132, output });
  expect(died).toMatchObject({ verdict: 'failed', reason: expect.stringContaining('132') as string });
});
