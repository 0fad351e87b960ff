import { setMaxListeners } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Secret } from '../../src/cluster/client/kube-objects.js';
import { type KubeClients, openKubeClients } from '../../src/cluster/client/open-kube-clients.js';
import { Reflector } from '../../src/cluster/watch/reflector.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { findClusterBinaries } from './harness/cluster-binaries.js';
import { ControlPlane } from './harness/control-plane.js';
import { untilAsync } from './harness/until-async.js';

const found = findClusterBinaries();
const NAMESPACE = '/api/v1/namespaces/default/secrets';
const ELSEWHERE = '/api/v1/namespaces/kube-system/secrets';
/** An API server sends a bookmark about every minute. */
const LIMIT_MS = 150_000;

describe.skipIf('missing' in found)('what a real API server has of a collection', () => {
  let plane: ControlPlane;
  let clients: KubeClients;
  let reflector: Reflector<Secret>;
  let stop: AbortController;
  let running: Promise<void>;
  const known = new Set<string>();

  beforeAll(async () => {
    if ('missing' in found) return;
    plane = await ControlPlane.start(found);
    const clock = new SystemClock();
    clients = await openKubeClients({
      ...{ file: plane.adminKubeconfig, version: 'test', environment: {}, clock, logger: SILENT_LOGGER },
      ...{ rateLimit: { perSecond: 50, burst: 100 }, heartbeatTimeoutMs: 10_000 },
    });
    const nameOf = ({ metadata }: Secret): string => metadata?.name ?? '';
    reflector = new Reflector<Secret>({
      ...{ client: clients.api, clock, path: NAMESPACE },
      sink: {
        replace: (items) => {
          known.clear();
          for (const item of items) known.add(nameOf(item));
        },
        upsert: (item) => void known.add(nameOf(item)),
        delete: (item) => void known.delete(nameOf(item)),
      },
    });
    follow();
    await untilAsync('the first list', () => Promise.resolve(reflector.hasSynced));
  });

  afterAll(async () => {
    await leave();
    clients.close();
    await plane[Symbol.asyncDispose]();
  });

  const follow = (): void => {
    stop = new AbortController();
    setMaxListeners(0, stop.signal);
    running = reflector.run(stop.signal);
  };
  const leave = async (): Promise<void> => {
    stop.abort();
    await running;
  };
  const make = async (name: string, path = NAMESPACE): Promise<Secret> =>
    plane.admin.request<Secret>({ method: 'POST', path, body: { metadata: { name } } });
  const untilKnown = async (name: string): Promise<void> => {
    await untilAsync(`${name} to be known`, () => Promise.resolve(known.has(name)));
  };

  it('is known by watching, and nothing is listed again when the connection is lost', async () => {
    await make('first');
    await untilKnown('first');
    clients.api.dropConnections();
    await make('second');
    await untilKnown('second');
    expect(reflector.stats).toMatchObject({ lists: 1, expired: 0, ignored: 0 });
    expect(reflector.stats.watches).toBeGreaterThanOrEqual(2);
  });

  it('is known to be as it was, by bookmarks, while only others change', async () => {
    const other = await make('other', ELSEWHERE);
    const changes = reflector.stats.changes;
    const version = BigInt(other.metadata!.resourceVersion!);
    await untilAsync(
      'a bookmark that is later',
      () => Promise.resolve(BigInt(reflector.resourceVersion) >= version),
      LIMIT_MS,
    );
    expect(reflector.stats.bookmarks).toBeGreaterThan(0);
    expect(reflector.stats.changes).toBe(changes);
    expect(known.has('other')).toBe(false);
  });

  it('is listed anew once the API server has forgotten where the watch was, and nothing of it is missed', async () => {
    await leave();
    await plane.admin.request({ method: 'DELETE', path: `${NAMESPACE}/first` });
    await make('third');
    // It remembers what has happened since it was started.
    await plane.restart('apiServer');
    expect([...known]).toEqual(expect.arrayContaining(['first', 'second']));
    follow();
    await untilKnown('third');
    expect([...known]).toEqual(['second', 'third']);
    expect(reflector.stats).toMatchObject({ lists: 2, expired: 1 });
    await make('fourth');
    await untilKnown('fourth');
    expect(reflector.stats.lists).toBe(2);
  });
});
