import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { runHelper, runHelperWell, type HelperCall } from './helper-process.js';

function sh(script: string, change: Partial<HelperCall> = {}): HelperCall {
  return { argv: ['/bin/sh', '-c', script], deadlineMs: 10_000, clock: new FakeClock(), ...change };
}

describe('a helper process', () => {
  it('gets its input and nothing of our environment', async () => {
    const result = await runHelper(
      sh('cat; echo "$A$HOME"; echo no >&2; exit 3', { input: 'in ', env: { A: 'a' } }),
    );
    expect(result).toEqual({ exitCode: 3, stdout: 'in a\n', stderr: 'no\n' });
  });

  it('that fails is told of in its own words', async () => {
    await expect(runHelperWell(sh('echo one >&2; echo two >&2; exit 3'))).rejects.toThrow(
      /exit code 3: one; two$/,
    );
    await expect(runHelper(sh('', { argv: ['/nowhere/ip'] }))).rejects.toThrow(
      '/nowhere/ip cannot be executed',
    );
  });

  it('that a signal ends has 128 and the number of the signal for its exit code', async () => {
    expect((await runHelper(sh('kill -KILL $$'))).exitCode).toBe(137);
  });

  it('may end without reading its input', async () => {
    const result = await runHelper(sh('exit 0', { input: 'x'.repeat(1_000_000) }));
    expect(result.exitCode).toBe(0);
  });

  it('is killed with its children when its deadline passes', async () => {
    const clock = new FakeClock();
    const outcome = runHelper(sh('sleep 1000 & sleep 1000; wait', { clock }));
    outcome.catch(() => undefined);
    await clock.advance(10_000);
    await expect(outcome).rejects.toThrow('did not end within 10 s and was killed');
  });

  it('is killed when the signal aborts, and not started when it has', async () => {
    const abort = new AbortController();
    const outcome = runHelper(sh('sleep 1000', { signal: abort.signal }));
    abort.abort(new Error('enough'));
    await expect(outcome).rejects.toThrow('enough');
    await expect(runHelper(sh('exit 0', { signal: abort.signal }))).rejects.toThrow('enough');
  });
});
