import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeRuntimePort } from '#support/fakes/fake-runtime-port.js';
import { PodloopError } from '#base/errors/errors.js';
import { EventWitness, type ListedNode } from './event-witness.js';
import { type EventFacts } from './runtime-facts.js';

const { signal } = new AbortController();

async function setUp(): Promise<{ clock: FakeClock; runtime: FakeRuntimePort; witness: EventWitness }> {
  const clock = new FakeClock();
  const runtime = new FakeRuntimePort(clock);
  runtime.addPod('web', 2);
  runtime.addPod('db');
  const witness = new EventWitness(clock);
  const opening = witness.open(runtime, signal);
  await clock.advance(300);
  await opening;
  return { clock, runtime, witness };
}

const listOf = ({ sandboxes, containers }: FakeRuntimePort): ListedNode => ({
  sandboxes: [...sandboxes],
  containers: [...containers],
});

/** The node as it is, with these containers ended. */
function withEnded(node: ListedNode, ...ids: string[]): ListedNode {
  const containers = node.containers.map((each) =>
    ids.includes(each.id) ? { ...each, state: 'exited' as const } : each,
  );
  return { ...node, containers };
}

async function testify(clock: FakeClock, testimony: Promise<EventFacts>): Promise<EventFacts> {
  await clock.advance(3_000);
  return await testimony;
}

describe('EventWitness', () => {
  it('holds nothing against a stream that told of every change, also a moment after the list', async () => {
    const { clock, runtime, witness } = await setUp();
    const before = listOf(runtime);
    runtime.tell('web-c0');
    clock.setTimer(1_000, () => runtime.tell('db-c0'));
    const after = withEnded(before, 'web-c0', 'db-c0');
    expect(await testify(clock, witness.testify(before, after, signal))).toMatchObject({
      ...{ isSupported: true, received: 2, changed: 2, missed: [], missedCount: 0 },
    });
  });

  it('names what changed without a word', async () => {
    const { clock, runtime, witness } = await setUp();
    const before = listOf(runtime);
    runtime.tell('web-c0');
    const after = withEnded(before, 'web-c0', 'web-c1', 'db-c0');
    const facts = await testify(clock, witness.testify(before, after, signal));
    expect(facts).toMatchObject({ received: 1, changed: 3, missedCount: 2 });
    expect(facts.missed.map(({ pod, container }) => [pod.name, container])).toEqual([
      ['web', 'c1'],
      ['db', 'c0'],
    ]);
    expect(facts.ended).toBeUndefined();
  });

  it('says why the stream ended, and does not wait for it any more', async () => {
    const { clock, runtime, witness } = await setUp();
    runtime.endStream();
    await clock.settle();
    const before = listOf(runtime);
    const startedMs = clock.monotonicMs();
    const facts = await witness.testify(before, withEnded(before, 'db-c0'), signal);
    expect(facts).toMatchObject({ ended: 'the runtime ended the stream', isSupported: true, missedCount: 1 });
    expect(clock.monotonicMs()).toBe(startedMs);
  });

  it('tells a runtime without events from one whose events break off', async () => {
    const { clock, runtime, witness } = await setUp();
    runtime.endStream(new PodloopError('CRI_UNIMPLEMENTED', 'unknown method'));
    await clock.settle();
    const node = listOf(runtime);
    expect(await witness.testify(node, node, signal)).toMatchObject({
      ...{ isSupported: false, ended: 'unknown method', changed: 0 },
    });
  });

  it('closes the stream and waits for its end, as often as it is told to', async () => {
    const { witness } = await setUp();
    await witness.close();
    await witness.close();
  });
});
