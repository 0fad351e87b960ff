import { describe, expect, it } from 'vitest';
import { type RuntimeEvent } from '../watch/observed/runtime.js';
import { aPod, aRuntimeEvent } from './builders.js';
import { FakeClock } from './fake-clock.js';
import { type FakeCall, FakeRuntime } from './fake-runtime.js';

function aRuntime(...names: string[]): { clock: FakeClock; runtime: FakeRuntime } {
  const clock = new FakeClock();
  const runtime = new FakeRuntime({ clock });
  for (const name of names) runtime.setPod(aPod({ name }));
  return { clock, runtime };
}

async function statusOf(runtime: FakeRuntime, uid: string) {
  return runtime.getPodStatus((await runtime.findPod(uid))!);
}

describe('its pods', () => {
  it('are the same objects in each list while nothing changes, and only the changed one is made anew', async () => {
    const { runtime } = aRuntime('one', 'two');
    const [one, two] = await runtime.listPods();
    expect(await runtime.findPod('uid-one')).toBe(one);
    runtime.setContainer('uid-two', 'main', 'exited', { exitCode: 3 });
    const after = await runtime.listPods();
    expect(after[0]).toBe(one);
    expect(after[1]).not.toBe(two);
    expect(after[1]?.containers[0]?.state).toBe('exited');
    expect(two?.containers[0]?.state).toBe('running');
  });

  it('are replaced as a whole by setPods', async () => {
    const { runtime } = aRuntime('one', 'two');
    runtime.setPods([aPod({ name: 'two' }), aPod({ name: 'three' })]);
    expect((await runtime.listPods()).map((pod) => pod.name)).toEqual(['two', 'three']);
    expect(await runtime.findPod('uid-one')).toBeUndefined();
  });

  it('say in their status what the test said of a container', async () => {
    const { runtime } = aRuntime('web');
    runtime.setContainer('uid-web', 'main', 'exited', { exitCode: 137, reason: 'OOMKilled' });
    const { containers } = await statusOf(runtime, 'uid-web');
    expect(containers[0]).toMatchObject({ state: 'exited', exitCode: 137, reason: 'OOMKilled' });
    expect(containers[0]?.finishedAtNs).toBe(1_767_323_045_000_000_000n);
  });

  it('keep an exited attempt beside the one that follows it', async () => {
    const { runtime } = aRuntime('web');
    runtime.setContainer('uid-web', 'main', 'exited', { exitCode: 1 });
    runtime.setContainer('uid-web', 'main', 'running', { attempt: 1 });
    const { containers } = await statusOf(runtime, 'uid-web');
    expect(containers.map(({ attempt, state }) => [attempt, state])).toEqual([
      [0, 'exited'],
      [1, 'running'],
    ]);
    runtime.setContainer('uid-web', 'main', 'exited');
    expect((await runtime.findPod('uid-web'))?.containers[1]?.state).toBe('exited');
  });

  it('leave out of their status what has vanished since the list', async () => {
    const { runtime } = aRuntime('web');
    const listed = (await runtime.findPod('uid-web'))!;
    runtime.removeContainer('uid-web', 'main');
    runtime.removeSandbox('uid-web', 'uid-web-sandbox-0');
    expect(await runtime.getPodStatus(listed)).toMatchObject({
      name: 'web',
      sandboxes: [],
      containers: [],
      ips: [],
    });
    runtime.removePod('uid-web');
    expect(await runtime.getPodStatus(listed)).toMatchObject({ uid: 'uid-web', containers: [] });
  });

  it('show the addresses of a sandbox until it is no longer ready', async () => {
    const { runtime } = aRuntime('web');
    runtime.setSandbox('uid-web', 'running', { ips: ['10.0.0.9', 'fd00::9'] });
    expect((await statusOf(runtime, 'uid-web')).ips).toEqual(['10.0.0.9', 'fd00::9']);
    runtime.setSandbox('uid-web', 'exited');
    expect((await statusOf(runtime, 'uid-web')).ips).toEqual([]);
    runtime.setSandbox('uid-web', 'running', { id: 'newer' });
    const { sandboxes } = await statusOf(runtime, 'uid-web');
    expect(sandboxes.map(({ id, attempt }) => [id, attempt])).toEqual([
      ['newer', 1],
      ['uid-web-sandbox-0', 0],
    ]);
  });
});

describe('its calls', () => {
  it('hang for one pod until they are released, and answer with what is then', async () => {
    const { clock, runtime } = aRuntime('slow', 'fine');
    const release = runtime.hangStatus('uid-slow');
    let answered = false;
    const hanging = statusOf(runtime, 'uid-slow').finally(() => (answered = true));
    await statusOf(runtime, 'uid-fine');
    await clock.advance(60_000);
    expect(answered).toBe(false);
    expect(runtime.statusCallsInFlight).toBe(1);
    runtime.setContainer('uid-slow', 'main', 'exited', { exitCode: 9 });
    release();
    expect((await hanging).containers[0]?.exitCode).toBe(9);
    expect((await statusOf(runtime, 'uid-slow')).name).toBe('slow');
  });

  it('answer with what was when they were asked, when that is wanted', async () => {
    const { clock, runtime } = aRuntime('web');
    const shown = (await runtime.findPod('uid-web'))!;
    runtime.answerAsAsked();
    for (const delay of ['delayList', 'delayStatus'] as const) runtime[delay](100);
    const [pod, pods, status] = [runtime.findPod('uid-web'), runtime.listPods(), runtime.getPodStatus(shown)];
    runtime.setContainer('uid-web', 'main', 'exited');
    await clock.advance(300);
    const before = [{ state: 'running' }];
    expect((await pod)?.containers).toMatchObject(before);
    expect((await pods)[0]?.containers).toMatchObject(before);
    expect((await status).containers).toMatchObject(before);
  });

  it('reject with the reason of their signal while they hang, and at once when it has aborted', async () => {
    const { runtime } = aRuntime('slow');
    const pod = (await runtime.findPod('uid-slow'))!;
    const reason = new Error('given up');
    runtime.hangStatus('uid-slow');
    runtime.hangList();
    const stopping = new AbortController();
    const calls = [runtime.getPodStatus(pod, stopping.signal), runtime.listPods(stopping.signal)];
    stopping.abort(reason);
    for (const call of calls) await expect(call).rejects.toBe(reason);
    await expect(runtime.findPod('uid-slow', stopping.signal)).rejects.toBe(reason);
    expect(runtime.statusCallsInFlight).toBe(0);
  });

  it('fail as they are told to, and work again', async () => {
    const { runtime } = aRuntime('web');
    const error = new Error('out of order');
    const pod = (await runtime.findPod('uid-web'))!;
    runtime.failStatus('uid-web', error);
    await expect(runtime.getPodStatus(pod)).rejects.toBe(error);
    runtime.failStatus('uid-web', undefined);
    expect((await runtime.getPodStatus(pod)).name).toBe('web');
    runtime.failList(error);
    await expect(runtime.listPods()).rejects.toBe(error);
    await expect(runtime.findPod('uid-web')).rejects.toBe(error);
    runtime.failList(undefined);
    runtime.failFind('uid-web', error);
    await expect(runtime.findPod('uid-web')).rejects.toBe(error);
    expect(await runtime.listPods()).toHaveLength(1);
  });

  it('take the time that they are told to take', async () => {
    const { clock, runtime } = aRuntime('web');
    const pod = (await runtime.findPod('uid-web'))!;
    runtime.delayStatus(300);
    const start = clock.monotonicMs();
    const answered = runtime.getPodStatus(pod).then(() => clock.monotonicMs() - start);
    await clock.advance(1_000);
    expect(await answered).toBe(300);
  });

  it('are counted, and told to the test when they arrive', async () => {
    const calls: FakeCall[] = [];
    const runtime = new FakeRuntime({ onCall: (call) => calls.push(call) });
    runtime.setPods([aPod({ name: 'one' }), aPod({ name: 'two' })]);
    await Promise.all([
      statusOf(runtime, 'uid-one'),
      statusOf(runtime, 'uid-two'),
      statusOf(runtime, 'uid-two'),
    ]);
    await runtime.listPods();
    expect([runtime.listCalls, runtime.findCalls]).toEqual([1, 3]);
    expect([runtime.statusCalls(), runtime.statusCalls('uid-two'), runtime.statusCalls('uid-none')]).toEqual([
      3, 2, 0,
    ]);
    expect(runtime.mostStatusCallsInFlight).toBe(3);
    expect(calls.at(-1)).toEqual({ operation: 'listPods', uid: undefined });
    expect(calls[0]).toEqual({ operation: 'findPod', uid: 'uid-one' });
  });
});

describe('its events', () => {
  function aReader(runtime: FakeRuntime, signal = new AbortController().signal) {
    const seen: (RuntimeEvent | 'open')[] = [];
    const ended = runtime.watchEvents!(
      { onOpen: () => seen.push('open'), onEvent: (event) => seen.push(event) },
      signal,
    );
    ended.catch(() => undefined);
    return { seen, ended };
  }

  it('reach every reader, after the opening', async () => {
    const { clock, runtime } = aRuntime();
    const readers = [aReader(runtime), aReader(runtime)];
    await clock.settle();
    expect(runtime.eventReaders).toBe(2);
    runtime.emitEvent(aRuntimeEvent());
    for (const { seen } of readers) expect(seen).toEqual(['open', aRuntimeEvent()]);
  });

  it('end, break and are refused as the test wants it', async () => {
    const { clock, runtime } = aRuntime();
    const error = new Error('broken');
    const first = aReader(runtime);
    await clock.settle();
    runtime.endEvents();
    await expect(first.ended).resolves.toBeUndefined();
    const second = aReader(runtime);
    await clock.settle();
    runtime.breakEvents(error);
    await expect(second.ended).rejects.toBe(error);
    runtime.refuseEvents(error);
    const refused = aReader(runtime);
    await expect(refused.ended).rejects.toBe(error);
    expect(refused.seen).toEqual([]);
    expect([runtime.eventReaders, runtime.events.watchCalls]).toEqual([0, 3]);
  });

  it('stop with the signal of the reader', async () => {
    const { clock, runtime } = aRuntime();
    const stopping = new AbortController();
    const { ended } = aReader(runtime, stopping.signal);
    await clock.settle();
    stopping.abort(new Error('enough'));
    await expect(ended).rejects.toThrow('enough');
    expect(runtime.eventReaders).toBe(0);
  });

  it('announce each change when that is asked for', async () => {
    const clock = new FakeClock();
    const runtime = new FakeRuntime({ clock, announce: true });
    const { seen } = aReader(runtime);
    await clock.settle();
    runtime.setPod(aPod({ name: 'web' }));
    runtime.setContainer('uid-web', 'main', 'exited');
    runtime.removePod('uid-web');
    expect(seen.slice(1).map((event) => event !== 'open' && `${event.type} ${event.containerId}`)).toEqual([
      'started uid-web-sandbox-0',
      'started uid-web-main-0',
      'stopped uid-web-main-0',
      'deleted uid-web-main-0',
      'deleted uid-web-sandbox-0',
    ]);
  });

  it('come as a backlog to whoever connects next, without an opening where the runtime stays silent', async () => {
    const { clock, runtime } = aRuntime();
    runtime.events.announceOpening(false);
    runtime.events.keepForNextReader([aRuntimeEvent({ containerId: 'old' })]);
    const first = aReader(runtime);
    const second = aReader(runtime);
    await clock.settle();
    expect(first.seen).toEqual([aRuntimeEvent({ containerId: 'old' })]);
    expect(second.seen).toEqual([]);
  });

  it('do not exist for a runtime without them', () => {
    expect(new FakeRuntime({ events: false }).watchEvents).toBeUndefined();
  });
});
