import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SharedBytes } from './shared-bytes.js';

/** A field that has a length, as an item of a list is. */
const field = fc
  .record({ number: fc.integer({ min: 1, max: 15 }), size: fc.nat(400), fill: fc.nat(3) })
  .map(({ number, size, fill }) =>
    Buffer.concat([Buffer.of((number << 3) | 2, 0x80 | (size & 0x7f), size >> 7), Buffer.alloc(size, fill)]),
  );
const list = fc.array(field, { maxLength: 8 }).map((fields) => Buffer.concat(fields));
const message = fc.oneof(
  list,
  fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes)),
);

describe('shared bytes', () => {
  it('are each message as it was, and nothing once all are released, whatever comes', () => {
    fc.assert(
      fc.property(fc.array(message, { maxLength: 30 }), fc.array(fc.nat(29)), (messages, releases) => {
        const shared = new SharedBytes();
        const stored = messages.map((each) => ({ each, known: shared.store(each) }));
        const early = new Set(releases);
        for (const at of early) if (at < stored.length) shared.release(stored[at]!.known);
        const left = stored.filter((_, at) => !early.has(at));
        for (const { each, known } of left) {
          expect(known.bytes).toEqual(each);
          expect(shared.store(each)).toBe(known);
          shared.release(known);
        }
        for (const { known } of left) shared.release(known);
        expect(shared.memoryBytes).toBe(0);
      }),
    );
  });

  it('are not those of the message, which may lie in a large buffer', () => {
    const shared = new SharedBytes();
    const whole = Buffer.from('before-it-after');
    const stored = shared.store(whole.subarray(7, 9));
    whole.fill('x');
    expect(stored.bytes.toString()).toBe('it');
    expect(stored.bytes.buffer.byteLength).toBe(2);
  });

  it('do not refer to what comes from elsewhere and is no protobuf', () => {
    const shared = new SharedBytes();
    const hostile = [Buffer.of(0x0a, 0xff, 0xff, 0xff, 0xff, 0xff), Buffer.of(0x0a), Buffer.alloc(9, 0xff)];
    for (const each of hostile) expect(shared.store(each).bytes).toEqual(each);
  });

  it('count a message that was stored before as one', () => {
    const shared = new SharedBytes();
    const [one, two] = [shared.store(Buffer.from('same')), shared.store(Buffer.from('same'))];
    expect(two).toBe(one);
    expect(one.uses).toBe(2);
    expect(one.bytes).toBe(two.bytes);
  });
});
