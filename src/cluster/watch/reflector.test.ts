import { describe, expect, it } from 'vitest';
import { KubeApiHarness } from '#support/harness/kube-api-harness.js';
import { reflectorHarness } from '#support/harness/reflector-harness.js';
import { untilTrue } from '#support/until-true.js';
import { SystemClock } from '#base/time/clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ApiError } from '../client/kube-client.js';
import { openKubeClients } from '../client/open-kube-clients.js';

/** What a server says that has waited for a version in vain. */
function tooLarge(): ApiError {
  const message = 'Timeout: Too large resource version: 100, current: 7';
  return new ApiError(504, 'Timeout', message, 1_000, ['ResourceVersionTooLarge']);
}

describe('a reflector', () => {
  it('tells all there is, and then each change in order', async () => {
    const { api, told, reflector, put, start, stop, clock } = reflectorHarness();
    put('one');
    put('two');
    expect(reflector.hasSynced).toBe(false);
    await start();
    expect(reflector.hasSynced).toBe(true);
    put('three');
    put('one', { spec: { changed: true } });
    api.drop('/api/v1/namespaces/default/pods/two');
    await clock.settle();
    expect(told).toEqual(['replace one,two @102', 'upsert three', 'upsert one', 'delete two']);
    expect(reflector.stats).toMatchObject({ lists: 1, watches: 1, changes: 3, failures: 0 });
    await stop();
  });

  it('asks for whatever the server has at hand first, in pages of 500', async () => {
    const { api, start, stop } = reflectorHarness({ query: { fieldSelector: 'spec.nodeName=here' } });
    await start();
    expect(api.reads[0]?.query).toEqual({
      ...{ fieldSelector: 'spec.nodeName=here', resourceVersion: '0', limit: '500' },
    });
    expect(api.watchRequests[0]?.query).toEqual({
      ...{ fieldSelector: 'spec.nodeName=here', resourceVersion: '100', timeoutSeconds: '450' },
    });
    await stop();
  });

  it('asks for the newest there is, or for nothing older than was known, where it is told to', async () => {
    const newest = reflectorHarness({ since: '' });
    newest.put('one');
    await newest.start();
    expect(newest.api.reads[0]?.query).toEqual({ limit: '500' });
    await newest.stop();
    const again = reflectorHarness({ since: '101', isUrgent: true });
    again.put('one');
    await again.start();
    expect(again.told).toEqual(['replace one @101']);
    expect(again.api.reads[0]).toMatchObject({
      query: { resourceVersion: '101', resourceVersionMatch: 'NotOlderThan' },
      isUrgent: true,
    });
    expect(again.api.watchRequests[0]).toMatchObject({ isUrgent: true });
    await again.stop();
  });

  it('is in step again when the server agrees to a watch, and not while nobody answers', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness({ random: () => 0 });
    await start();
    let isCut = true;
    const hang = async (): Promise<void> => {
      if (!isCut) return;
      // As long as it takes until a connection is given up.
      await clock.sleep(10_000);
      throw new Error('cannot connect');
    };
    api.intercept = hang;
    api.stop();
    api.start();
    await clock.settle();
    const problems: (string | undefined)[] = [];
    const triedAtMs: number[] = [];
    api.watchRequests.push = (...items) => (triedAtMs.push(clock.monotonicMs()), items.length);
    for (let second = 0; second < 120; second++) {
      await clock.advance(1_000);
      problems.push(reflector.problem?.message);
    }
    expect(reflector.state).toMatchObject({ isInStep: false, problem: 'cannot connect' });
    expect(new Set(problems)).toEqual(new Set(['connect ECONNREFUSED (in memory)', 'cannot connect']));
    const gaps = triedAtMs.slice(1).map((time, index) => time - triedAtMs[index]! - 10_000);
    expect(gaps.slice(0, 4)).toEqual([1_600, 3_200, 6_400, 12_800]);
    isCut = false;
    await clock.advance(40_000);
    expect(reflector.problem).toBeUndefined();
    expect(reflector.state).toEqual({ isInStep: true, stats: reflector.stats });
    expect(reflector.stats).toMatchObject({ watches: 2, lists: 1 });
    await stop();
  });

  it('goes on where it stopped when a watch ends, with the version of the last bookmark', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    await start();
    await clock.advance(60_000);
    api.passVersions(50);
    api.sendBookmarks();
    await clock.settle();
    api.endWatches();
    await clock.settle();
    expect(api.watchRequests.at(-1)?.query['resourceVersion']).toBe('150');
    put('one');
    await clock.settle();
    expect(told).toEqual(['replace  @100', 'upsert one']);
    expect(reflector.stats).toMatchObject({ lists: 1, watches: 2, bookmarks: 1, failures: 0 });
    await stop();
  });

  it('finds what happened while no watch was open', async () => {
    const { api, told, put, start, stop, clock } = reflectorHarness();
    put('one');
    await start();
    await clock.advance(2_000);
    api.stop();
    await clock.settle();
    put('two');
    api.drop('/api/v1/namespaces/default/pods/one');
    await clock.advance(20_000);
    expect(told).toEqual(['replace one @101']);
    api.start();
    await clock.advance(30_000);
    expect(told).toEqual(['replace one @101', 'upsert two', 'delete one']);
    await stop();
  });

  it('lists again, no older than what it knew, when the server has forgotten the place', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    put('one');
    await start();
    put('two');
    await clock.advance(2_000);
    api.stop();
    put('three');
    api.drop('/api/v1/namespaces/default/pods/one');
    api.compact();
    api.start();
    await clock.advance(3_000);
    expect(told.slice(2)).toEqual(['replace three,two @104']);
    // Without a limit, with which only that very version would do.
    expect(api.reads.at(-1)?.query).toEqual({ resourceVersion: '102', resourceVersionMatch: 'NotOlderThan' });
    expect(reflector.stats).toMatchObject({ lists: 2, expired: 1 });
    await stop();
  });

  it('sees what a server has that was restored from a backup, and shows nothing to who watches from a version of before', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    put('one');
    const backup = api.backUp();
    await start();
    put('two');
    api.drop('/api/v1/namespaces/default/pods/one');
    await clock.settle();
    api.restore(backup);
    await clock.advance(2_000);
    put('three');
    api.sendBookmarks();
    await clock.advance(140_000);
    // No error reports it.
    expect(told.slice(1)).toEqual(['upsert two', 'delete one']);
    expect(reflector.problem).toBeUndefined();
    await clock.advance(10_000);
    expect(told.slice(3)).toEqual(['replace one,three @102']);
    expect(api.reads.slice(1).map(({ query }) => query)).toEqual([
      { resourceVersion: '103', resourceVersionMatch: 'NotOlderThan' },
      { limit: '500' },
    ]);
    put('four');
    await clock.settle();
    expect(told.slice(4)).toEqual(['upsert four']);
    expect(reflector.stats).toMatchObject({ lists: 2, expired: 1 });
    await stop();
  });

  it('takes a 504 of something in between for a server that cannot be reached, and asks for no more than before', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness({ since: '90' });
    let isSlow = true;
    api.intercept = () => {
      if (isSlow) throw new ApiError(504, '', 'Gateway Time-out');
    };
    await start();
    expect(reflector.problem?.message).toBe('Gateway Time-out');
    isSlow = false;
    await clock.advance(2_000);
    expect(api.reads.map(({ query }) => query?.['resourceVersion'])).toEqual(['90', '90']);
    await stop();
  });

  it('asks a real server at once for the newest there is when that has waited in vain for the version', async () => {
    await using lab = await KubeApiHarness.open();
    const status = {
      ...{ kind: 'Status', status: 'Failure', reason: 'Timeout', code: 504 },
      message: 'Timeout: Too large resource version: 100, current: 7',
      details: { retryAfterSeconds: 1, causes: [{ reason: 'ResourceVersionTooLarge' }] },
    };
    const list = {
      kind: 'PodList',
      metadata: { resourceVersion: '7' },
      items: [{ metadata: { name: 'one' } }],
    };
    lab.handler = ({ path }, response) => {
      if (path.includes('watch=true')) response.writeHead(200);
      else if (!path.includes('resourceVersion=')) response.end(JSON.stringify(list));
      else response.writeHead(504, { 'retry-after': '1' }).end(JSON.stringify(status));
    };
    const clock = new SystemClock();
    const clients = await openKubeClients({
      ...{ file: await lab.writeKubeconfig(), version: '1.2.3', clock, environment: {} },
      ...{ rateLimit: { perSecond: Infinity, burst: 1 }, heartbeatTimeoutMs: 10_000, logger: SILENT_LOGGER },
    });
    const { told, reflector, start, stop } = reflectorHarness({ client: clients.api, clock, since: '100' });
    await start();
    await untilTrue(() => reflector.stats.watches === 1);
    expect(told).toEqual(['replace one @7']);
    expect(reflector.problem).toBeUndefined();
    expect(reflector.stats).toMatchObject({ lists: 1, failures: 0, expired: 1 });
    expect(lab.requests.map(({ path }) => path)).toEqual([
      '/api/v1/pods?resourceVersion=100&resourceVersionMatch=NotOlderThan',
      '/api/v1/pods?limit=500',
      expect.stringMatching(/^\/api\/v1\/pods\?resourceVersion=7&.*watch=true/),
    ]);
    await stop();
    clients.close();
  });

  it('asks for a list of pages in one piece when its pages expired half-way', async () => {
    const { api, told, put, start, stop, clock } = reflectorHarness();
    for (let index = 100; index < 700; index++) put(`pod-${index}`);
    let isFirst = true;
    api.intercept = (request) => {
      if (!('method' in request)) return;
      // A server that has to be asked for the newest answers in pages.
      if (request.query?.['resourceVersion'] !== undefined) throw tooLarge();
      if (request.query?.['continue'] !== undefined && isFirst) {
        isFirst = false;
        put('late');
        api.compact();
      }
    };
    await start();
    await clock.advance(2_000);
    expect(told).toHaveLength(1);
    expect(told[0]!.split(',')).toHaveLength(601);
    expect(told[0]).toMatch(/^replace late,pod-100,.*pod-699 @/);
    expect(api.reads.map(({ query }) => query?.['limit'])).toEqual(['500', '500', '500', undefined]);
    await stop();
  });

  it('waits longer and longer while nobody answers, and starts over after two calm minutes', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness({ random: () => 0 });
    api.stop();
    const times: number[] = [];
    api.reads.push = (...items) => (times.push(clock.monotonicMs()), items.length);
    await start();
    await clock.advance(120_000);
    const gaps = times.slice(1).map((time, index) => time - times[index]!);
    expect(gaps.slice(0, 8)).toEqual([800, 1600, 3200, 6400, 12_800, 15_000, 15_000, 15_000]);
    expect(reflector.problem?.message).toContain('ECONNREFUSED');
    api.start();
    await clock.advance(200_000);
    expect(reflector.problem).toBeUndefined();
    api.stop();
    await clock.settle();
    const failures = reflector.stats.failures;
    await clock.advance(1_700);
    expect(reflector.stats.failures).toBe(failures + 1);
    await stop();
  });

  it('tries at once when told that the server is back', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness();
    api.stop();
    await start();
    await clock.advance(100_000);
    api.start();
    reflector.retryNow();
    await clock.settle();
    expect(reflector.hasSynced).toBe(true);
    await stop();
  });

  it('leaves the server alone for as long as it asks', async () => {
    const { api, start, stop, clock, reflector } = reflectorHarness();
    api.intercept = () => {
      throw new ApiError(429, 'TooManyRequests', 'later', 7_000);
    };
    await start();
    await clock.advance(6_999);
    expect(reflector.stats.failures).toBe(1);
    await clock.advance(1);
    expect(reflector.stats.failures).toBe(2);
    await stop();
  });

  it('does not hammer a server that ends each watch at once', async () => {
    const { api, start, stop, clock } = reflectorHarness();
    api.watch = async function* () {
      api.watchRequests.push({ path: '', query: {}, signal: new AbortController().signal });
    };
    await start();
    await clock.advance(10_000);
    expect(api.watchRequests.length).toBeLessThan(6);
    await stop();
  });

  it('asks for the newest when the server has forgotten even what it has just listed', async () => {
    const { api, told, put, start, stop, clock } = reflectorHarness();
    api.intercept = (request) => {
      if ('method' in request || request.query['resourceVersion'] !== '100') return;
      api.passVersions(1);
      throw new ApiError(410, 'Expired', 'too old');
    };
    await start();
    await clock.advance(2_000);
    expect(api.reads.map(({ query }) => query?.['resourceVersion'])).toEqual(['0', undefined]);
    put('one');
    await clock.settle();
    expect(told.at(-1)).toBe('upsert one');
    await stop();
  });

  it('does not hammer a server that forgets at once what it has just listed', async () => {
    const { api, start, stop, clock } = reflectorHarness();
    api.intercept = (request) => {
      if (!('method' in request)) throw new ApiError(410, 'Gone', 'too old');
    };
    await start();
    await clock.advance(10_000);
    expect(api.reads.length).toBeLessThan(6);
    await stop();
  });

  it('follows one object by its name alone', async () => {
    const { api, told, put, start, stop, clock } = reflectorHarness({
      ...{ path: '/api/v1/namespaces/default/pods', name: 'one' },
    });
    put('one');
    put('two');
    await start();
    put('two', { spec: {} });
    put('one', { spec: {} });
    api.drop('/api/v1/namespaces/default/pods/one');
    await clock.settle();
    expect(told).toEqual(['replace one @102', 'upsert one', 'delete one']);
    expect(api.reads[0]?.query).toMatchObject({ fieldSelector: 'metadata.name=one' });
    await stop();
  });

  it('leaves out what makes no sense, and goes on', async () => {
    const { api, told, put, start, stop, clock, reflector } = reflectorHarness();
    const real = api.watch.bind(api);
    api.watch = async function* (request) {
      yield { type: 'MODIFIED', object: null } as never;
      yield { type: 'MODIFIED', object: { metadata: {} } } as never;
      yield { type: 'STRANGE', object: { metadata: { resourceVersion: '100' } } } as never;
      yield* real(request);
    };
    await start();
    put('one');
    await clock.settle();
    expect(told).toEqual(['replace  @100', 'upsert one']);
    expect(reflector.stats).toMatchObject({ ignored: 3, failures: 0 });
    await stop();
  });
});
