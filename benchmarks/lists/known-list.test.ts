import { expect, it } from 'vitest';
import { Container, ListContainersResponse } from '#watch/messages';
import { KnownList } from './known-list.js';

const idOf = (index: number): string => index.toString(16).padStart(64, '0');
const items = Array.from({ length: 300 }, (_, index) => ({ id: idOf(index), state: index % 4 }));
const known = new KnownList(items, 6);

function answerOf(listed: readonly { readonly id: string; readonly state: number }[]): Buffer {
  const containers = listed.map(({ id, state }, at) => ({
    ...{
      id,
      state: state as 0 | 1 | 2 | 3,
      podSandboxId: `sandbox-${at}`,
      metadata: { name: 'main', attempt: at },
    },
    labels: { long: 'x'.repeat(at) },
  }));
  return Buffer.from(
    ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers })).finish(),
  );
}

it('finds nothing new in what it knows, in any order', () => {
  expect(known.compare(answerOf(items))).toEqual({ seen: 300, changed: 0 });
  expect(known.compare(answerOf(items.toReversed()))).toEqual({ seen: 300, changed: 0 });
});

it('finds what is new, what has another state and what is missing', () => {
  const changed = items.slice(1).map((item) => (item.id === idOf(7) ? { ...item, state: 2 } : item));
  expect(known.compare(answerOf([...changed, { id: idOf(900), state: 0 }]))).toEqual({
    seen: 300,
    changed: 2,
  });
  expect(known.compare(answerOf([{ id: 'short', state: 0 }]))).toEqual({ seen: 1, changed: 1 });
  expect(known.compare(answerOf(items.slice(0, 5)))).toEqual({ seen: 5, changed: 0 });
});

it('reads an item whose state comes before its id, and passes over what it does not know', () => {
  const id = Buffer.concat([Buffer.from([0x0a, 64]), Buffer.from(idOf(3))]);
  const state = Buffer.from([0x30, 3]);
  const strange = Buffer.from([
    ...[0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8], // field 100, eight bytes
    ...[0xa5, 0x06, 1, 2, 3, 4], // field 100, four bytes
    ...[0xa0, 0x06, 0xff, 0xff, 0x01], // field 100, a varint
  ]);
  const body = Buffer.concat([strange, state, id]);
  const message = Buffer.concat([Buffer.from([0x0a, body.length]), body, strange]);
  expect(known.compare(message)).toEqual({ seen: 1, changed: 0 });
  expect(Container.decode(body).id).toBe(idOf(3));
});

it('takes only ids of the length that runtimes give', () => {
  expect(() => new KnownList([{ id: 'short', state: 0 }], 6)).toThrow('not an id');
});
