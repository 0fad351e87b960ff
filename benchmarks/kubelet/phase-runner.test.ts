import { Writable } from 'node:stream';
import { expect, it } from 'vitest';
import { Progress } from '../progress.js';
import { PhaseRunner } from './phase-runner.js';

const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() }) as unknown as NodeJS.WriteStream;

it('goes on after a phase that failed, and says what went wrong first', async () => {
  const phases = new PhaseRunner(new Progress(nowhere), new AbortController().signal);
  const fail = async (): Promise<never> => {
    await using _used = {
      [Symbol.asyncDispose]: () => Promise.reject(new Error('it is still mounted')),
    };
    return await Promise.reject(new Error('the agent ended by itself'));
  };
  expect(await phases.run('node', fail)).toEqual({});
  expect(await phases.run('other', () => Promise.resolve(7))).toEqual({ other: 7 });
  expect(phases.failures).toEqual([
    { phase: 'node', why: 'the agent ended by itself; and then: it is still mounted' },
  ]);
});

it('ends all of it when it is told to', async () => {
  const stop = new AbortController();
  const phases = new PhaseRunner(new Progress(nowhere), stop.signal);
  stop.abort(new Error('enough'));
  await expect(phases.run('node', () => Promise.reject(new Error('x')))).rejects.toThrow('enough');
});
