import { describe, expect, it } from 'vitest';
import { aServedStatus, ServedPodsHarness } from '#support/harness/served-pods-harness.js';
import { type ApiAnswer } from '../http/api-request.js';
import { checkpointContainer, type ContainerActions, runInContainer } from './container-actions.js';
import { kubeletPodFinder } from '../node/find-kubelet-pod.js';
import { podFinder } from './list-pods.js';

type Printed = Awaited<ReturnType<ContainerActions['run']>>;

function setUp(ran: Printed | Error = aResult(), kept: string | Error = '/kept.tar') {
  const scene = new ServedPodsHarness();
  scene.set({ name: 'web' });
  scene.set({ name: 'ended' }, { status: aServedStatus({ containerStatuses: [] }) });
  const asked: unknown[] = [];
  const settle = async <T>(outcome: T | Error, ...call: unknown[]): Promise<T> => {
    asked.push(call);
    if (outcome instanceof Error) throw outcome;
    return Promise.resolve(outcome);
  };
  const actions: ContainerActions = {
    run: async ({ id, pod }, command) => settle(ran, id, pod.uid, command),
    checkpoint: async ({ id, pod }, timeoutSeconds) => settle(kept, id, pod.uid, timeoutSeconds),
  };
  const options = { actions, findPod: kubeletPodFinder(podFinder(scene.table)) };
  const [run, checkpoint] = [runInContainer(options), checkpointContainer(options)];
  const ask = async (handle: typeof run, query: string, names: object = {}): Promise<ApiAnswer> =>
    handle({
      ...{ method: 'POST', path: '/', headers: {}, query: new URLSearchParams(query) },
      params: { namespace: 'default', name: 'web', container: 'main', ...names },
      ...{ signal: new AbortController().signal, readBody: async () => Promise.resolve(undefined) },
    });
  return {
    asked,
    run: async (query: string, names?: object) => ask(run, query, names),
    checkpoint: async (query: string, names?: object) => ask(checkpoint, query, names),
  };
}

function aResult(more: Partial<Printed> = {}): Printed {
  return { stdout: Buffer.from('out\n'), stderr: Buffer.from('err\n'), exitCode: 0, ...more };
}

/** What a failure is answered with. */
const failed = (words: string) => ({ kind: 'text', code: 500, body: `${words}\n` });

describe('a command that is run by one request', () => {
  it('is parted at spaces, and answered with what it printed', async () => {
    const { asked, run } = setUp();
    const answer = await run('cmd=echo%20a%20%20b', { uid: 'uid-web' });
    expect(asked).toEqual([['c0ffee', 'uid-web', ['echo', 'a', '', 'b']]]);
    expect(answer).toMatchObject({ kind: 'bytes', contentType: 'application/json' });
    expect(String(answer.kind === 'bytes' && answer.body)).toBe('out\nerr\n');
  });

  it('answers with 500 how it failed', async () => {
    const ended = setUp(aResult({ exitCode: 7 }));
    expect(await ended.run('cmd=sh%20x')).toMatchObject(failed("command 'sh x' exited with 7: err\n"));
    const refused = setUp(new Error('rpc error: code = Unknown desc = no such file'));
    expect(await refused.run('cmd=sh')).toMatchObject(
      failed('rpc error: code = Unknown desc = no such file'),
    );
  });

  it('needs a container that runs, in the pod that is meant', async () => {
    const { asked, run } = setUp();
    expect(await run('cmd=ls', { container: 'side' })).toMatchObject(failed('container not found ("side")'));
    expect(await run('cmd=ls', { name: 'ended' })).toMatchObject(failed('container not found ("main")'));
    await expect(run('cmd=ls', { name: 'db' })).rejects.toMatchObject({
      ...{ code: 404, message: 'pod does not exist' },
    });
    await expect(run('cmd=ls', { uid: 'former' })).rejects.toMatchObject({
      ...{ code: 404, message: 'pod not found' },
    });
    expect(asked).toEqual([]);
  });
});

describe('a checkpoint', () => {
  it('is answered with its file; the last timeout holds', async () => {
    const { asked, checkpoint } = setUp();
    expect(await checkpoint('')).toEqual({ kind: 'json', body: { items: ['/kept.tar'] } });
    await checkpoint('timeout=1&timeout=200');
    expect(asked).toEqual([
      ['c0ffee', 'uid-web', 0],
      ['c0ffee', 'uid-web', 200],
    ]);
  });

  it('fails in the words of the runtime, and for what there is not in those of a kubelet', async () => {
    const { checkpoint } = setUp(
      undefined,
      new Error('rpc error: code = Unimplemented desc = not implemented'),
    );
    const failedOf = (pod: string, words: string) =>
      failed(`checkpointing of default/${pod}/main failed (${words})`);
    expect(await checkpoint('')).toMatchObject(
      failedOf('web', 'rpc error: code = Unimplemented desc = not implemented'),
    );
    expect(await checkpoint('timeout=-1')).toMatchObject(
      failedOf('web', 'CheckpointContainer requires the timeout value to be > 0'),
    );
    expect(await checkpoint('', { name: 'ended' })).toMatchObject(
      failedOf('ended', 'container main not found'),
    );
    const refusals = [
      [{ container: 'side' }, '', 'container side does not exist'],
      [{ name: 'db' }, '', 'pod does not exist'],
      [{}, 'timeout=soon', 'cannot parse value of timeout parameter'],
    ] as const;
    for (const [names, query, message] of refusals) {
      await expect(checkpoint(query, names)).rejects.toMatchObject({ code: 404, message });
    }
  });
});
