import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type NodeObject, readNode } from './node-object.js';
import { OwnNode } from './own-node.js';

const PATH = '/api/v1/nodes/here';

async function scene() {
  const clock = new FakeClock();
  const api = new InMemoryApi({ clock });
  const seen: (NodeObject | undefined)[] = [];
  const own = new OwnNode({
    ...{ name: 'here', client: api, clock, logger: SILENT_LOGGER },
    onChange: (node) => seen.push(node),
  });
  const abort = new AbortController();
  api.put(PATH, { metadata: { uid: 'u', labels: { zone: 'a' } } });
  const running = own.run(abort.signal);
  await clock.settle();
  return {
    ...{ clock, api, own, seen },
    [Symbol.asyncDispose]: async (): Promise<void> => {
      abort.abort();
      await running;
    },
  };
}

it('takes no older version of its Node for a newer one: an answer may come after the event of a later change', async () => {
  await using s = await scene();
  const before = readNode(s.api.find(PATH))!;
  s.api.change(PATH, (node) => ({ ...node, spec: { unschedulable: true } }));
  await s.clock.settle();
  s.own.take(before);
  expect(s.own.seen?.spec.unschedulable).toBe(true);
});

it('asks for the newest there is first: a server that was just started may know its Node as it was, or not at all', async () => {
  const clock = new FakeClock();
  const api = new InMemoryApi({ clock });
  api.put(PATH, { metadata: { uid: 'u', labels: { zone: 'b' } } });
  // Any version will do: this one has heard of no Node yet.
  api.answer = async ({ method, query }) =>
    method === 'GET' && query?.['resourceVersion'] === '0'
      ? { metadata: { resourceVersion: '7' }, items: [] }
      : undefined;
  const seen: (NodeObject | undefined)[] = [];
  const own = new OwnNode({
    ...{ name: 'here', client: api, clock, logger: SILENT_LOGGER },
    onChange: (node) => seen.push(node),
  });
  own.take(readNode(api.find(PATH))!);
  const abort = new AbortController();
  const running = own.run(abort.signal);
  await clock.settle();
  expect(seen.map((node) => node?.metadata.labels['zone'])).toEqual(['b', 'b']);
  abort.abort();
  await running;
});

it('sees its Node as it is in data that were restored, where its versions are smaller than before', async () => {
  await using s = await scene();
  const node = readNode(s.api.find(PATH))!;
  s.own.take({ ...node, metadata: { ...node.metadata, resourceVersion: '1000000' } });
  s.api.compact({ isBreaking: true });
  s.api.change(PATH, (each) => ({ ...each, spec: { unschedulable: true } }));
  await s.clock.advance(5_000);
  expect(s.own.seen?.spec.unschedulable).toBe(true);
  expect(s.own.seen?.metadata.resourceVersion).toBe(s.api.find(PATH)!.metadata.resourceVersion);
});
