import { BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { FieldOrder } from './field-order.js';
import { CONTAINER_LIST, scanList } from './list-decoder.js';

type Field = 'id' | 'state' | 'image' | 'label';

interface Item {
  readonly id: string;
  readonly state: number;
  readonly fields: readonly Field[];
}

const TAGS: Record<Field, number> = {
  id: (1 << 3) | 2,
  image: (5 << 3) | 2,
  state: (6 << 3) | 0,
  label: (8 << 3) | 2,
};
const USUAL: readonly Field[] = ['id', 'image', 'state', 'label'];

function encode(items: readonly Item[]): Buffer {
  const writer = new BinaryWriter();
  for (const { id, state, fields } of items) {
    writer.uint32((1 << 3) | 2).fork();
    for (const field of fields) {
      writer.uint32(TAGS[field]);
      if (field === 'state') writer.int32(state);
      else writer.string(field === 'id' ? id : 'x'.repeat(200));
    }
    writer.join();
  }
  return Buffer.from(writer.finish());
}

/** Reads as the pod index does: a known id costs 1, a new item is decoded whole. */
class Reader {
  readonly order = new FieldOrder();
  readonly #known = new Set<string>();

  async read(answer: Buffer): Promise<Map<string, number>> {
    const states = new Map<string, number>();
    const visit = (idStart: number, idEnd: number, state: number): number => {
      const id = answer.toString('utf8', idStart, idEnd);
      states.set(id, state);
      if (this.#known.has(id)) return 1;
      this.#known.add(id);
      return 20;
    };
    await scanList(answer, CONTAINER_LIST, { unknownFields: 0 }, visit, { order: this.order });
    return states;
  }
}

/**
 * Sets the first byte of a label's text, the last field of the only item, so that it reaches beyond the end.
 */
function breakLastField(answer: Buffer): Buffer {
  const broken = Buffer.from(answer);
  const lengthAt = broken.length - 200 - 2;
  broken[lengthAt] = 0xff;
  return broken;
}

describe('the order of fields', () => {
  it('lets an item be read only up to its state, once a whole list was in ascending order', async () => {
    const reader = new Reader();
    const answer = encode([{ id: 'a', state: 1, fields: USUAL }]);
    const broken = breakLastField(answer);
    await expect(reader.read(broken)).rejects.toThrow('beyond the end');
    expect(reader.order.ascends).toBe(false);
    await reader.read(answer);
    expect(reader.order.ascends).toBe(true);
    expect(await reader.read(broken)).toEqual(new Map([['a', 1]]));
  });

  it('reads an omitted state as the default one', async () => {
    const reader = new Reader();
    await reader.read(encode([{ id: 'a', state: 1, fields: USUAL }]));
    const answer = encode([{ id: 'a', state: 0, fields: ['id', 'image', 'label'] }]);
    expect(await reader.read(answer)).toEqual(new Map([['a', 0]]));
    expect(reader.order.ascends).toBe(true);
  });

  it('is no longer relied on after one new item that is not in order', async () => {
    const reader = new Reader();
    await reader.read(encode([{ id: 'a', state: 1, fields: USUAL }]));
    const odd: Item = { id: 'b', state: 1, fields: ['label', 'id', 'state'] };
    await reader.read(encode([{ id: 'a', state: 1, fields: USUAL }, odd]));
    expect(reader.order.ascends).toBe(false);
    const next = encode([
      { id: 'a', state: 2, fields: USUAL },
      { ...odd, state: 2 },
    ]);
    expect([...(await reader.read(next)).values()]).toEqual([2, 2]);
    expect(reader.order.ascends).toBe(false);
  });

  it('is checked again on another connection', async () => {
    const reader = new Reader();
    reader.order.useConnection(1);
    await reader.read(encode([{ id: 'a', state: 1, fields: USUAL }]));
    reader.order.useConnection(1);
    expect(reader.order.ascends).toBe(true);
    reader.order.useConnection(2);
    expect(reader.order.ascends).toBe(false);
    await reader.read(encode([{ id: 'a', state: 2, fields: ['state', 'id'] }]));
    expect(reader.order.ascends).toBe(false);
  });

  it('is not derived from an empty list', async () => {
    const reader = new Reader();
    await reader.read(encode([]));
    expect(reader.order.ascends).toBe(false);
  });

  it('is checked again after a list that may have come over either of two connections', async () => {
    const reader = new Reader();
    for (const connection of [undefined, 2]) {
      reader.order.useConnection(connection);
      expect(reader.order.ascends).toBe(false);
      await reader.read(encode([{ id: 'a', state: 1, fields: USUAL }]));
      expect(reader.order.ascends).toBe(true);
    }
    reader.order.useConnection(undefined);
    expect(reader.order.ascends).toBe(false);
  });

  it('does not change what is read, whatever order a runtime uses', async () => {
    const fields = fc.shuffledSubarray([...USUAL, 'state', 'label', 'id'] as Field[], { minLength: 1 });
    const node = fc.uniqueArray(fc.record({ id: fc.string({ maxLength: 9 }), fields }), {
      selector: ({ fields: some, id }) => (some.includes('id') ? id : ''),
      maxLength: 6,
    });
    await fc.assert(
      fc.asyncProperty(node, fc.infiniteStream(fc.nat({ max: 5 })), async (items, states) => {
        const reader = new Reader();
        for (let look = 0; look < 4; look++) {
          // Each list has one more item, so that new ones appear among known ones.
          const shown = items
            .slice(0, look + 2)
            .map((item) => ({ ...item, state: states.next().value as number }));
          const expected = shown.map(
            (item) =>
              [
                item.fields.includes('id') ? item.id : '',
                item.fields.includes('state') ? item.state : 0,
              ] as const,
          );
          // For a new item only the id counts here, as the index decodes the whole item.
          const seen = await reader.read(encode(shown));
          const known = look === 0 ? expected : expected.slice(0, look + 1);
          for (const [id, state] of known) expect(seen.get(id)).toBe(state);
          expect(seen.size).toBe(new Map(expected).size);
        }
      }),
      { numRuns: 300 },
    );
  });
});
