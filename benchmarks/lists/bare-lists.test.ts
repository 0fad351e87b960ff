import { describe, expect, it } from 'vitest';
import { Container, ListContainersResponse, ListPodSandboxResponse } from '#watch/messages';
import { BareComparison, decodeBareList, listBare } from './bare-lists.js';

const containers = ListContainersResponse.fromPartial({
  containers: Array.from({ length: 300 }, (_, index) => ({
    id: `container-${index}`,
    podSandboxId: `sandbox-${index % 7}`,
    metadata: { name: 'main', attempt: index },
    state: (index % 4) as 0 | 1 | 2 | 3,
    createdAt: 1_700_000_000_000_000_000n + BigInt(index),
    labels: { 'io.kubernetes.pod.uid': `uid-${index}`, long: 'x'.repeat(index) },
  })),
});
const sandboxes = ListPodSandboxResponse.fromPartial({
  items: [
    { id: 'ready', state: 0, createdAt: 5n },
    { id: 'gone', state: 1, annotations: { a: 'b' } },
  ],
});

describe('the bare lists', () => {
  it('read the same ids and states as the generated decoder', async () => {
    const answers: Record<string, Uint8Array> = {
      '/runtime.v1.RuntimeService/ListContainers': ListContainersResponse.encode(containers).finish(),
      '/runtime.v1.RuntimeService/ListPodSandbox': ListPodSandboxResponse.encode(sandboxes).finish(),
    };
    const listed = await listBare(async (path) => Buffer.from(answers[path]!));
    expect(listed.containers).toEqual(containers.containers.map(({ id, state }) => ({ id, state })));
    expect(listed.sandboxes).toEqual([
      { id: 'ready', state: 0 },
      { id: 'gone', state: 1 },
    ]);
  });

  it('are compared with what the first of them said', async () => {
    const idOf = (index: number): string => index.toString(16).padStart(64, '0');
    let states: (0 | 1)[] = [0, 1, 0];
    const call = async (path: string): Promise<Buffer> => {
      const items = states.map((state, index) => ({ id: idOf(index), state }));
      const answer = path.endsWith('ListContainers')
        ? ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers: items }))
        : ListPodSandboxResponse.encode(ListPodSandboxResponse.fromPartial({ items }));
      return Buffer.from(answer.finish());
    };
    const bare = await BareComparison.start(call);
    expect(bare.containers).toBe(3);
    await bare.run();
    states = [0, 0, 0];
    await expect(bare.run()).rejects.toThrow('1 of 3 are new or other, and 3 were known');
    states = [0, 1];
    await expect(bare.run()).rejects.toThrow('0 of 2 are new or other, and 3 were known');
  });

  it('skip fields of every wire type that they do not know', () => {
    const item = Buffer.from(Container.encode(Container.fromPartial({ id: 'known', state: 2 })).finish());
    const strange = Buffer.from([
      ...[0xa1, 0x06, 1, 2, 3, 4, 5, 6, 7, 8], // field 100, eight bytes
      ...[0xa5, 0x06, 1, 2, 3, 4], // field 100, four bytes
      ...[0xa0, 0x06, 0xff, 0xff, 0x01], // field 100, a varint
    ]);
    const body = Buffer.concat([strange, item]);
    const message = Buffer.concat([Buffer.from([0x0a, body.length]), body, strange]);
    expect(decodeBareList(message, 6)).toEqual([{ id: 'known', state: 2 }]);
  });
});
