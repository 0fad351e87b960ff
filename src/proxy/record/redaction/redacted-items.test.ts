import { describe, expect, it } from 'vitest';
import { type RedactedItem, RedactedItems } from './redacted-items.js';

const item = (bytes: Buffer): RedactedItem => ({ bytes, redacted: 0, unknownFields: 0, secrets: [] });

describe('what was redacted before', () => {
  it('is forgotten beyond its bytes, what was not seen for the longest time first', () => {
    const items = new RedactedItems(10_000);
    for (const name of ['a', 'b', 'c']) items.add(name, item(Buffer.alloc(2_500, name)));
    expect(items.find('a')?.bytes?.length).toBe(2_500);
    items.add('d', item(Buffer.alloc(2_500)));
    expect(['a', 'b', 'c', 'd'].filter((name) => items.find(name) !== undefined)).toEqual(['a', 'c', 'd']);
    expect(items.bytes).toBeLessThanOrEqual(10_000);
  });

  it('has many small items in its bytes, too', () => {
    const items = new RedactedItems(10_000);
    for (let at = 0; at < 1_000; at++) items.add(String(at), item(Buffer.from('x')));
    expect(
      Array.from({ length: 1_000 }, (_, at) => items.find(String(at))).filter(Boolean).length,
    ).toBeLessThan(25);
  });

  it('always has the newest, however large', () => {
    const items = new RedactedItems(1_000);
    items.add('small', item(Buffer.alloc(10)));
    items.add('large', item(Buffer.alloc(5_000)));
    expect(items.find('large')?.bytes?.length).toBe(5_000);
    expect(items.find('small')).toBeUndefined();
  });

  it('does not hold on to the message that an item is a part of', () => {
    const items = new RedactedItems(10_000);
    const message = Buffer.from('before the field behind');
    items.add('field', item(message.subarray(7, 16)));
    const { bytes } = items.find('field')!;
    expect(bytes?.toString()).toBe('the field');
    expect(bytes?.buffer.byteLength).toBe(9);
  });
});
