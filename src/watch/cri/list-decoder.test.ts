import { BinaryWriter } from '@bufbuild/protobuf/wire';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import {
  Container,
  ContainerState,
  ListContainersResponse,
  ListPodSandboxResponse,
} from './generated/runtime/v1/cri.js';
import { CONTAINER_LIST, SANDBOX_LIST, scanList, type SliceOptions } from './list-decoder.js';

interface Seen {
  id: string;
  state: number;
  item: Buffer;
}

async function scan(
  answer: Uint8Array,
  options: SliceOptions & { shape?: typeof CONTAINER_LIST; cost?: number } = {},
): Promise<{ seen: Seen[]; unknownFields: number }> {
  const { shape = CONTAINER_LIST, cost = 1 } = options;
  const bytes = Buffer.from(answer);
  const counters = { unknownFields: 0 };
  const seen: Seen[] = [];
  await scanList(
    bytes,
    shape,
    counters,
    (idStart, idEnd, state, start, end) => {
      seen.push({
        id: bytes.toString('utf8', idStart, idEnd),
        state,
        item: Buffer.from(bytes.subarray(start, end)),
      });
      return cost;
    },
    options,
  );
  return { seen, unknownFields: counters.unknownFields };
}

function containers(count: number): Uint8Array {
  const list = Array.from({ length: count }, (_, index) => ({
    id: `c${index}`,
    state: (index % 4) as 0 | 1 | 2 | 3,
    labels: { 'io.kubernetes.pod.uid': `u${index}`, long: 'x'.repeat(index % 300) },
    createdAt: BigInt(index) << 40n,
  }));
  return ListContainersResponse.encode(ListContainersResponse.create({ containers: list })).finish();
}

describe('reading a list by hand', () => {
  it('sees of each item what the generated decoder sees', async () => {
    const answer = containers(700);
    const { seen, unknownFields } = await scan(answer);
    const decoded = ListContainersResponse.decode(answer).containers;
    expect(seen.map(({ id, state }) => ({ id, state }))).toEqual(
      decoded.map(({ id, state }) => ({ id, state })),
    );
    expect(seen.map(({ item }) => Container.decode(item))).toEqual(decoded);
    expect(unknownFields).toBe(0);
  });

  it('reads sandboxes', async () => {
    const answer = ListPodSandboxResponse.encode(
      ListPodSandboxResponse.create({ items: [{ id: 'a' }, { id: 'b', state: 1, runtimeHandler: 'runc' }] }),
    ).finish();
    const { seen } = await scan(answer, { shape: SANDBOX_LIST });
    expect(seen).toMatchObject([
      { id: 'a', state: 0 },
      { id: 'b', state: 1 },
    ]);
  });

  it('assumes no order of fields, and counts those it does not know', async () => {
    const field = fc.oneof(
      fc.record({ kind: fc.constant('id' as const), value: fc.string({ maxLength: 70 }) }),
      fc.record({ kind: fc.constant('state' as const), value: fc.integer({ min: 0, max: 5 }) }),
      fc.record({ kind: fc.constant('known' as const), value: fc.string({ maxLength: 300 }) }),
      fc.record({ kind: fc.constant('unknown' as const), value: fc.integer({ min: 11, max: 3000 }) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(field, { maxLength: 8 }), { maxLength: 5 }), async (items) => {
        const writer = new BinaryWriter();
        let unknown = 0;
        const expected = items.map((fields) => {
          let id = '';
          let state = 0;
          writer.uint32((1 << 3) | 2).fork();
          for (const { kind, value } of fields) {
            if (kind === 'id') writer.uint32((1 << 3) | 2).string((id = value));
            else if (kind === 'state') writer.uint32((6 << 3) | 0).int32((state = value));
            else if (kind === 'known') writer.uint32((5 << 3) | 2).string(value);
            else {
              unknown++;
              if (value % 4 === 0) writer.uint32((value << 3) | 0).uint64(BigInt(value) << 40n);
              else if (value % 4 === 1) writer.uint32((value << 3) | 1).fixed64(1n);
              else if (value % 4 === 2) writer.uint32((value << 3) | 2).string('x'.repeat(value % 200));
              else writer.uint32((value << 3) | 5).fixed32(1);
            }
          }
          writer.join();
          return { id, state };
        });
        const { seen, unknownFields } = await scan(writer.finish());
        expect(seen.map(({ id, state }) => ({ id, state }))).toEqual(expected);
        expect(unknownFields).toBe(unknown);
      }),
      { numRuns: 300 },
    );
  });

  it('reads a bounded number of items in each slice, and lets the event loop turn in between', async () => {
    const slices: number[] = [];
    let visited = 0;
    const options = { sliceItems: 500, yieldToLoop: () => Promise.resolve(slices.push(visited)) };
    const bytes = Buffer.from(containers(10_000));
    const counters = { unknownFields: 0 };
    await scanList(bytes, CONTAINER_LIST, counters, () => (visited++, 1), options);
    expect(visited).toBe(10_000);
    expect(slices).toEqual(Array.from({ length: 19 }, (_, index) => (index + 1) * 500));
  });

  it('takes fewer where each costs more', async () => {
    let slices = 0;
    const yieldToLoop = (): Promise<number> => Promise.resolve(slices++);
    const { seen } = await scan(containers(100), { sliceItems: 40, cost: 8, yieldToLoop });
    expect(seen).toHaveLength(100);
    expect(slices).toBe(19);
  });

  it('stops between slices when its signal aborts', async () => {
    const controller = new AbortController();
    const reason = new Error('enough');
    const yieldToLoop = (): Promise<void> => {
      controller.abort(reason);
      return Promise.resolve();
    };
    await expect(
      scan(containers(100), { sliceItems: 10, yieldToLoop, signal: controller.signal }),
    ).rejects.toBe(reason);
  });

  it('throws, and never hangs or reads beyond the end, for any broken answer', async () => {
    const answer = containers(3);
    for (let length = 0; length < answer.length; length++) {
      const cut = answer.subarray(0, length);
      await scan(cut).then(
        // Cut between two items it is a shorter list.
        ({ seen }) => expect(ListContainersResponse.decode(cut).containers).toHaveLength(seen.length),
        (error: unknown) => expect(error).toBeInstanceOf(RangeError),
      );
    }
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 60 }), async (bytes) => {
        await scan(bytes).catch((error: unknown) => expect(error).toBeInstanceOf(RangeError));
      }),
      { numRuns: 500 },
    );
  });

  it('passes over fields of every wire type beside the items, as a newer runtime may add', async () => {
    const item = Container.encode(Container.create({ id: 'c', state: 1 })).finish();
    const writer = new BinaryWriter();
    writer.uint32((5 << 3) | 2).string('token');
    writer.uint32((6 << 3) | 2).string('x'.repeat(300));
    writer.uint32((7 << 3) | 0).uint64(2n ** 40n);
    writer.uint32((8 << 3) | 1).fixed64(7n);
    writer.uint32((9 << 3) | 5).fixed32(7);
    // A group in a group.
    writer
      .uint32((10 << 3) | 3)
      .uint32((11 << 3) | 3)
      .uint32((1 << 3) | 2)
      .string('deep');
    writer.uint32((11 << 3) | 4).uint32((10 << 3) | 4);
    writer.uint32((1 << 3) | 2).bytes(item);
    writer.uint32((5 << 3) | 2).string('more');
    const { seen, unknownFields } = await scan(writer.finish());
    expect(seen.map(({ id, state }) => [id, state])).toEqual([['c', 1]]);
    expect(unknownFields).toBe(7);
  });

  it.each([-1, -5, -(2 ** 31)])('gives the negative state %i as it is', async (state) => {
    const item = Container.encode(Container.create({ id: 'c', state: state as never })).finish();
    const { seen } = await scan(
      new BinaryWriter()
        .uint32((1 << 3) | 2)
        .bytes(item)
        .finish(),
    );
    expect(seen.map((one) => one.state)).toEqual([state]);
  });

  it('gives a negative state, as int32 has it, some number that is no known state', async () => {
    const item = Container.encode(Container.create({ id: 'c', state: -1 as never })).finish();
    const answer = new BinaryWriter()
      .uint32((1 << 3) | 2)
      .bytes(item)
      .finish();
    const { seen } = await scan(answer);
    expect(seen[0]!.id).toBe('c');
    expect(Object.values<number>(ContainerState)).not.toContain(seen[0]!.state);
  });
});
