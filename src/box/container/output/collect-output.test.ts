import { PassThrough } from 'node:stream';
import { status } from '@grpc/grpc-js';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { collectOutput } from './collect-output.js';
import { defer } from '../../deferred.js';

/** A command that ends when the test says so. */
function command() {
  const exit = defer<number>();
  const stdout = new PassThrough();
  const stderr = new PassThrough();
  let kills = 0;
  return {
    stdout,
    stderr,
    exit: exit.promise,
    kill: () => {
      kills++;
    },
    kills: () => kills,
    /** As the process that led into the container ends; what it led in may hold the outputs longer. */
    end: (code: number) => exit.resolve(code),
  };
}

async function settled(promise: Promise<unknown>): Promise<boolean> {
  let over = false;
  const mark = () => {
    over = true;
  };
  promise.then(mark, mark);
  await new Promise((resolve) => setImmediate(resolve));
  return over;
}

it('answers with the exit code and the outputs of a command', async () => {
  const process = command();
  const result = collectOutput(process, {
    timeoutMs: 0,
    signal: new AbortController().signal,
    clock: new FakeClock(),
  });
  process.stdout.end('out');
  process.stderr.end('err');
  process.end(3);
  expect(await result).toEqual({ exitCode: 3, stdout: Buffer.from('out'), stderr: Buffer.from('err') });
  expect(process.kills()).toBe(0);
});

it('says that the time is over only once the killed command is gone', async () => {
  const process = command();
  const clock = new FakeClock();
  const result = collectOutput(process, { timeoutMs: 1000, signal: new AbortController().signal, clock });
  await clock.advance(1000);
  expect([process.kills(), await settled(result)]).toEqual([1, false]);
  process.end(137);
  expect(await settled(result)).toBe(false);
  process.stdout.destroy();
  process.stderr.destroy();
  await expect(result).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
});

it('does not wait for ever for what holds the outputs of a killed command', async () => {
  const process = command();
  const clock = new FakeClock();
  const result = collectOutput(process, { timeoutMs: 1000, signal: new AbortController().signal, clock });
  await clock.advance(1000);
  process.end(137);
  expect(await settled(result)).toBe(false);
  const rejected = expect(result).rejects.toMatchObject({ code: status.DEADLINE_EXCEEDED });
  await clock.advance(500);
  await rejected;
});

it('believes no limit that passed while nobody could see the command end', async () => {
  const process = command();
  const clock = new FakeClock();
  const result = collectOutput(process, { timeoutMs: 1000, signal: new AbortController().signal, clock });
  clock.stall(20_000);
  await clock.advance(0);
  process.end(0);
  process.stdout.destroy();
  process.stderr.destroy();
  expect(await result).toMatchObject({ exitCode: 0 });
  expect(process.kills()).toBe(0);
});

it('kills the command when its caller leaves', async () => {
  const process = command();
  const caller = new AbortController();
  const result = collectOutput(process, { timeoutMs: 0, signal: caller.signal, clock: new FakeClock() });
  caller.abort();
  process.stdout.destroy();
  process.stderr.destroy();
  process.end(137);
  await expect(result).rejects.toMatchObject({ code: status.CANCELLED });
  expect(process.kills()).toBe(1);
});
