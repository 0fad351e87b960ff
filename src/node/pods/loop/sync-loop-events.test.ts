import { describe, expect, it } from 'vitest';
import { aPod, aPodStatus } from '#testing/builders.js';
import { aNodePod } from '#support/builders/node-pod-builder.js';
import { aResult, anEvent, EVENT_OF_RELIST } from '#support/builders/sync-loop-inputs.js';
import { syncLoopHarness } from '#support/harness/sync-loop-harness.js';
import { type Stamp } from '#base/time/clock.js';

const web = aNodePod();

describe('lifecycle events', () => {
  it('sync their pod, and are logged as the kubelet logs them', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.events.push(anEvent('ContainerStarted'));
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodSyncs uid-web']);
    const line = h.logger.lines.find(({ message }) => message === 'SyncLoop (PLEG): event for pod');
    expect(line?.fields).toEqual({
      pod: { uid: 'uid-web', namespace: 'default', name: 'web' },
      event: { ID: 'uid-web', Type: 'ContainerStarted', Data: 'web-1' },
    });
  });

  it.each([
    { ...EVENT_OF_RELIST, type: 'PodSync', folded: 3 },
    { ...EVENT_OF_RELIST, type: 'ConditionMet', conditionKey: 'stopped' },
  ] as const)('sync it, whatever they are: $type', async (fields) => {
    await using h = syncLoopHarness();
    h.want(web);
    h.events.push({ ...fields, pod: { uid: 'uid-web', namespace: 'default', name: 'web' } });
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodSyncs uid-web']);
  });

  it('sync nothing when a container is removed', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.events.push(anEvent('ContainerRemoved'));
    await h.clock.settle();
    expect(h.calls).toEqual([]);
  });

  it('of pods that nobody wants are logged and ignored', async () => {
    await using h = syncLoopHarness();
    h.events.push(anEvent('ContainerDied'));
    await h.clock.settle();
    expect(h.calls).toEqual([]);
    expect(h.logger.lines.at(-1)?.message).toBe(
      'SyncLoop (PLEG): pod does not exist, ignore irrelevant event',
    );
  });

  it('of pods whose manifests are not read yet are logged and acted on with the pod', async () => {
    await using h = syncLoopHarness();
    h.isSeen.all = false;
    h.cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    h.events.push(anEvent('ContainerStarted'));
    await h.clock.settle();
    h.events.push(anEvent('ContainerDied'), anEvent('ContainerDied', { name: 'other' }));
    await h.clock.settle();
    expect(h.logger.lines.filter(({ message }) => message.includes('PLEG'))).toEqual([]);
    expect(h.loop.state()).toMatchObject({ podsWithEarlyEvents: 2, foldedEarlyEvents: 0 });
    h.want(web);
    h.updates.push({ type: 'ADD', source: 'file', pods: [web] });
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodAdditions uid-web', 'dead web-1']);
    const told = (): unknown[] =>
      h.logger.lines
        .filter(({ message }) => message.startsWith('SyncLoop (PLEG)'))
        .map(({ message, fields }) => [message, (fields['event'] as { Type: string }).Type]);
    expect(told()).toEqual([
      ['SyncLoop (PLEG): event for pod', 'ContainerStarted'],
      ['SyncLoop (PLEG): event for pod', 'ContainerDied'],
    ]);
    h.isSeen.all = true;
    await h.clock.advance(1_000);
    expect(told().slice(2)).toEqual([
      ['SyncLoop (PLEG): pod does not exist, ignore irrelevant event', 'ContainerDied'],
    ]);
  });

  it('of what had died before the agent came remove nothing: that is left to the next pass over dead containers', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    h.events.push({ ...anEvent('ContainerDied'), trigger: 'initial' });
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodSyncs uid-web']);
  });

  it('sync every pod when some were lost, after the pods that waited', async () => {
    await using h = syncLoopHarness();
    h.want(web, aNodePod({ name: 'db' }));
    h.errors.push('not ready');
    h.events.push(
      { ...EVENT_OF_RELIST, type: 'Resync', folded: 7 },
      anEvent('ContainerDied', { name: 'db', kind: 'sandbox' }),
    );
    await h.clock.advance(300);
    h.errors.length = 0;
    await h.clock.advance(5_000);
    expect(h.calls).toEqual(['handlePodSyncs uid-db', 'handlePodSyncs uid-web', 'handlePodSyncs uid-db']);
  });

  it('of a container that died have the dead ones before it cleared up', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.cache.set('uid-web', aPodStatus(aPod()), undefined, 1 as Stamp);
    h.events.push(anEvent('ContainerDied'), anEvent('ContainerDied', { containerId: 's', kind: 'sandbox' }));
    await h.clock.settle();
    expect(h.calls.slice(0, 2)).toEqual(['handlePodSyncs uid-web', 'dead web-1']);
    expect(h.calls.filter((call) => call.startsWith('dead'))).toHaveLength(1);
  });

  it('have nothing cleared up while the status of the pod is not known', async () => {
    await using h = syncLoopHarness();
    h.want(web);
    h.cache.set('uid-web', aPodStatus(aPod()), new Error('hung'), 1 as Stamp);
    h.events.push(anEvent('ContainerDied'));
    await h.clock.settle();
    expect(h.calls).toEqual(['handlePodSyncs uid-web']);
  });
});

describe('results of probes', () => {
  it.each([
    ['liveness', 'failure', ['handlePodSyncs uid-web'], 'unhealthy'],
    ['liveness', 'success', [], undefined],
    ['readiness', 'success', ['readiness uid-web c1 true', 'handlePodSyncs uid-web'], 'ready'],
    ['readiness', 'failure', ['readiness uid-web c1 false', 'handlePodSyncs uid-web'], 'not ready'],
    ['startup', 'success', ['startup uid-web c1 true', 'handlePodSyncs uid-web'], 'started'],
    ['startup', 'failure', ['startup uid-web c1 false', 'handlePodSyncs uid-web'], 'unhealthy'],
  ] as const)('%s %s', async (type, result, calls, status) => {
    await using h = syncLoopHarness();
    h.want(web);
    h.probeResults.push(aResult(type, result));
    await h.clock.settle();
    expect(h.calls).toEqual(calls);
    const line = h.logger.lines.find(({ message }) => message === 'SyncLoop (probe)');
    expect(line?.fields).toEqual(status && { probe: type, status, pod: { ...(line?.fields.pod as object) } });
  });

  it('of pods that nobody wants sync nothing', async () => {
    await using h = syncLoopHarness();
    h.probeResults.push(
      aResult('liveness', 'failure', 'uid-gone'),
      aResult('readiness', 'success', 'uid-gone'),
    );
    await h.clock.settle();
    expect(h.calls).toEqual(['readiness uid-gone c1 true']);
  });
});
