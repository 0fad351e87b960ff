import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { GrpcStatusError } from '#watch';
import { CallRing, type RingCall } from './call-ring.js';

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

const ITEM_BYTES = 600;

/** An item of a list as protobuf has it: a field of this many bytes. */
function itemOf(id: number): Buffer {
  return Buffer.concat([
    Buffer.of(0x0a, 0x80 | (ITEM_BYTES & 0x7f), ITEM_BYTES >> 7),
    Buffer.alloc(ITEM_BYTES, `${id} `),
  ]);
}

function textsOf({ messages }: RingCall): string[] {
  return messages.map(({ content }) => content.bytes.toString());
}

describe('the flight recorder', () => {
  it('has each call with its answer, or its error, in the order of their begin', async () => {
    const { clock, ring } = setUp();
    const list = ring.sent(LIST, Buffer.from('q'));
    await clock.advance(5);
    const version = ring.sent(VERSION, Buffer.alloc(0));
    version.ended(new GrpcStatusError(14, 'gone'));
    list.message(Buffer.from('containers'));
    list.ended(undefined);
    const [first, second] = ring.calls;
    expect(first!.path).toBe(LIST);
    expect(first!.request.bytes).toEqual(Buffer.from('q'));
    expect(textsOf(first!)).toEqual(['containers']);
    expect(first!.end?.how).toEqual({ code: 0 });
    expect(second!.beganMs - first!.beganMs).toBe(5);
    expect(second!.end?.how).toEqual({ code: 14, message: 'gone' });
  });

  it('stores the same answer to the same question once', () => {
    const { ring, call } = setUp(1_000_000);
    const answer = Buffer.alloc(10_000, 'x');
    for (let at = 0; at < 50; at++) call(Buffer.from(answer));
    expect(ring.calls).toHaveLength(50);
    expect(new Set(ring.calls.map(({ messages }) => messages[0]!.content)).size).toBe(1);
    expect(ring.bytes).toBeLessThan(50 * 300 + 10_001);
  });

  it('stores what lists have in common once, in whatever order they have it', () => {
    const { ring, call } = setUp(10_000_000);
    const items = Array.from({ length: 100 }, (_, at) => itemOf(at));
    for (let at = 0; at < 50; at++) {
      items.push(itemOf(100 + at), ...items.splice(0, 10));
      call(Buffer.concat(items));
    }
    expect(ring.bytes).toBeGreaterThan(50 * 100 * ITEM_BYTES);
    expect(ring.memoryBytes).toBeLessThan(0.1 * ring.bytes);
    expect(ring.calls.at(-1)!.messages[0]!.content.bytes).toEqual(Buffer.concat(items));
  });

  it('counts the memory of nothing that it has forgotten', async () => {
    const { clock, ring, call } = setUp(10_000_000);
    for (let at = 0; at < 200; at++) call(Buffer.concat([itemOf(at), itemOf(at + 1), itemOf(at % 3)]));
    await clock.advance(60_001);
    call(Buffer.from('new'));
    expect(ring.calls).toHaveLength(1);
    expect(ring.memoryBytes).toBeLessThan(1_000);
  });

  it('counts the texts of errors', () => {
    const { ring } = setUp(11_000);
    for (let at = 0; at < 10; at++)
      ring.sent(LIST, Buffer.alloc(0)).ended(new GrpcStatusError(13, 'x'.repeat(3_000)));
    expect(ring.calls).toHaveLength(3);
    expect(ring.bytes).toBe(3 * 3_300);
  });

  it('forgets what is too old', async () => {
    const { clock, ring, call } = setUp();
    call(Buffer.from('old'));
    await clock.advance(60_001);
    call(Buffer.from('new'));
    expect(ring.calls.flatMap(textsOf)).toEqual(['new']);
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
        expect(ring.memoryBytes).toBeLessThanOrEqual(10_000);
        const contents = new Set(
          ring.calls.flatMap(({ request, messages }) =>
            [request, ...messages.map(({ content }) => content)].map(({ bytes }) => bytes.toString('latin1')),
          ),
        );
        const expected = [...contents].reduce((sum, { length }) => sum + length, 300 * ring.calls.length);
        expect(ring.bytes).toBe(expected);
      }
    }),
  );
});
