import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { IdTable, viewOf } from './id-table.js';

function placed(id: string): { view: DataView; start: number; end: number } {
  // Neither at the start nor aligned, as in an answer.
  const bytes = Buffer.from(`xyz${id}!`);
  return { view: viewOf(bytes), start: 3, end: bytes.length - 1 };
}

function find(table: IdTable, id: string): number {
  const { view, start, end } = placed(id);
  return table.find(view, start, end);
}

function add(table: IdTable, id: string): number {
  const { view, start, end } = placed(id);
  return table.add(view, start, end);
}

describe('a table of ids', () => {
  it('contains what a map contains, through any additions and removals', () => {
    // From few ids, so that they repeat: short ones, ones that differ only at the end, of 64 bytes, longer,
    // and not ASCII.
    const id = fc.oneof(
      fc.constantFrom(
        '',
        'a',
        'b',
        'é',
        'x'.repeat(64),
        'x'.repeat(65),
        `${'x'.repeat(65)}y`,
        'x'.repeat(63),
      ),
      fc.nat(40).map((number) => `container-with-a-common-front-${number}`),
      fc.nat(40).map((number) => number.toString(16).padStart(64, '0')),
    );
    fc.assert(
      fc.property(fc.array(fc.record({ id, remove: fc.boolean() }), { maxLength: 300 }), (steps) => {
        const table = new IdTable();
        const model = new Map<string, number>();
        for (const { id: text, remove } of steps) {
          const slot = model.get(text);
          expect(find(table, text)).toBe(slot ?? -1);
          if (slot === undefined) {
            const added = add(table, text);
            expect([...model.values()]).not.toContain(added);
            model.set(text, added);
          } else if (remove) {
            table.remove(slot);
            model.delete(text);
          }
          expect(table.size).toBe(model.size);
        }
        for (const [text, slot] of model) expect(find(table, text)).toBe(slot);
      }),
      { numRuns: 100 },
    );
  });

  it('grows, and reuses the slots of removed ids', () => {
    const table = new IdTable();
    const idOf = (number: number): string => `${number}`.padStart(64, 'f');
    const slots = Array.from({ length: 5_000 }, (_, number) => add(table, idOf(number)));
    expect(new Set(slots).size).toBe(5_000);
    expect(table.end).toBe(5_000);
    for (let number = 0; number < 5_000; number += 2) table.remove(slots[number]!);
    expect(table.size).toBe(2_500);
    for (let number = 0; number < 5_000; number++)
      expect(find(table, idOf(number))).toBe(number % 2 === 0 ? -1 : slots[number]);
    for (let number = 0; number < 2_500; number++) add(table, `again-${number}`);
    expect(table.end).toBe(5_000);
    for (let number = 1; number < 5_000; number += 2) expect(find(table, idOf(number))).toBe(slots[number]);
  });

  it('has its own copy of the bytes', () => {
    const table = new IdTable();
    const bytes = Buffer.alloc(64, 'a');
    const slot = table.add(viewOf(bytes), 0, 64);
    bytes.fill('b');
    expect(table.find(viewOf(bytes), 0, 64)).toBe(-1);
    expect(table.find(viewOf(bytes.fill('a')), 0, 64)).toBe(slot);
  });
});
