import { describe, expect, it } from 'vitest';
import { drain, podOf, setUpPleg } from '#support/harness/pleg-harness.js';

const BROKEN = new Error('shim is gone');

/** Whether a status is fetched at the next relist though nothing changed; found out by doing it. */
async function isMarked({ pleg, runtime }: ReturnType<typeof setUpPleg>, uid: string): Promise<boolean> {
  const before = runtime.statusCalls(uid);
  await pleg.relist();
  return runtime.statusCalls(uid) > before;
}

describe('a request to re-inspect', () => {
  it.each([
    { requested: true, marked: false, fails: false, fetched: 1, still: false, lines: ['PodSync a'] },
    { requested: true, marked: false, fails: true, fetched: 1, still: true, lines: [] },
    { requested: true, marked: true, fails: false, fetched: 1, still: false, lines: ['PodSync a'] },
    { requested: true, marked: true, fails: true, fetched: 1, still: true, lines: [] },
    { requested: false, marked: false, fails: false, fetched: 0, still: false, lines: [] },
    { requested: false, marked: true, fails: false, fetched: 1, still: false, lines: ['PodSync a'] },
    { requested: false, marked: true, fails: true, fetched: 1, still: true, lines: [] },
  ])(
    'requested $requested, marked already $marked, status fails $fails: fetched $fetched, told $lines',
    async ({ requested, marked, fails, fetched, still, lines }) => {
      const h = setUpPleg();
      const { runtime, pleg, events } = h;
      runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'running' })]);
      await pleg.relist();
      if (marked) {
        pleg.requestReinspect('a');
        runtime.failStatus('a', BROKEN);
        await pleg.relist();
      }
      drain(events);
      runtime.failStatus('a', fails ? BROKEN : undefined);
      if (requested) pleg.requestReinspect('a');
      const before = runtime.statusCalls('a');
      await pleg.relist();
      expect(runtime.statusCalls('a') - before).toBe(fetched);
      expect(drain(events)).toEqual(lines);
      const { error, status } = pleg.cache.get('a');
      expect(error).toBe(fails ? BROKEN : undefined);
      expect(status.containers.length).toBe(fails ? 0 : 1);
      expect(runtime.statusCalls('b')).toBe(1);
      expect(await isMarked(h, 'a')).toBe(still);
    },
  );

  it('of a pod that is gone by then is answered without a call', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', {})]);
    pleg.requestReinspect('a');
    await pleg.relist();
    expect(runtime.statusCalls('a')).toBe(0);
    pleg.requestReinspect('a');
    await pleg.relist();
    expect([runtime.statusCalls('a'), drain(events)]).toEqual([1, ['PodSync a']]);
    pleg.requestReinspect('a');
    runtime.setPods([]);
    await pleg.relist();
    expect([runtime.statusCalls('a'), drain(events)]).toEqual([1, ['PodSync a']]);
    expect(pleg.cache.get('a')).toMatchObject({ error: undefined, status: { uid: 'a', containers: [] } });
    expect(pleg.state().pods).toBe(0);
  });

  it('of an unknown pod does nothing', async () => {
    const { runtime, pleg, events } = setUpPleg();
    pleg.requestReinspect('nobody');
    await pleg.relist();
    expect([runtime.statusCalls(), drain(events)]).toEqual([0, []]);
  });

  it('publishes what changed, and no PodSync beside it', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    pleg.requestReinspect('a');
    runtime.setContainer('a', 'c1', 'exited');
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerDied a c1']);
  });

  it('publishes a PodSync if all that changed is an unknown state', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    await pleg.relist();
    drain(events);
    pleg.requestReinspect('a');
    runtime.setContainer('a', 'c1', 'unknown');
    await pleg.relist();
    expect(drain(events)).toEqual(['PodSync a']);
  });

  it('made during an inspection is answered by one more, which the relist waits for', async () => {
    const { clock, runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' })]);
    runtime.delayStatus(300, 'a');
    const first = pleg.relist();
    await clock.advance(100);
    pleg.requestReinspect('a');
    let done = false;
    const second = pleg.relist().then(() => (done = true));
    await clock.advance(200);
    await first;
    expect(drain(events)).toEqual(['ContainerStarted a c1']);
    expect([runtime.statusCalls('a'), done]).toEqual([2, false]);
    await clock.advance(300);
    await second;
    expect(drain(events)).toEqual(['PodSync a']);
    expect(runtime.statusCalls('a')).toBe(2);
  });
});

describe('a failed inspection', () => {
  it('of a container that came and is gone again ends with the good status and a PodSync', async () => {
    const { runtime, pleg, events } = setUpPleg();
    const infra = podOf('a', {}, { infra: 'running' });
    runtime.setPods([infra]);
    await pleg.relist();
    expect(drain(events)).toEqual(['ContainerStarted a infra']);
    const good = pleg.cache.get('a').status;
    runtime.setPods([podOf('a', { transient: 'unknown' }, { infra: 'running' })]);
    runtime.failStatus('a', BROKEN);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    expect(pleg.cache.get('a')).toMatchObject({ error: BROKEN, status: { name: 'a', sandboxes: [] } });
    expect(pleg.cache.getLastKnown('a')).toBe(good);
    runtime.setPods([infra]);
    runtime.failStatus('a', undefined);
    await pleg.relist();
    expect(drain(events)).toEqual(['PodSync a']);
    expect(pleg.cache.get('a')).toMatchObject({ error: undefined, status: good });
  });

  it('does not hide that a container ran and is gone again', async () => {
    const { runtime, pleg, events } = setUpPleg();
    runtime.setPods([podOf('a', { stays: 'running' })]);
    await pleg.relist();
    drain(events);
    runtime.failStatus('a', BROKEN);
    runtime.setPods([podOf('a', { stays: 'running', fleeting: 'running' })]);
    await pleg.relist();
    runtime.setPods([podOf('a', { stays: 'running', next: 'exited' })]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
    runtime.failStatus('a', undefined);
    await pleg.relist();
    expect(drain(events)).toEqual([
      'ContainerDied a fleeting',
      'ContainerDied a next',
      'ContainerRemoved a fleeting',
    ]);
    await pleg.relist();
    expect(drain(events)).toEqual([]);
  });

  it('leaves the pod behind in the cache, while the others advance', async () => {
    const { clock, runtime, pleg } = setUpPleg();
    runtime.setPods([podOf('a', { c1: 'running' }), podOf('b', { c2: 'running' })]);
    await pleg.relist();
    runtime.failStatus('a', BROKEN);
    pleg.requestReinspect('a');
    await pleg.relist();
    const failedAt = pleg.cache.get('a').stamp;
    const asked = clock.stamp();
    runtime.hangStatus('a');
    void pleg.relist();
    await clock.settle();
    expect(pleg.cache.get('b').stamp).toBeGreaterThan(asked);
    expect(pleg.cache.get('a').stamp).toBe(failedAt);
    await clock.advance(1_000);
  });

  it('by a status that makes no sense is named like any other', async () => {
    const { runtime, pleg, events, clock } = setUpPleg({
      runtime: {
        listPods: async () => [podOf('odd', { c1: 'running' })],
        findPod: async () => undefined,
        getPodStatus: async () => undefined as never,
      },
    });
    expect(runtime.statusCalls()).toBe(0);
    await pleg.relist();
    await clock.settle();
    expect(drain(events)).toEqual([]);
    expect(pleg.health().stuckPods).toMatchObject([{ pod: { uid: 'odd' }, state: 'failing', failures: 1 }]);
    expect(pleg.cache.get('odd').error).toBeInstanceOf(TypeError);
  });
});
