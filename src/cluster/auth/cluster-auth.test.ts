import { setMaxListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { BusyError } from '#base/errors/busy-error.js';
import { ApiError, type KubeRequest } from '../client/kube-client.js';
import { ClusterAuth, type ClusterAuthSettings } from './cluster-auth.js';
import { CachedAnswers } from './cached-answers.js';

const STILL = new AbortController().signal;
setMaxListeners(0, STILL);
const USER = { name: 'ann', uid: '7', groups: ['ops'], extra: { scopes: ['a'] } };
const STATS = { verb: 'get', subresource: 'stats' };

/** An API server that answers whatever `answer` gives or throws, and keeps what it was asked. */
function scene(answer: (request: KubeRequest) => unknown, settings: ClusterAuthSettings = {}) {
  const clock = new FakeClock();
  const asked: KubeRequest[] = [];
  const client = {
    request: async <T>(request: KubeRequest): Promise<T> => {
      asked.push(request);
      return (await answer(request)) as T;
    },
  };
  return { clock, asked, auth: new ClusterAuth({ client, nodeName: 'here', clock, settings }) };
}

function deferred<T>() {
  let resolve: (value: T) => void = () => undefined;
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

const reviewed = (status: object) => ({ status });
const ann = { username: 'ann', uid: '7', groups: ['ops'], extra: { scopes: ['a'] } };

describe('whose token it is', () => {
  it('is asked once, of the API server, and kept for two minutes', async () => {
    const { clock, asked, auth } = scene(() => reviewed({ authenticated: true, user: ann }));
    expect(await auth.authenticate('secret', STILL)).toEqual(USER);
    expect(asked[0]).toMatchObject({
      ...{ method: 'POST', path: '/apis/authentication.k8s.io/v1/tokenreviews' },
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenReview', spec: { token: 'secret' } },
    });
    await clock.advance(119_000);
    expect(await auth.authenticate('secret', STILL)).toEqual(USER);
    expect(asked).toHaveLength(1);
    await clock.advance(1_000);
    await auth.authenticate('secret', STILL);
    expect(asked).toHaveLength(2);
  });

  it('is asked ahead of other requests only once it was somebody’s', async () => {
    const { clock, asked, auth } = scene(() => reviewed({ authenticated: true, user: ann }));
    await auth.authenticate('secret', STILL);
    await clock.advance(120_000);
    await auth.authenticate('secret', STILL);
    await auth.authenticate('made up', STILL);
    expect(asked.map(({ isUrgent }) => isUrgent)).toEqual([false, true, false]);
  });

  it('is nobody’s when the API server says so or names nobody, which is kept as well', async () => {
    const { asked, auth } = scene(({ body }) =>
      (body as { spec: { token: string } }).spec.token === 'odd'
        ? reviewed({ authenticated: true, user: { groups: 7 } })
        : reviewed({ error: 'invalid bearer token' }),
    );
    for (let index = 0; index < 2; index++) {
      expect(await auth.authenticate('wrong', STILL)).toBeUndefined();
      expect(await auth.authenticate('odd', STILL)).toBeUndefined();
    }
    expect(asked).toHaveLength(2);
  });

  it('must be meant for one of the audiences, where some were told', async () => {
    const settings = { audiences: ['node', 'other'] };
    let audiences: unknown = ['node'];
    const { asked, auth } = scene(() => reviewed({ authenticated: true, user: ann, audiences }), settings);
    expect(await auth.authenticate('one', STILL)).toEqual(USER);
    expect(asked[0]?.body).toMatchObject({ spec: { audiences: ['node', 'other'] } });
    audiences = ['api'];
    expect(await auth.authenticate('two', STILL)).toBeUndefined();
    audiences = undefined;
    expect(await auth.authenticate('three', STILL)).toBeUndefined();
  });

  it('is asked once for all who show it at the same time', async () => {
    const { promise, resolve } = deferred<unknown>();
    const { asked, auth } = scene(() => promise);
    const all = Array.from({ length: 20 }, async () => auth.authenticate('secret', STILL));
    resolve(reviewed({ authenticated: true, user: ann }));
    expect(await Promise.all(all)).toEqual(Array.from({ length: 20 }, () => USER));
    expect(asked).toHaveLength(1);
  });

  it('is asked again while the API server fails, at most five times, and a failure is not kept', async () => {
    let failing = true;
    const { clock, asked, auth } = scene(() => {
      if (failing) throw new ApiError(503, 'ServiceUnavailable', 'starting');
      return reviewed({ authenticated: true, user: ann });
    });
    const failed = expect(auth.authenticate('secret', STILL)).rejects.toThrow('starting');
    await clock.advance(9_900);
    await failed;
    expect(asked).toHaveLength(5);
    failing = false;
    expect(await auth.authenticate('secret', STILL)).toEqual(USER);
  });

  it('is not asked again when the API server refuses the question', async () => {
    const { asked, auth } = scene(() => {
      throw new ApiError(403, 'Forbidden', 'nodes may not ask');
    });
    await expect(auth.authenticate('secret', STILL)).rejects.toThrow('nodes may not ask');
    expect(asked).toHaveLength(1);
  });

  it('is not known after ten seconds without an answer', async () => {
    const { clock, auth } = scene(() => new Promise(() => undefined));
    const failed = expect(auth.authenticate('secret', STILL)).rejects.toThrow('within 10s');
    await clock.advance(10_000);
    await failed;
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not looked up where tokens are not to be', async () => {
    const { asked, auth } = scene(() => reviewed({ authenticated: true, user: ann }), {
      areTokensReviewed: false,
    });
    expect(await auth.authenticate('secret', STILL)).toBeUndefined();
    expect(asked).toEqual([]);
  });
});

describe('tokens that are made up', () => {
  it('keep nobody out whose token is good, from where they come and from elsewhere', async () => {
    const { promise, resolve } = deferred<unknown>();
    let isSlow = false;
    const { clock, auth } = scene(({ body }) => {
      const { token } = (body as { spec: { token: string } }).spec;
      if (!token.startsWith('good')) return isSlow ? promise : reviewed({});
      return reviewed({ authenticated: true, user: ann });
    });
    expect(await auth.authenticate('good', STILL, '10.0.0.1')).toEqual(USER);
    for (let index = 0; index < 4_200; index++)
      await auth.authenticate(`made-up-${index}`, STILL, '10.0.0.1');
    await clock.advance(120_000);
    isSlow = true;
    const flood = Array.from({ length: 40 }, async (_, index) =>
      auth.authenticate(`slow-${index}`, STILL, '10.0.0.1').catch((error: unknown) => error),
    );
    expect(await auth.authenticate('good', STILL, '10.0.0.1')).toEqual(USER);
    expect(await auth.authenticate('good, and new', STILL, '10.0.0.2')).toEqual(USER);
    expect(auth.stats.authn).toMatchObject({ asked: 31, refused: 9 });
    resolve(reviewed({}));
    const answers = await Promise.all(flood);
    expect(answers.filter((answer) => answer instanceof BusyError)).toHaveLength(9);
  });
});

describe('what somebody may do', () => {
  it('is asked with all that is known of him, and kept for five minutes when he may', async () => {
    const { clock, asked, auth } = scene(() => reviewed({ allowed: true }));
    expect(await auth.authorize(USER, STATS, STILL)).toBe(true);
    expect(asked[0]?.body).toEqual({
      ...{ apiVersion: 'authorization.k8s.io/v1', kind: 'SubjectAccessReview' },
      spec: {
        ...{ user: 'ann', uid: '7', groups: ['ops'], extra: { scopes: ['a'] } },
        resourceAttributes: {
          ...{ group: '', version: 'v1', resource: 'nodes', name: 'here' },
          ...{ verb: 'get', subresource: 'stats' },
        },
      },
    });
    await clock.advance(299_000);
    await auth.authorize(USER, STATS, STILL);
    expect(asked).toHaveLength(1);
    await auth.authorize(USER, { ...STATS, subresource: 'proxy' }, STILL);
    await auth.authorize({ ...USER, groups: [] }, STATS, STILL);
    expect(asked).toHaveLength(3);
    await clock.advance(1_000);
    await auth.authorize(USER, STATS, STILL);
    expect(asked).toHaveLength(4);
  });

  it('is kept for half a minute when he may not', async () => {
    const { clock, asked, auth } = scene(() => reviewed({ allowed: false }));
    expect(await auth.authorize(USER, STATS, STILL)).toBe(false);
    await clock.advance(29_000);
    expect(await auth.authorize(USER, STATS, STILL)).toBe(false);
    expect(asked).toHaveLength(1);
    await clock.advance(1_000);
    await auth.authorize(USER, STATS, STILL);
    expect(asked).toHaveLength(2);
  });

  it('is nothing when the answer says nothing, or yes and no', async () => {
    const silent = scene(() => ({}));
    const failed = expect(silent.auth.authorize(USER, STATS, STILL)).rejects.toThrow('says nothing');
    await failed;
    const both = scene(() => reviewed({ allowed: true, denied: true }));
    expect(await both.auth.authorize(USER, STATS, STILL)).toBe(false);
  });

  it('is everything where everybody may do everything, but for those who have not shown who they are', async () => {
    const { asked, auth } = scene(() => reviewed({ allowed: false }), { mode: 'AlwaysAllow' });
    expect(await auth.authorize(USER, STATS, STILL)).toBe(true);
    const nobody = { name: 'system:anonymous', groups: ['system:unauthenticated'] };
    expect(await auth.authorize(nobody, STATS, STILL)).toBe(false);
    expect(asked).toEqual([]);
  });

  it('is not kept for somebody who has made his name long', async () => {
    const { asked, auth } = scene(() => reviewed({ allowed: true }));
    const long = { ...USER, name: 'x'.repeat(10_000) };
    await auth.authorize(long, STATS, STILL);
    await auth.authorize(long, STATS, STILL);
    expect(asked).toHaveLength(2);
  });
});

describe('answers that are kept', () => {
  const make = (most: { readonly mostKept: number; readonly mostAsked: number }) =>
    new CachedAnswers<string>({
      kind: 'authn',
      ...{ clock: new FakeClock(), ttlMsOf: () => 1_000, limitMs: 1_000, late: () => new Error('late') },
      ...most,
    });

  it('are bounded: who was not asked for longest goes first, and is counted', async () => {
    const answers = make({ mostKept: 2, mostAsked: 1 });
    const asked: string[] = [];
    const get = async (key: string) =>
      answers.get(
        key,
        async () => {
          asked.push(key);
          return Promise.resolve(key);
        },
        STILL,
      );
    for (const key of ['a', 'b', 'a', 'c', 'a', 'b']) expect(await get(key)).toBe(key);
    expect(asked).toEqual(['a', 'b', 'c', 'b']);
    expect(answers.stats).toMatchObject({ kept: 2, folded: 2 });
  });

  it('are not asked for beyond a bound', async () => {
    const answers = make({ mostKept: 2, mostAsked: 1 });
    const { promise, resolve } = deferred<string>();
    const first = answers.get('a', () => promise, STILL);
    await expect(answers.get('b', () => promise, STILL)).rejects.toThrow('1 questions under way');
    expect(answers.stats).toMatchObject({ refused: 1, asked: 1, waiting: 0 });
    resolve('done');
    expect(await first).toBe('done');
    expect(await answers.get('b', () => promise, STILL)).toBe('done');
  });

  it('are asked for by all askers alike: who has most gives up his newest for who has less', async () => {
    const answers = make({ mostKept: 9, mostAsked: 4 });
    const { promise, resolve } = deferred<string>();
    const get = async (key: string, asker: string) => answers.get(key, () => promise, STILL, asker);
    const greedy = ['a', 'b', 'c', 'd'].map(async (key) => get(key, 'greedy'));
    for (const question of greedy) question.catch(() => undefined);
    await expect(get('e', 'greedy')).rejects.toBeInstanceOf(BusyError);
    const fair = [get('f', 'one'), get('g', 'other')];
    await expect(greedy[3]).rejects.toBeInstanceOf(BusyError);
    await expect(greedy[2]).rejects.toBeInstanceOf(BusyError);
    // He has no more than one more than who comes now.
    await expect(get('h', 'one')).rejects.toBeInstanceOf(BusyError);
    expect(answers.stats).toMatchObject({ refused: 4, asked: 4 });
    resolve('done');
    expect(await Promise.all([greedy[0], greedy[1], ...fair])).toEqual(['done', 'done', 'done', 'done']);
  });

  it('are asked for in places of their own once they were good, and what is not pushes none of them out', async () => {
    const clock = new FakeClock();
    const answers = new CachedAnswers<string>({
      ...{ kind: 'authn', clock, limitMs: 9_000, late: () => new Error('late') },
      ...{ ttlMsOf: () => 1_000, isGood: (answer) => answer === 'good', mostKept: 2, mostAsked: 1 },
    });
    await answers.get('known', () => Promise.resolve('good'), STILL, 'same');
    for (const key of ['x', 'y', 'z']) await answers.get(key, () => Promise.resolve('bad'), STILL, 'same');
    expect(answers.stats).toMatchObject({ kept: 3, folded: 1 });
    await clock.advance(1_000);
    const stopping = new AbortController();
    const made = answers.get('made-up', () => new Promise<string>(() => undefined), stopping.signal, 'same');
    const given = expect(made).rejects.toThrow();
    expect(await answers.get('known', () => Promise.resolve('bad'), STILL, 'same')).toBe('bad');
    await clock.advance(1_000);
    // Now it is one of the others.
    await expect(answers.get('known', () => Promise.resolve('good'), STILL, 'same')).rejects.toBeInstanceOf(
      BusyError,
    );
    stopping.abort();
    await given;
  });

  it('are given up when the last who waits has gone, and no sooner', async () => {
    const answers = make({ mostKept: 2, mostAsked: 2 });
    let asking: AbortSignal | undefined;
    const ask = (signal: AbortSignal) => {
      asking = signal;
      return new Promise<string>(() => undefined);
    };
    const [one, two] = [new AbortController(), new AbortController()];
    const ends = [one, two].map(async ({ signal }) =>
      expect(answers.get('a', ask, signal)).rejects.toThrow(),
    );
    one.abort();
    await ends[0];
    expect(asking?.aborted).toBe(false);
    two.abort();
    await ends[1];
    expect(asking?.aborted).toBe(true);
    expect(await answers.get('a', () => Promise.resolve('new'), STILL)).toBe('new');
  });
});
