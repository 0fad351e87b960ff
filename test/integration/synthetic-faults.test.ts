import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { eventually, SyntheticNode } from './synthetic-node.js';

describe('lists that are not answered', () => {
  it('make the node unhealthy in the kubelet’s words, say why, and are over when the runtime answers', async () => {
    await using node = await SyntheticNode.start({ pods: 5, containersPerPod: 2 });
    await node.control.setFaults({ listsHang: true });
    const agent = node.createAgent({ mode: 'generic', relistPeriodMs: 50, relistThresholdMs: 400 });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(agent.pleg.health().listInFlightMs).toBeGreaterThan(0));
    expect(agent.pleg.health()).toMatchObject({
      healthy: false,
      message: 'pleg has yet to be successful',
      reason: { kind: 'neverSucceeded' },
    });

    await node.control.setFaults({ listsHang: false });
    await eventually(() => expect(agent.pleg.health()).toMatchObject({ healthy: true, reason: undefined }));
    await eventually(() => expect(log.changes().length).toBe(10));

    await node.control.setFaults({ listsHang: true });
    await eventually(() => expect(agent.pleg.health().reason?.kind).toBe('listHanging'));
    expect(agent.pleg.health().message).toMatch(
      /^pleg was last seen active [0-9.]+m?s ago; threshold is 400ms$/,
    );
    expect(agent.pleg.health().stuckPods).toEqual([]);
    const [killed] = await node.control.kill({ count: 1 }, { exitCode: 4 });

    log.clear();
    await node.control.setFaults({ listsHang: false });
    await eventually(() => expect(log.deaths()).toEqual([killed!.id]));
    // The relist that hung counts from its begin, so it takes another one.
    await eventually(() => expect(agent.pleg.health()).toMatchObject({ healthy: true, message: undefined }));
    // An unanswered list deleted nothing.
    expect(log.changes().map(({ type }) => type)).toEqual(['ContainerDied']);
  });

  it('that fail are told apart, with the error', async () => {
    await using node = await SyntheticNode.start({ pods: 2, containersPerPod: 1 });
    const agent = node.createAgent({ mode: 'generic', relistPeriodMs: 50, relistThresholdMs: 300 });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(log.changes().length).toBe(2));
    await node.control.setFaults({ listFailure: status.INTERNAL });
    await eventually(() => expect(agent.pleg.health().reason?.kind).toBe('listFailing'));
    expect(agent.pleg.health().reason?.error).toContain('the list fails on purpose');
    expect(log.changes().length).toBe(2);
    await node.control.setFaults({ listFailure: status.OK });
    await eventually(() => expect(agent.pleg.health().healthy).toBe(true));
    expect(log.changes().length).toBe(2);
  });
});

describe('status calls that fail', () => {
  it('cost their own pod its events until they succeed, and nobody else', async () => {
    await using node = await SyntheticNode.start({ pods: 10, containersPerPod: 2 });
    const agent = node.createAgent({ mode: 'generic', relistPeriodMs: 50 });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(log.changes().length).toBe(20));
    log.clear();
    const [failing, other] = await node.control.pods();
    await node.control.setFaults({ failingPods: { [failing!.uid]: status.UNKNOWN } });
    const [missed] = await node.control.kill({ podUids: [failing!.uid], count: 1 });
    const [seen] = await node.control.kill({ podUids: [other!.uid], count: 1 });
    await eventually(() => expect(log.deaths()).toEqual([seen!.id]));
    await eventually(() =>
      expect(agent.pleg.health()).toMatchObject({
        healthy: true,
        stuckPods: [{ pod: { uid: failing!.uid }, state: 'failing' }],
      }),
    );
    await node.control.setFaults({ failingPods: {} });
    await eventually(() => expect(log.deaths()).toEqual([seen!.id, missed!.id]));
    expect(log.changes().length).toBe(2);
  });
});

describe.each(['evented', 'auto'] as const)('in mode %s', (mode) => {
  it('misses no change though the runtime loses events and doubles others, and counts what was not announced', async () => {
    await using node = await SyntheticNode.start({ pods: 40, containersPerPod: 3 });
    const agent = node.createAgent({
      mode,
      relistPeriodMs: 200,
      eventedPeriodMs: 500,
      stretchedPeriodMs: 500,
      provenAfter: 5,
    });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(log.changes().length).toBe(120));
    await eventually(() => expect(agent.pleg.state().stream.state).toBe('up'));
    // What the first look after the connect shows is not held against the events.
    await agent.pleg.relist();
    log.clear();

    const expected: string[] = [];
    await node.control.setFaults({ duplicateEvery: 1 });
    expected.push(...(await node.control.kill({ count: 20 })).map(({ id }) => id));
    await eventually(() => expect(log.deaths().sort()).toEqual([...expected].sort()));
    await eventually(() => expect(agent.pleg.state().stream.announced).toBeGreaterThanOrEqual(20));
    expect(agent.pleg.state().stream.missed).toBe(0);

    await node.control.setFaults({ duplicateEvery: 3, dropEvery: 2 });
    const { eventsDropped } = await node.control.counters();
    for (let burst = 0; burst < 10; burst++) {
      expected.push(...(await node.control.kill({ count: 4 })).map(({ id }) => id));
    }
    // What dies and starts again between two looks is not promised to anybody.
    await eventually(() => expect(log.deaths().sort()).toEqual([...expected].sort()));
    const restarted = await node.control.restart({ count: 10 });
    await eventually(() => {
      expect(log.deaths().sort()).toEqual([...expected].sort());
      expect(log.changes().filter(({ type }) => type === 'ContainerStarted').length).toBe(restarted.length);
    });
    expect((await node.control.counters()).eventsDropped).toBeGreaterThan(eventsDropped);
    await eventually(() => expect(agent.pleg.state().stream.missed).toBeGreaterThan(0));
  });

  it('loses nothing when the stream breaks, is refused and comes back', async () => {
    await using node = await SyntheticNode.start({ pods: 10, containersPerPod: 3 });
    const agent = node.createAgent({
      mode,
      relistPeriodMs: 100,
      eventedPeriodMs: 60_000,
      stretchedPeriodMs: 60_000,
    });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(log.changes().length).toBe(30));
    await eventually(() => expect(agent.pleg.state().stream.state).toBe('up'));
    log.clear();
    const { connects } = agent.pleg.state().stream;

    const expected: string[] = [];
    for (let round = 0; round < 3; round++) {
      await node.control.breakEventStreams();
      expected.push(...(await node.control.kill({ count: 3 })).map(({ id }) => id));
      await eventually(() => expect(log.deaths().sort()).toEqual([...expected].sort()));
    }
    await eventually(() => expect(agent.pleg.state().stream.state).toBe('up'));
    expect(agent.pleg.state().stream.connects).toBeGreaterThan(connects);
    const [last] = await node.control.kill({ count: 1 });
    await eventually(() => expect(log.deaths()).toContain(last!.id));
    expect(log.changes().length).toBe(10);
  });
});

describe('a runtime without events', () => {
  it.each(['unimplemented', 'ended'] as const)('is relisted at the usual period: %s', async (events) => {
    await using node = await SyntheticNode.start({ pods: 4, containersPerPod: 1 });
    await node.control.setFaults({ events });
    const agent = node.createAgent({ mode: 'auto', relistPeriodMs: 50 });
    const log = agent.record();
    agent.run();
    await eventually(() => expect(agent.pleg.state().stream.state).toBe('unsupported'));
    const [killed] = await node.control.kill({ count: 1 });
    await eventually(() => expect(log.deaths()).toEqual([killed!.id]));
    expect(agent.pleg.state()).toMatchObject({ periodMs: 50, stream: { state: 'unsupported' } });
  });
});

describe('a runtime with streamed lists', () => {
  it('is seen as well as any other', async () => {
    await using node = await SyntheticNode.start({ pods: 150, containersPerPod: 2 });
    await node.control.setFaults({ streamingLists: true });
    const agent = node.createAgent({ mode: 'generic' });
    const log = agent.record();
    await agent.pleg.relist();
    await eventually(() => expect(log.changes().length).toBe(300));
    log.clear();
    const [killed] = await node.control.kill({ count: 1 });
    await agent.pleg.relist();
    await eventually(() => expect(log.deaths()).toEqual([killed!.id]));
    const { calls } = await node.control.counters();
    expect(calls.StreamContainers).toBeGreaterThan(0);
    expect(calls.StreamPodSandboxes).toBeGreaterThan(0);
  });
});
