import { describe, expect, it } from 'vitest';
import { aRule, ChaosHarness, idsOf } from '#support/harness/chaos-harness.js';
import { untilTrue } from '#support/until-true.js';

const WEB = { containerId: idsOf('web').containerId };

describe('events', () => {
  it('pass in order when no rule hits', async () => {
    await using harness = await ChaosHarness.start('rules: []');
    const seen = harness.readEvents();
    for (const kind of ['created', 'started', 'stopped'] as const) await harness.emit(kind, 'web');
    await untilTrue(() => seen.length === 3);
    expect(seen).toEqual(['created web', 'started web', 'stopped web']);
  });

  it('are dropped, by kind and by pod, on a stream that was open before the rule was there', async () => {
    await using harness = await ChaosHarness.start('rules: []');
    const seen = harness.readEvents();
    await harness.emit('started', 'web');
    await untilTrue(() => seen.length === 1);
    harness.replaceRules(aRule('events: [stopped], pods: [web]', 'type: drop-events'));
    for (const kind of ['stopped', 'deleted'] as const) {
      for (const pod of ['web', 'db']) await harness.emit(kind, pod);
    }
    await untilTrue(() => seen.length === 4);
    expect(seen).toEqual(['started web', 'stopped db', 'deleted web', 'deleted db']);
    expect(harness.injections).toMatchObject([
      {
        fault: 'drop-events',
        method: 'GetContainerEvents',
        pod: { name: 'web' },
        containerId: WEB.containerId,
      },
    ]);
  });

  it('come twice and more', async () => {
    await using harness = await ChaosHarness.start(aRule('every: 2', 'type: duplicate-events, copies: 2'));
    const seen = harness.readEvents();
    for (const pod of ['web', 'db']) await harness.emit('started', pod);
    await untilTrue(() => seen.length === 4);
    expect(seen).toEqual(['started web', 'started db', 'started db', 'started db']);
  });

  it('come late, and let others overtake them', async () => {
    await using harness = await ChaosHarness.start(aRule('pods: [web]', 'type: delay-events, for: 5s'));
    const seen = harness.readEvents();
    for (const pod of ['web', 'db', 'web']) await harness.emit('stopped', pod);
    await untilTrue(() => seen.length === 1 && harness.injections.length === 2);
    await harness.clock.advance(4_999);
    expect(seen).toEqual(['stopped db']);
    await harness.clock.advance(1);
    await untilTrue(() => seen.length === 3);
  });

  it('come in another order, when there are enough or when it has been long', async () => {
    await using harness = await ChaosHarness.start(aRule('', 'type: reorder-events, among: 4, wait: 3s'), {
      seed: 5,
    });
    const seen = harness.readEvents();
    const sent = ['created', 'started', 'stopped', 'deleted'] as const;
    for (const kind of sent) await harness.emit(kind, 'web');
    await untilTrue(() => seen.length === 4);
    expect(seen).not.toEqual(sent.map((kind) => `${kind} web`));
    expect([...seen].sort()).toEqual(sent.map((kind) => `${kind} web`).sort());
    await harness.emit('created', 'db');
    await untilTrue(() => harness.injections.length === 5);
    expect(seen).toHaveLength(4);
    await harness.clock.advance(3_000);
    await untilTrue(() => seen.length === 5);
  });

  it.each([
    ['type: end-stream', 'ended'],
    ['type: end-stream, code: UNAVAILABLE', 'CRI_UNAVAILABLE'],
  ])('end with the n-th one: %s', async (fault, end) => {
    await using harness = await ChaosHarness.start(aRule('nth: 2', fault));
    const seen = harness.readEvents();
    await harness.emit('created', 'web');
    await untilTrue(() => seen.length === 1);
    await harness.emit('started', 'web');
    await untilTrue(() => seen.length === 2);
    expect(seen).toEqual(['created web', end]);
    // The next stream is none of the rule's business.
    const next = harness.readEvents();
    await untilTrue(() => harness.arrived.length === 2);
    await harness.emit('stopped', 'db');
    await untilTrue(() => next.length === 1);
  });

  it('end some time after their stream was opened', async () => {
    await using harness = await ChaosHarness.start(aRule('', 'type: end-stream, openFor: 30s'));
    const seen = harness.readEvents();
    await harness.emit('created', 'web');
    await untilTrue(() => seen.length === 1);
    await harness.clock.advance(30_000);
    await untilTrue(() => seen.length === 2);
    expect(seen).toEqual(['created web', 'ended']);
  });

  it('are as any call to rules of calls', async () => {
    await using harness = await ChaosHarness.start(
      aRule('methods: [GetContainerEvents]', 'type: error, code: UNIMPLEMENTED'),
    );
    const seen = harness.readEvents();
    await untilTrue(() => seen.length === 1);
    expect(seen).toEqual(['CRI_UNIMPLEMENTED']);
    expect(harness.arrived).toEqual([]);
  });
});
