import { describe, expect, it } from 'vitest';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { FakeClock } from '../testing/fake-clock.js';
import { PodloopError } from '../util/errors.js';
import { probeByExec } from './exec-probe.js';

const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };

async function exec(execSync: RuntimeChanges['execSync'], clock = new FakeClock(), signal?: AbortSignal) {
  const probe = {
    clock,
    commands: { execSync },
    pod,
    containerId: 'a',
    command: ['cat', '/tmp/healthy'],
    timeoutMs: 2_000,
  };
  return await probeByExec(probe, signal ?? new AbortController().signal);
}

const answering =
  (exitCode: number, stdout = '', stderr = ''): RuntimeChanges['execSync'] =>
  async () => ({ exitCode, stdout: Buffer.from(stdout), stderr: Buffer.from(stderr) });

describe('a probe that runs a command', () => {
  it('asks the runtime for it, with the timeout', async () => {
    const calls: unknown[] = [];
    await exec(async (id, command, timeout, options) => {
      calls.push([id, command, timeout, options?.pod]);
      return await answering(0)(id, command, timeout);
    });
    expect(calls).toEqual([['a', ['cat', '/tmp/healthy'], 2, pod]]);
  });

  it.each([
    [0, 'success'],
    [1, 'failure'],
    [137, 'failure'],
    [-1, 'failure'],
  ])('takes exit code %i for %s', async (exitCode, result) => {
    const outcome = await exec(answering(exitCode, 'out ', 'err'));
    expect(outcome).toEqual({ result, isDecisive: true, message: 'out err' });
  });

  it('keeps no more than the beginning of the output', async () => {
    const { message } = await exec(answering(1, 'x'.repeat(9_000), 'y'.repeat(100_000)));
    expect(message).toBe('x'.repeat(9_000) + 'y'.repeat(10_240 - 9_000));
  });

  it('fails by a timeout in the words of the kubelet, and that is silence', async () => {
    const outcome = await exec(() =>
      Promise.reject(new PodloopError('CRI_DEADLINE_EXCEEDED', 'timeout 2s exceeded')),
    );
    expect(outcome).toEqual({
      result: 'failure',
      isDecisive: false,
      message: 'command timed out: "cat /tmp/healthy" timed out after 2s',
    });
  });

  it.each(['CRI_UNAVAILABLE', 'CRI_NOT_FOUND', 'CRI_UNKNOWN'] as const)(
    'finds nothing out when the runtime says %s',
    async (code) => {
      const outcome = await exec(() => Promise.reject(new PodloopError(code, 'no')));
      expect(outcome).toEqual({ result: 'error', isDecisive: false, message: 'no' });
    },
  );

  it('gives a runtime up that does not answer, and holds that against nobody', async () => {
    const clock = new FakeClock();
    const hanging: RuntimeChanges['execSync'] = (_id, _command, _timeout, options) =>
      new Promise((_resolve, reject) => {
        options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason as Error));
      });
    const outcome = exec(hanging, clock);
    await clock.advance(32_000);
    expect(await outcome).toEqual({
      result: 'error',
      isDecisive: false,
      message: 'the runtime did not answer within 32s',
    });
    expect(clock.pendingTimers).toBe(0);
  });

  it('ends when its signal aborts', async () => {
    const stop = new AbortController();
    const hanging: RuntimeChanges['execSync'] = (_id, _command, _timeout, options) =>
      new Promise((_resolve, reject) => {
        options!.signal!.addEventListener('abort', () => reject(options!.signal!.reason as Error));
      });
    const outcome = exec(hanging, new FakeClock(), stop.signal);
    stop.abort(new Error('the pod is gone'));
    await expect(outcome).rejects.toThrow('the pod is gone');
  });
});
