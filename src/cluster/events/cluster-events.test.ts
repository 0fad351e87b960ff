import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { InMemoryApi } from '#testing/in-memory-api/in-memory-api.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ApiError, type KubeRequest, NoAnswerError } from '../client/kube-client.js';
import { ClusterEvents, type ClusterEventsOptions } from './cluster-events.js';

const EVENTS = '/api/v1/namespaces/default/events';
const web = { uid: 'u-1', namespace: 'default', name: 'web' };
const MINUTE_MS = 60_000;

interface KeptEvent {
  readonly metadata: { readonly name: string };
  readonly message: string;
  readonly count: number;
  readonly firstTimestamp: string;
  readonly lastTimestamp: string;
}

describe('the events of a node', () => {
  let clock: FakeClock;
  let api: InMemoryApi;
  let stop: AbortController;
  let running: Promise<void> | undefined;

  beforeEach(() => {
    clock = new FakeClock();
    api = new InMemoryApi({ clock });
    stop = new AbortController();
    running = undefined;
  });
  afterEach(async () => {
    stop.abort();
    await running;
  });

  const make = (more: Partial<ClusterEventsOptions> = {}): ClusterEvents =>
    new ClusterEvents({
      ...{ client: api, nodeName: 'here', clock, logger: SILENT_LOGGER, random: () => 0.5 },
      nodeUid: () => undefined,
      findPod: () => undefined,
      hide: (text, namespace) => (namespace === 'default' ? text.replaceAll('hunter2', '***') : text),
      ...more,
    });
  const start = (more: Partial<ClusterEventsOptions> = {}): ClusterEvents => {
    const events = make(more);
    running = events.run(stop.signal);
    return events;
  };
  const kept = async (path = EVENTS): Promise<KeptEvent[]> =>
    (await api.request<{ items: KeptEvent[] }>({ method: 'GET', path })).items;
  const started = (message = 'Container started') =>
    ({ type: 'Normal', reason: 'Started', message, container: 'app' }) as const;

  it('are Events in the kubelet’s name, about the container of the pod', async () => {
    start().record(web, started());
    await clock.advance(0);
    const [event] = await kept();
    expect(event!.metadata.name).toMatch(/^web\.[0-9a-f]{16}$/);
    expect(event).toMatchObject({
      ...{ type: 'Normal', reason: 'Started', message: 'Container started', count: 1 },
      ...{ firstTimestamp: '2026-01-02T03:04:05Z', lastTimestamp: '2026-01-02T03:04:05Z' },
      involvedObject: {
        ...{ apiVersion: 'v1', kind: 'Pod', namespace: 'default', name: 'web', uid: 'u-1' },
        fieldPath: 'spec.containers{app}',
      },
      source: { component: 'kubelet', host: 'here' },
      ...{ reportingComponent: 'kubelet', reportingInstance: 'here' },
    });
  });

  it('say which kind of container it is', async () => {
    const spec = { initContainers: [{ name: 'setup' }], ephemeralContainers: [{ name: 'debug' }] };
    const events = start({ findPod: () => ({ spec }) as unknown as NodePod });
    for (const container of ['setup', 'debug', 'app']) events.record(web, { ...started(), container });
    events.record(web, { type: 'Warning', reason: 'FailedMount', message: 'no such ConfigMap' });
    await clock.advance(0);
    const paths = (await kept()).map(
      (event) => (event as unknown as { involvedObject: { fieldPath?: string } }).involvedObject.fieldPath,
    );
    expect(paths).toEqual([
      ...['spec.initContainers{setup}', 'spec.ephemeralContainers{debug}', 'spec.containers{app}'],
      undefined,
    ]);
  });

  it('of the node are kept in the default namespace, by the node’s name', async () => {
    start().recordNode({
      type: 'Normal',
      reason: 'NodeReady',
      message: 'Node here status is now: NodeReady',
    });
    await clock.advance(0);
    expect(await kept()).toMatchObject([
      { involvedObject: { apiVersion: 'v1', kind: 'Node', name: 'here', uid: 'here' }, reason: 'NodeReady' },
    ]);
  });

  it('of the node name the Node object by its uid as soon as it was seen, and another one after it was replaced', async () => {
    let uid: string | undefined;
    const events = start({ nodeUid: () => uid });
    for (const [index, seen] of [undefined, 'first', 'first', undefined, 'second'].entries()) {
      uid = seen;
      events.recordNode({ type: 'Normal', reason: `Reason${index}`, message: 'changed' });
    }
    await clock.advance(0);
    const named = (await kept()).map(
      (event) => (event as unknown as { involvedObject: { uid: string } }).involvedObject.uid,
    );
    expect(named.sort()).toEqual(['first', 'first', 'here', 'here', 'second']);
  });

  it('hide what is secret in the namespace of their pod, and nothing of it in those of others and of the node', async () => {
    const message = 'login with hunter2 failed';
    const events = start();
    events.record(web, started(message));
    events.record({ ...web, namespace: 'guesser' }, started(message));
    events.recordNode({ type: 'Warning', reason: 'Odd', message });
    await clock.advance(0);
    const messages = async (path?: string) => (await kept(path)).map((event) => event.message).sort();
    expect(await messages()).toEqual(['login with *** failed', message]);
    expect(await messages('/api/v1/namespaces/guesser/events')).toEqual([message]);
  });

  it('are made once and counted then, with a patch of the count', async () => {
    const events = start();
    for (let time = 0; time < 3; time++) {
      events.record(web, started());
      await clock.advance(MINUTE_MS);
    }
    expect(api.changes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'PATCH']);
    expect(api.changes[2]!.body).toEqual({
      ...{ count: 3, lastTimestamp: '2026-01-02T03:06:05Z', message: 'Container started' },
    });
    expect(await kept()).toMatchObject([{ count: 3, firstTimestamp: '2026-01-02T03:04:05Z' }]);
  });

  it('are made anew when the API server has forgotten them', async () => {
    const events = start();
    events.record(web, started());
    await clock.advance(MINUTE_MS);
    api.drop(`${EVENTS}/${(await kept())[0]!.metadata.name}`);
    events.record(web, started());
    await clock.advance(0);
    expect(api.changes.map(({ method }) => method)).toEqual(['POST', 'PATCH', 'POST']);
    expect(await kept()).toMatchObject([{ count: 2, firstTimestamp: '2026-01-02T03:04:05Z' }]);
  });

  it('that differ in their message only are one from the tenth on, until it has been quiet for ten minutes', async () => {
    const events = start();
    const tell = (number: number) =>
      events.record(web, { type: 'Warning', reason: 'Unhealthy', message: `try ${number}` });
    for (let number = 1; number <= 12; number++) tell(number);
    await clock.advance(0);
    const all = await kept();
    expect(all).toHaveLength(10);
    expect(all.at(-1)).toMatchObject({ message: '(combined from similar events): try 12', count: 3 });
    expect(events.stats).toMatchObject({ combined: 3, folded: 2 });
    await clock.advance(11 * MINUTE_MS);
    tell(13);
    await clock.advance(0);
    expect((await kept()).map(({ message }) => message)).toContain('try 13');
  });

  it('of one object are 25 at once and one each five minutes, and none is left uncounted', async () => {
    const events = start();
    for (let time = 0; time < 40; time++) {
      events.record(web, started());
      await clock.advance(1_000);
    }
    expect((await kept())[0]!.count).toBe(25);
    expect(events.stats.filtered).toBe(15);
    // Of another object there may be as many.
    events.record({ ...web, uid: 'u-2', name: 'db' }, started());
    await clock.advance(5 * MINUTE_MS);
    events.record(web, started());
    await clock.advance(0);
    const counts = (await kept()).map(({ metadata, count }) => [metadata.name.split('.')[0], count]);
    expect(Object.fromEntries(counts)).toEqual({ web: 41, db: 1 });
  });

  it('wait for an API server that is away, and are folded meanwhile', async () => {
    api.stop();
    const events = start();
    for (let time = 0; time < 5; time++) events.record(web, started());
    await clock.advance(30_000);
    events.record(web, started());
    expect(events.stats).toMatchObject({ created: 0, abandoned: 0 });
    api.start();
    await clock.advance(10_000);
    expect(await kept()).toMatchObject([{ count: 6 }]);
    expect(events.stats).toMatchObject({ created: 1, counted: 0, waiting: 0 });
  });

  it('go at once when the API server is said to be back', async () => {
    api.stop();
    const events = start();
    events.record(web, started());
    await clock.advance(7_000);
    api.start();
    events.retryNow();
    await clock.advance(0);
    expect(await kept()).toHaveLength(1);
  });

  it('are given up after twelve tries, each by itself', async () => {
    api.stop();
    const events = start();
    events.record(web, started());
    events.record(web, started('something else'));
    // Five seconds to the second try, ten to each of the others.
    await clock.advance(104_999);
    expect(events.stats.abandoned).toBe(0);
    await clock.advance(1);
    expect(events.stats).toMatchObject({ abandoned: 1, waiting: 0 });
    api.start();
    await clock.advance(10_000);
    expect((await kept()).map(({ message }) => message)).toEqual(['something else']);
  });

  it('of another component carry its name', async () => {
    start({ component: 'podloop-observe' }).recordNode({
      type: 'Warning',
      reason: 'PodHung',
      message: 'it hangs',
    });
    await clock.advance(0);
    expect(await kept()).toMatchObject([
      { source: { component: 'podloop-observe', host: 'here' }, reportingComponent: 'podloop-observe' },
    ]);
  });

  it('wait through any outage for as long as there is room, where that is asked for', async () => {
    api.stop();
    const events = start({ keepsTrying: true, capacity: 2 });
    for (const name of ['a', 'b', 'c', 'd']) {
      events.record({ ...web, name, uid: name }, started());
      await clock.advance(0);
    }
    await clock.advance(2 * 60 * MINUTE_MS);
    // One is being tried all the time, two wait, and what there was no room for is counted.
    expect(events.stats).toMatchObject({ abandoned: 0, waiting: 2, overflowed: 1 });
    api.start();
    await clock.advance(10_000);
    expect(events.stats).toMatchObject({ created: 3, waiting: 0 });
  });

  it('wait through any failure of the API server, where that is asked for', async () => {
    api.intercept = () => {
      throw new ApiError(500, 'InternalError', 'failed calling webhook');
    };
    const events = start({ keepsTrying: true });
    events.record(web, started());
    await clock.advance(60 * MINUTE_MS);
    expect(events.stats).toMatchObject({ abandoned: 0, waiting: 1 });
    api.intercept = undefined;
    await clock.advance(MINUTE_MS);
    expect(events.stats).toMatchObject({ created: 1, waiting: 0 });
  });

  it('are no more than have room, the oldest go first', () => {
    const events = make({ capacity: 2 });
    for (const name of ['a', 'b', 'c']) events.record({ ...web, name, uid: name }, started());
    expect(events.stats).toMatchObject({ waiting: 2, overflowed: 1 });
  });

  it('are told at eventRecordQPS, with eventBurst at once', async () => {
    const events = start({ eventRecordQps: 1, eventBurst: 2 });
    for (const name of ['a', 'b', 'c', 'd']) events.record({ ...web, name, uid: name }, started());
    await clock.advance(0);
    expect(events.stats.created).toBe(2);
    await clock.advance(1_000);
    expect(events.stats.created).toBe(3);
    await clock.advance(1_000);
    expect(events.stats.created).toBe(4);
  });

  it.each([
    [403, 'Forbidden'],
    [404, 'NotFound'],
    [422, 'Invalid'],
  ])('are dropped and counted when the answer is %i, and do not hold up others', async (code, reason) => {
    const events = start();
    api.intercept = ({ path }) => {
      if (path.includes('/gone/')) throw new ApiError(code, reason, 'no');
    };
    events.record({ ...web, namespace: 'gone' }, started());
    events.record(web, started());
    await clock.advance(0);
    expect(events.stats).toMatchObject({ rejected: 1, created: 1 });
    expect(await kept()).toHaveLength(1);
  });

  it.each([401, 429, 500, 503])('are tried again when the answer is %i', async (code) => {
    let isBusy = true;
    api.intercept = () => {
      if (isBusy) throw new ApiError(code, '', 'not now', 20_000);
    };
    const events = start();
    events.record(web, started());
    await clock.advance(19_999);
    isBusy = false;
    expect(events.stats.created).toBe(0);
    await clock.advance(1);
    expect(events.stats.created).toBe(1);
  });

  it.each([
    ['a webhook that fails', new ApiError(500, 'InternalError', 'failed calling webhook')],
    ['a webhook that hangs', new NoAnswerError('no answer within 15s')],
    ['a limit of the namespace', new ApiError(429, 'TooManyRequests', 'limit reached on type Namespace')],
  ])('of one namespace with %s do not hold up those of others', async (_, error) => {
    const events = start();
    const tried: string[] = [];
    api.intercept = ({ path }) => {
      if (!path.includes('/ill/')) return;
      tried.push(path);
      throw error;
    };
    for (let number = 0; number < 30; number++) {
      events.record({ namespace: 'ill', name: `a${number}`, uid: `a${number}` }, started());
    }
    events.record(web, started());
    await clock.advance(0);
    expect(await kept()).toHaveLength(1);
    expect(events.stats).toMatchObject({ created: 1, postponed: 1, waiting: 30 });
    expect(tried).toHaveLength(1);
    // One after 7.5 s, 15 s, 30 s, and then each 45 s: not each of them.
    await clock.advance(7_500 + 15_000 + 30_000 + 45_000);
    expect(tried).toHaveLength(5);
    api.intercept = undefined;
    await clock.advance(45_000);
    expect(events.stats).toMatchObject({ created: 31, abandoned: 0, waiting: 0 });
  });

  it('at which the API server fails are given up after four tries, each with what was told meanwhile', async () => {
    const events = start();
    let tries = 0;
    api.intercept = () => {
      tries++;
      if (tries < 4) throw new ApiError(500, 'InternalError', 'failed calling webhook');
    };
    events.record(web, started());
    await clock.advance(7_500);
    events.record(web, started());
    await clock.advance(44_999);
    expect([tries, events.stats.folded]).toEqual([3, 1]);
    await clock.advance(1);
    expect(await kept()).toMatchObject([{ count: 2 }]);
    api.intercept = () => {
      throw new ApiError(500, 'InternalError', 'failed calling webhook');
    };
    events.record(web, started('something else'));
    await clock.advance(52_499);
    expect(events.stats).toMatchObject({ abandoned: 0, waiting: 1 });
    await clock.advance(1);
    expect(events.stats).toMatchObject({ created: 1, abandoned: 1, waiting: 0 });
  });

  it('of a namespace that rests are tried at once when the API server is said to be back', async () => {
    const events = start();
    api.intercept = () => {
      throw new ApiError(500, 'InternalError', 'etcdserver: leader changed');
    };
    events.record(web, started());
    await clock.advance(1_000);
    api.intercept = undefined;
    events.retryNow();
    await clock.advance(0);
    expect(await kept()).toHaveLength(1);
  });

  it('are written in their order where one tells an earlier one again', async () => {
    const events = start();
    events.record(web, started());
    await clock.advance(0);
    let isIll = true;
    api.intercept = () => {
      if (isIll) throw new ApiError(500, 'InternalError', 'failed calling webhook');
    };
    events.record(web, started());
    events.record(web, started('something else'));
    await clock.advance(1_000);
    events.record(web, started());
    isIll = false;
    await clock.advance(10_000);
    expect((await kept()).map(({ message, count }) => [message, count])).toEqual([
      ['Container started', 3],
      ['something else', 1],
    ]);
    expect(events.stats).toMatchObject({ created: 2, counted: 1, folded: 1 });
  });

  it('are not told twice when an answer was lost', async () => {
    let isLost = true;
    api.answer = (request: KubeRequest) => {
      if (request.method !== 'POST' || !isLost) return undefined;
      isLost = false;
      api.put(EVENTS, request.body as Parameters<InMemoryApi['put']>[1]);
      throw new Error('connection reset');
    };
    const events = start();
    events.record(web, started());
    await clock.advance(1_000);
    events.record(web, started());
    await clock.advance(4_000);
    expect(await kept()).toMatchObject([{ count: 2 }]);
    expect(events.stats.rejected).toBe(0);
  });

  it('about pods without a name are told nowhere', () => {
    const events = make();
    events.record({ uid: 'sandbox', namespace: '', name: '' }, started());
    expect(events.stats).toMatchObject({ nameless: 1, waiting: 0 });
  });

  it('of objects with the longest names have names that an API server takes', async () => {
    start().record({ ...web, name: 'n'.repeat(253) }, started());
    await clock.advance(0);
    expect((await kept())[0]!.metadata.name).toMatch(/^n{225}-[0-9a-f]{10}\.[0-9a-f]{16}$/);
  });
});
