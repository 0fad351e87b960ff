import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { FakeNodeServer } from '#support/fakes/fake-node-server.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type NodeLeaseTry, nodeLeaseTried } from '#base/channels/node-channels.js';
import { ApiError, type KubeRequest } from '../client/kube-client.js';
import { NodeLease } from './node-lease.js';

const PATH = '/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/here';

let clock: FakeClock;
let server: FakeNodeServer;
let logger: LogRecorder;
let stop: AbortController;
let running: Promise<void>;
let uid: string | undefined;
let dropped: number;
let recovered: number;
let restored: number;
let foreign: string[];
let tries: NodeLeaseTry['outcome'][];
let leave: () => void;

beforeEach(() => {
  clock = new FakeClock();
  server = new FakeNodeServer();
  logger = new LogRecorder();
  stop = new AbortController();
  uid = 'node-uid';
  [dropped, recovered, restored] = [0, 0, 0];
  tries = [];
  foreign = [];
  leave = nodeLeaseTried.subscribe(({ outcome }) => tries.push(outcome));
});

afterEach(async () => {
  stop.abort();
  await clock.settle();
  await running;
  leave();
});

async function start(): Promise<void> {
  const lease = new NodeLease({
    ...{ clock, logger, client: server, nodeName: 'here', leaseDurationMs: 40_000, timeoutMs: 10_000 },
    ...{
      nodeUid: () => uid,
      findNodeUid: async () => uid,
      dropConnection: () => dropped++,
      onForeignRenewal: (renewTime) => foreign.push(renewTime),
      onRecovered: () => recovered++,
      onRestored: () => restored++,
    },
    random: () => 0,
  });
  running = lease.run(stop.signal);
  await clock.settle();
}

const renewTime = (): unknown =>
  (server.lease()?.['spec'] as Record<string, unknown> | undefined)?.['renewTime'];

describe('the lease of a node', () => {
  it('is made where there is none, and belongs to the Node', async () => {
    await start();
    expect(server.lease()).toMatchObject({
      metadata: {
        ...{ name: 'here', namespace: 'kube-node-lease' },
        ownerReferences: [{ apiVersion: 'v1', kind: 'Node', name: 'here', uid: 'node-uid' }],
      },
      spec: {
        ...{ holderIdentity: 'here', leaseDurationSeconds: 40, renewTime: '2026-01-02T03:04:05.000000Z' },
      },
    });
    expect(server.log).toEqual(['GET leases/here', 'POST leases']);
  });

  it('shows that the API server was restored, by the version of an answer that is older than one before', async () => {
    await start();
    await clock.advance(30_000);
    expect(restored).toBe(0);
    server.restore(50);
    await clock.advance(10_000);
    expect(restored).toBe(1);
    expect(logger.complaints).toMatchObject([
      { level: 'warn', message: 'The API server was restored from a backup, listing again' },
    ]);
    await clock.advance(60_000);
    expect(restored).toBe(1);
    expect(renewTime()).toBe('2026-01-02T03:05:45.000000Z');
  });

  it('shows it, too, where there was no lease in the backup', async () => {
    await start();
    server.drop(PATH);
    server.restore(50);
    await clock.advance(11_000);
    expect(restored).toBe(1);
    expect(server.lease()).toBeDefined();
  });

  it('is renewed every quarter of its duration, with one request each', async () => {
    await start();
    await clock.advance(30_000);
    expect(server.log.slice(2)).toEqual(['PUT leases/here', 'PUT leases/here', 'PUT leases/here']);
    expect(renewTime()).toBe('2026-01-02T03:04:35.000000Z');
  });

  it('is taken up where there is one, with what others have written into it', async () => {
    server.put(PATH, {
      metadata: {
        name: 'here',
        annotations: { a: 'b' },
        ownerReferences: [{ kind: 'Node', name: 'here', uid: 'old' }],
      },
      spec: { holderIdentity: 'here', leaseTransitions: 3 },
    });
    await start();
    expect(server.lease()).toMatchObject({
      metadata: { annotations: { a: 'b' }, ownerReferences: [{ uid: 'node-uid' }] },
      spec: { leaseTransitions: 3, renewTime: '2026-01-02T03:04:05.000000Z' },
    });
  });

  it('is read again when somebody else has changed it', async () => {
    await start();
    server.put(PATH, { ...server.lease()!, extra: 1 });
    await clock.advance(10_000);
    expect(server.log.slice(2)).toEqual(['PUT leases/here', 'GET leases/here', 'PUT leases/here']);
    expect(server.lease()).toMatchObject({ extra: 1, spec: { renewTime: '2026-01-02T03:04:15.000000Z' } });
    expect(tries).toEqual(['created', 'conflict', 'renewed']);
  });

  it('is not renewed by an answer that is no Lease', async () => {
    await start();
    const real = server.request.bind(server);
    server.request = async <T>(request: KubeRequest): Promise<T> =>
      request.method === 'PUT' ? (undefined as T) : real<T>(request);
    await clock.advance(20_000);
    expect(new Set(tries.slice(1))).toEqual(new Set(['failed']));
    server.request = real;
    await clock.advance(10_000);
    expect(tries.at(-1)).toBe('renewed');
    expect(clock.now() - Date.parse(renewTime() as string)).toBeLessThan(10_000);
  });

  it('that somebody else has renewed is told of, and not what only others have written into it', async () => {
    await start();
    server.put(PATH, { ...server.lease()!, extra: 1 });
    await clock.advance(10_000);
    expect(foreign).toEqual([]);
    const theirs = '2026-01-02T03:04:16.123456Z';
    server.put(PATH, { ...server.lease()!, spec: { holderIdentity: 'here', renewTime: theirs } });
    await clock.advance(10_000);
    expect(foreign).toEqual([theirs]);
  });

  it('is not taken for somebody else’s where only the answers to renewals were lost', async () => {
    await start();
    let lost = 2;
    server.fault = ({ method, body }) => {
      if (method !== 'PUT' || lost === 0) return undefined;
      lost--;
      server.put(PATH, body as Record<string, unknown>);
      return new Error('ECONNRESET');
    };
    await clock.advance(15_000);
    expect(tries.slice(0, 5)).toEqual(['created', 'failed', 'failed', 'conflict', 'renewed']);
    expect(foreign).toEqual([]);
  });

  it('is made again when it was deleted', async () => {
    await start();
    server.objects.clear();
    await clock.advance(10_000);
    expect(server.log.slice(2)).toEqual(['PUT leases/here', 'GET leases/here', 'POST leases']);
  });

  it('waits for a Node that it could belong to', async () => {
    uid = undefined;
    await start();
    await clock.advance(20_000);
    expect(server.lease()).toBeUndefined();
    expect(new Set(tries)).toEqual(new Set(['waiting']));
    uid = 'node-uid';
    await clock.advance(10_000);
    expect(server.lease()).toBeDefined();
  });

  it('is let go of with its Node: a real server has a conflict of one that is gone', async () => {
    await start();
    server.objects.clear();
    uid = undefined;
    server.fault = ({ method }) =>
      method === 'PUT' ? new ApiError(409, 'Conflict', 'UID in precondition') : undefined;
    await clock.advance(10_000);
    expect(server.log.slice(2)).toEqual(['PUT leases/here', 'GET leases/here']);
    await clock.advance(10_000);
    expect(server.log.slice(4)).toEqual(['GET leases/here']);
  });

  it('is tried until the API server is back, over new connections, and told of once', async () => {
    await start();
    server.fault = () => new Error('ECONNREFUSED');
    await clock.advance(90_000);
    expect(dropped).toBeGreaterThan(3);
    const failures = server.requests.length;
    await clock.advance(70_000);
    // No more often than every 7 s by then.
    expect(server.requests.length - failures).toBe(10);
    server.fault = () => undefined;
    await clock.advance(7_000);
    expect(recovered).toBe(1);
    expect(clock.now() - Date.parse(renewTime() as string)).toBeLessThan(7_000);
    expect(logger.lines.map(({ message }) => message)).toEqual([
      'Failed to ensure lease exists, will retry',
      'Lease of the node is renewed again',
    ]);
  });

  it('leaves an API server alone for as long as it asks, and no longer than 10 s', async () => {
    await start();
    let refused = 0;
    server.fault = () =>
      refused++ < 2 ? new ApiError(429, 'TooManyRequests', 'busy', 3_600_000) : undefined;
    await clock.advance(10_000);
    expect(refused).toBe(1);
    await clock.advance(9_000);
    expect(refused).toBe(1);
    await clock.advance(11_000);
    expect(renewTime()).toBe('2026-01-02T03:04:35.000000Z');
  });
});
