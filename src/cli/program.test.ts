import { PassThrough, Writable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { type CliHost } from './cli-host.js';
import { LineOutput } from './line-output.js';
import { runProgram } from './program.js';

/** Runs podloop with a standard output whose writes all end with `failure`, if there is one. */
async function run(args: readonly string[], failure?: Error): Promise<{ code: number; stderr: string }> {
  const stdout = new Writable({ write: (_chunk, _encoding, callback) => callback(failure) });
  const stderr = new PassThrough();
  const host: CliHost = {
    ...{ env: {}, pid: 1, clock: new FakeClock(), selfCommand: ['podloop'], stdin: new PassThrough() },
    ...{ stdout: new LineOutput(stdout), stderr: new LineOutput(stderr) },
    listenForInterrupts: () => new AbortController().signal,
    onUserSignal: () => () => undefined,
  };
  const code = await runProgram(args, host);
  stderr.end();
  return { code, stderr: await text(stderr) };
}

const ONLY_PRINTED = [
  ...[[], ['--help'], ['--version'], ['get', '--help'], ['completion', 'bash']],
  ['incident', 'show', '--help'],
];

it.each(ONLY_PRINTED)('what podloop only prints ends with 0 when it was written: %s %s', async (...args) => {
  expect(await run(args)).toEqual({ code: 0, stderr: '' });
});

it.each(ONLY_PRINTED)('a full disk makes what podloop only prints a failure: %s %s', async (...args) => {
  const full = Object.assign(new Error('ENOSPC: no space left on device, write'), { code: 'ENOSPC' });
  expect(await run(args, full)).toEqual({
    code: 1,
    stderr: 'error: ENOSPC: no space left on device, write\n',
  });
});

it.each(ONLY_PRINTED)('a reader who has seen enough is no failure: %s %s', async (...args) => {
  const gone = Object.assign(new Error('write EPIPE'), { code: 'EPIPE' });
  expect(await run(args, gone)).toEqual({ code: 0, stderr: '' });
});

it.each([
  ['gte', 'get'],
  ['lgos', 'logs'],
])('the help of a command %s that is not there names %s', async (word, guess) => {
  const { code, stderr } = await run(['help', word]);
  expect(code).toBe(1);
  expect(stderr).toContain(
    `error: unknown command "${word}" for "podloop"\n\nDid you mean this?\n\t${guess}\n`,
  );
});

it('the help of a command that is there, and of help, is shown', async () => {
  expect(await run(['help', 'get'])).toEqual({ code: 0, stderr: '' });
  expect(await run(['help'])).toEqual({ code: 0, stderr: '' });
});
