import { describe, expect, it } from 'vitest';
import { type RuntimeChanges } from '../runtime/runtime-changes.js';
import { FakeClock } from '#testing/fake-clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { probeByExec } from './exec-probe.js';
import { type ProbeOutcome } from './probe-outcome.js';
import { type ProbeType } from './probe-result.js';
import { MAX_UNANSWERED, UnansweredCommands } from './unanswered-commands.js';

const pod = { uid: 'uid-web', namespace: 'default', name: 'web' };

async function exec(execSync: RuntimeChanges['execSync'], clock = new FakeClock(), signal?: AbortSignal) {
  const probe = {
    clock,
    commands: { execSync },
    pod,
    unansweredCommands: new UnansweredCommands({ clock }),
    type: 'liveness' as const,
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

  it('fails by a command that alone is not answered, as silence that lasted longer than the timeout', async () => {
    const clock = new FakeClock();
    const outcome = exec(async () => {
      await clock.sleep(13_000);
      throw new PodloopError('COMMAND_UNANSWERED', 'it alone is not answered');
    }, clock);
    await clock.advance(13_000);
    expect(await outcome).toEqual({
      ...{ result: 'failure', isDecisive: false, unansweredMs: 13_000 },
      message: 'command timed out: "cat /tmp/healthy" timed out after 2s',
    });
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

/** A runtime whose commands the test answers, or leaves open. */
class OpenCommands {
  readonly clock = new FakeClock();
  readonly unansweredCommands = new UnansweredCommands({ clock: this.clock });
  readonly onLate: (() => void)[] = [];
  begun = 0;
  answers: 'nothing' | 'success' | 'timeout' = 'nothing';

  async probe(containerId = 'a', type: ProbeType = 'readiness'): Promise<ProbeOutcome> {
    const commands: Pick<RuntimeChanges, 'execSync'> = {
      execSync: async (_id, _command, _timeout, options) => {
        this.begun++;
        if (this.answers === 'success') return await answering(0)('', [], 0);
        if (this.answers === 'timeout') throw new PodloopError('CRI_DEADLINE_EXCEEDED', 'killed');
        this.onLate.push(options!.onLeftOpen!());
        throw new PodloopError('COMMAND_UNANSWERED', 'it alone is not answered');
      },
    };
    const { clock, unansweredCommands } = this;
    const what = { pod, containerId, type, command: ['check'], timeoutMs: 1_000 };
    return await probeByExec({ clock, commands, unansweredCommands, ...what }, new AbortController().signal);
  }
}

describe('a probe whose commands stay unanswered', () => {
  it('begins five, and then one every two minutes, and says so', async () => {
    const open = new OpenCommands();
    const results: string[] = [];
    for (let second = 0; second <= 400; second += 5) {
      const { result, message } = await open.probe();
      results.push(result);
      if (result === 'error')
        expect(message).toMatch(
          /^\d+ commands of this probe are still unanswered, the next one has to wait$/,
        );
      await open.clock.advance(5_000);
    }
    expect(results.slice(0, 6)).toEqual(['failure', 'failure', 'failure', 'failure', 'failure', 'error']);
    expect(open.begun).toBe(MAX_UNANSWERED + 3);
  });

  it('goes on once one of them is answered late', async () => {
    const open = new OpenCommands();
    for (let count = 0; count < MAX_UNANSWERED; count++) await open.probe();
    expect((await open.probe()).isHeldBack).toBe(true);
    open.onLate[0]!();
    expect((await open.probe()).result).toBe('failure');
    expect((await open.probe()).isHeldBack).toBe(true);
  });

  it.each(['success', 'timeout'] as const)('is as new after %s, which is an answer', async (answer) => {
    const open = new OpenCommands();
    for (let count = 0; count < MAX_UNANSWERED - 1; count++) await open.probe();
    open.answers = answer;
    await open.probe();
    open.answers = 'nothing';
    for (let count = 0; count < MAX_UNANSWERED; count++) expect((await open.probe()).result).toBe('failure');
    expect((await open.probe()).isHeldBack).toBe(true);
  });

  it('holds back no other probe, of the same container or of another', async () => {
    const open = new OpenCommands();
    for (let count = 0; count <= MAX_UNANSWERED; count++) await open.probe();
    expect((await open.probe('a', 'liveness')).result).toBe('failure');
    expect((await open.probe('b')).result).toBe('failure');
  });
});
