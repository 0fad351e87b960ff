import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
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

/** An item of a list of containers, as far as it matters. */
function anItem(id: string, text: string): Buffer {
  const bytes = Buffer.from(`${id} ${text}`);
  return Buffer.concat([Buffer.of((1 << 3) | 2, 0x80 | (bytes.length & 0x7f), bytes.length >> 7), bytes]);
}

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

  it('come back unchanged from a message that is no valid protobuf', () => {
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

  it('are in a bounded number of pieces, however many small items a list has', () => {
    const shared = new SharedBytes();
    const items = Array.from({ length: 60_000 }, (_, at) => anItem(`${at}`, 'x'.repeat(125)));
    const large = Buffer.concat(items);
    const stored = shared.store(large);
    expect(stored.bytes.equals(large)).toBe(true);
    expect(stored.pieces.length).toBeLessThan(4_000 + large.length / (32 << 10));
    const other = shared.store(Buffer.concat([large, items[0]!]));
    expect(other.pieces.filter((piece) => stored.pieces.includes(piece)).length).toBeGreaterThan(4_000);
  });

  it('are shared with the last list in any order, and hashed only where an item has changed', () => {
    const shared = new SharedBytes();
    const items = Array.from({ length: 100 }, (_, at) => anItem(`${at}`, 'x'.repeat(300)));
    shared.store(Buffer.concat(items));
    const changed = [...items.slice(1).reverse(), anItem('0', `${'x'.repeat(299)}y`)];
    const get = vi.spyOn(Map.prototype, 'get');
    const stored = shared.store(Buffer.concat(changed));
    const hashed = get.mock.calls.filter(([key]) => typeof key === 'string').length;
    get.mockRestore();
    expect(hashed).toBeLessThanOrEqual(2);
    expect(stored.bytes.equals(Buffer.concat(changed))).toBe(true);
  });

  it('are those of each message, also if items differ in their last byte alone', () => {
    const shared = new SharedBytes();
    const messages = ['a', 'b', 'a', 'c'].map((end) => anItem('same', 'x'.repeat(300) + end));
    const stored = messages.map((each) => shared.store(each));
    expect(stored.map(({ bytes }) => bytes)).toEqual(messages);
    expect(stored[2]).toBe(stored[0]);
    shared.release(stored[3]!);
    expect(shared.store(messages[1]!)).toBe(stored[1]);
    for (const each of [...stored.slice(0, 3), stored[1]!]) shared.release(each);
    expect(shared.memoryBytes).toBe(0);
  });
});
