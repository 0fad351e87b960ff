import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { CallRing } from './call-ring.js';

const LIST = '/runtime.v1.RuntimeService/ListContainers';
const VERSION = '/runtime.v1.RuntimeService/Version';

function setUp(maxBytes = 100_000, maxAgeMs = 60_000) {
  const clock = new FakeClock();
  const ring = new CallRing({ clock, maxBytes, maxAgeMs });
  const call = (answer: Buffer, path = LIST, request = Buffer.alloc(0)): void => {
    const sent = ring.sent(path, request);
    sent.message(answer);
    sent.ended(undefined);
  };
  return { clock, ring, call };
}

describe('the flight recorder', () => {
  it('has each call with its answer, or its error, in the order of their begin', async () => {
    const { clock, ring } = setUp();
    const list = ring.sent(LIST, Buffer.from('q'));
    await clock.advance(5);
    const version = ring.sent(VERSION, Buffer.alloc(0));
    version.ended(new Error('gone'));
    list.message(Buffer.from('containers'));
    list.ended(undefined);
    const [first, second] = ring.calls;
    expect(first).toMatchObject({ path: LIST, request: Buffer.from('q') });
    expect(first!.messages.map(({ bytes }) => bytes.toString())).toEqual(['containers']);
    expect(first!.end?.error).toBeUndefined();
    expect(second!.beganMs - first!.beganMs).toBe(5);
    expect(second!.end?.error).toEqual(new Error('gone'));
  });

  it('stores the same answer to the same question once', () => {
    const { ring, call } = setUp(1_000_000);
    const answer = Buffer.alloc(10_000, 'x');
    for (let at = 0; at < 50; at++) call(Buffer.from(answer));
    expect(ring.calls).toHaveLength(50);
    expect(new Set(ring.calls.map(({ messages }) => messages[0]!.bytes)).size).toBe(1);
    expect(ring.bytes).toBeLessThan(50 * 300 + 10_001);
  });

  it('forgets what is too old', async () => {
    const { clock, ring, call } = setUp();
    call(Buffer.from('old'));
    await clock.advance(60_001);
    call(Buffer.from('new'));
    expect(ring.calls.map(({ messages }) => messages[0]!.bytes.toString())).toEqual(['new']);
  });

  it('reports each step to followers until they leave', () => {
    const { ring, call } = setUp();
    const heard: string[] = [];
    const leave = ring.follow((_call, what) => heard.push(what));
    call(Buffer.from('a'));
    leave();
    call(Buffer.from('b'));
    expect(heard).toEqual(['began', 'message', 'ended']);
  });
});

it('has never more bytes than it may, and counts them right, whatever comes', () => {
  const step = fc.record({ question: fc.nat(3), size: fc.nat(3_000), fill: fc.nat(2), hangs: fc.boolean() });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
      const { ring } = setUp(10_000);
      for (const { question, size, fill, hangs } of steps) {
        const sent = ring.sent(LIST, Buffer.of(question));
        sent.message(Buffer.alloc(size, fill));
        if (!hangs) sent.ended(undefined);
        expect(ring.bytes).toBeLessThanOrEqual(10_000);
        const buffers = new Set(
          ring.calls.flatMap(({ request, messages }) => [request, ...messages.map(({ bytes }) => bytes)]),
        );
        const expected = [...buffers].reduce((sum, { length }) => sum + length, 300 * ring.calls.length);
        expect(ring.bytes).toBe(expected);
      }
    }),
  );
});
