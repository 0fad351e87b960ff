import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { type StoredObject } from '#testing/in-memory-api/stored-object.js';
import { Reflector, type ReflectorOptions } from '../../../src/cluster/watch/reflector.js';

/** The pods of all namespaces, which {@link reflectorHarness} follows. */
const PODS = '/api/v1/pods';

/** A reflector of the pods of a server in memory, with what it has told and the copy that comes of it. */
export function reflectorHarness(options: Partial<ReflectorOptions<StoredObject>> = {}) {
  const clock = new FakeClock();
  const api = new InMemoryApi({ clock });
  const told: string[] = [];
  const copy = new Map<string, StoredObject>();
  const abort = new AbortController();
  const nameOf = ({ metadata }: StoredObject): string => metadata.name;
  const reflector = new Reflector<StoredObject>({
    ...{ client: api, clock, path: PODS, random: () => 0.5 },
    sink: {
      replace: (items, version) => {
        told.push(`replace ${items.map(nameOf).join(',')} @${version}`);
        copy.clear();
        for (const item of items) copy.set(nameOf(item), item);
      },
      upsert: (item) => {
        told.push(`upsert ${nameOf(item)}`);
        copy.set(nameOf(item), item);
      },
      delete: (item) => {
        told.push(`delete ${nameOf(item)}`);
        copy.delete(nameOf(item));
      },
    },
    ...options,
  });
  const put = (name: string, more: object = {}): StoredObject =>
    api.put(`/api/v1/namespaces/default/pods/${name}`, { metadata: {}, ...more });
  let ended: Promise<void> | undefined;
  const start = async (): Promise<void> => {
    ended = reflector.run(abort.signal);
    await clock.settle();
  };
  const stop = async (): Promise<void> => {
    abort.abort();
    await ended;
  };
  return { clock, api, told, copy, reflector, put, start, stop };
}
