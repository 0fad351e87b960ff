import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import { type TestResult } from '../machine-result.js';
import { enterScript, summarize } from './run-userland.js';

const RESULTS: TestResult[] = [
  { title: 'a', verdict: 'passed', seconds: 1 },
  { title: 'b', verdict: 'failed', seconds: 2, reason: 'no' },
  { title: 'c', verdict: 'not judged', seconds: 3, reason: 'Test timed out in 5000ms' },
  { title: 'd', verdict: 'passed', seconds: 4 },
];

it('passed tests are counted, and a time-out is a failure where nothing is emulated', () => {
  expect(summarize(RESULTS, 60)).toEqual([
    { title: 'b', verdict: 'failed', seconds: 2, reason: 'no' },
    { title: 'c', verdict: 'failed', seconds: 3, reason: 'Test timed out in 5000ms' },
    { title: '2 tests of npm test', verdict: 'passed', seconds: 60 },
  ]);
});

it.each(['root', 'ordinary'] as const)(
  'the script for %s is one of bash, whatever is in its words',
  (user) => {
    const script = enterScript(`/tmp/a 'b' "c" $d`, user, `echo 'it' "is" $HOME; false || true`);
    execFileSync('bash', ['-n', '-c', script]);
    // What bash would run, with a program in the place of the first one that prints its words.
    const words = execFileSync('bash', ['-c', script.replace('exec unshare', `printf '%s\\0'`)], {
      encoding: 'utf8',
    });
    const [inside, ...rest] = words.split('\0').slice(words.split('\0').indexOf('-c') + 1);
    expect(rest.slice(0, 2)).toEqual(['bash', `/tmp/a 'b' "c" $d`]);
    execFileSync('bash', ['-n', '-c', inside!]);
    expect(inside).toContain(user === 'root' ? 'HOME=/root' : 'setpriv --reuid=ordinary');
  },
);
