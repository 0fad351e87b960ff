import { describe, expect, it } from 'vitest';
import { type PodUsage } from '../../../watch/observed/pod-usage.js';
import { emptyPodStatus } from '../../../watch/observed/runtime.js';
import { aContainer, aContainerStatus } from '#testing/builders.js';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { aContainerUsage, aPodUsage, NODE_USAGE } from '#support/builders/usage-builders.js';
import { UsageLooks } from './usage-looks.js';

function scene(listPods: () => Promise<readonly PodUsage[]>, status = emptyPodStatus) {
  const [clock, logger] = [new FakeClock(), new LogRecorder()];
  let calls = 0;
  const looks = new UsageLooks({
    ...{ clock, logger, statusOf: status },
    readNode: () => Promise.resolve(NODE_USAGE),
    listPods: () => {
      calls++;
      return listPods();
    },
  });
  const look = () => looks.look(new AbortController().signal);
  return { clock, logger, looks, look, calls: () => calls };
}

describe('a look at what is used', () => {
  it('serves everybody who asks meanwhile, and for a second after it', async () => {
    const { clock, look, calls } = scene(() => Promise.resolve([aPodUsage()]));
    const [one, two] = await Promise.all([look(), look()]);
    expect(two).toBe(one);
    await clock.advance(999);
    expect(await look()).toBe(one);
    await clock.advance(1);
    expect(await look()).not.toBe(one);
    expect(calls()).toBe(2);
  });

  it('is not waited for by a caller that has left, nor started again for a new one', async () => {
    let answer: (pods: PodUsage[]) => void = () => undefined;
    const { looks, look, calls } = scene(() => new Promise((resolve) => (answer = resolve)));
    const leaving = new AbortController();
    const left = looks.look(leaving.signal);
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    const staying = look();
    answer([aPodUsage()]);
    expect((await staying).pods).toHaveLength(1);
    expect(calls()).toBe(1);
  });

  it('shows the node when the runtime fails, and says so in the log once', async () => {
    const answers = [new Error('no answer'), new Error('no answer'), [aPodUsage()]];
    const { clock, look, logger } = scene(async () => {
      const answer = answers.shift()!;
      return answer instanceof Error ? Promise.reject(answer) : Promise.resolve(answer);
    });
    for (const problem of ['no answer', 'no answer', undefined]) {
      expect(await look()).toMatchObject({ problem, node: NODE_USAGE });
      await clock.advance(1_000);
    }
    expect(logger.lines.map(({ level, message }) => [level, message])).toEqual([
      ['warn', 'Statistics of pods cannot be read'],
      ['info', 'Statistics of pods can be read again'],
    ]);
  });

  it('leaves out what has ended, and shows one pod of a name and one container of a name', async () => {
    const ended = aContainerUsage({ name: 'ended', cpu: undefined, memory: undefined });
    const { look } = scene(() =>
      Promise.resolve([
        aPodUsage({ name: 'web', uid: 'old', cpu: undefined, memory: undefined, containers: [ended] }),
        aPodUsage({
          name: 'web',
          uid: 'new',
          containers: [aContainerUsage({ id: 'c0' }), aContainerUsage({ id: 'c1', attempt: 1 }), ended],
        }),
        aPodUsage({ name: 'web', uid: 'emptied', containers: [] }),
        aPodUsage({ name: 'idle', containers: [] }),
      ]),
    );
    const { pods } = await look();
    expect(pods.map(({ uid, containers }) => [uid, containers.map(({ id }) => id)])).toEqual([
      ['new', ['c1']],
      ['uid-idle', []],
    ]);
  });

  it('knows of a container what was seen of it when it was inspected', async () => {
    const status = aContainerStatus(aContainer({ id: 'c0' }));
    const { look } = scene(
      () => Promise.resolve([aPodUsage({ containers: [aContainerUsage({ id: 'c0' })] })]),
      (uid) => ({ ...emptyPodStatus(uid), containers: [status] }),
    );
    expect((await look()).pods[0]?.containers[0]?.status).toBe(status);
  });
});
