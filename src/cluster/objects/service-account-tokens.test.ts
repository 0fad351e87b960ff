import { expect, it } from 'vitest';
import { type NodePod } from '#kube/pod/node-pod.js';
import { FakeClock } from '#testing/fake-clock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { ApiError, type KubeRequest } from '../client/kube-client.js';
import { ServiceAccountTokens } from './service-account-tokens.js';

const POD: NodePod = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'web', namespace: 'shop', uid: 'u1' } },
  spec: { containers: [], serviceAccountName: 'builder' },
};
const HOUR_MS = 3_600_000;

function scene(seconds = 3_607) {
  const clock = new FakeClock();
  const asked: KubeRequest[] = [];
  const told: string[] = [];
  const ended: string[] = [];
  const world = { problem: undefined as Error | undefined, before: Promise.resolve() };
  const tokens = new ServiceAccountTokens({
    ...{ clock, logger: SILENT_LOGGER, random: () => 0.5 },
    onToken: (token, namespace) => told.push(`${token} of ${namespace}`),
    onTokenEnded: (token, namespace) => ended.push(`${token} of ${namespace}`),
    client: {
      request: async <T>(request: KubeRequest): Promise<T> => {
        asked.push(request);
        await world.before;
        if (world.problem !== undefined) throw world.problem;
        return {
          spec: { expirationSeconds: seconds },
          status: { token: `token ${asked.length}`, expirationTimestamp: '2026-11-22T00:00:00Z' },
        } as T;
      },
    },
  });
  return { clock, asked, told, ended, tokens, world };
}

it('asks for a token that ends with the pod', async () => {
  const { asked, told, tokens } = scene();
  expect(await tokens.get(POD, { audience: 'vault', expirationSeconds: 3_607 })).toBe('token 1');
  expect(told).toEqual(['token 1 of shop']);
  expect(asked[0]).toMatchObject({
    ...{ method: 'POST', path: '/api/v1/namespaces/shop/serviceaccounts/builder/token' },
    body: {
      spec: {
        ...{ audiences: ['vault'], expirationSeconds: 3_607 },
        boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'web', uid: 'u1' },
      },
    },
  });
});

it('reads the account itself, with its annotations', async () => {
  const account = { metadata: { uid: 'a1', annotations: { 'team.example/role': 'reader' } } };
  const asked: KubeRequest[] = [];
  const client = {
    request: async <T>(request: KubeRequest): Promise<T> => {
      asked.push(request);
      return (asked.length === 1 ? account : {}) as T;
    },
  };
  const tokens = new ServiceAccountTokens({
    ...{ client, clock: new FakeClock(), logger: SILENT_LOGGER },
    ...{ onToken: () => undefined, onTokenEnded: () => undefined },
  });
  expect(await tokens.getAccount(POD)).toEqual(account.metadata);
  expect(await tokens.getAccount(POD)).toEqual({ uid: '', annotations: {} });
  expect(asked[0]).toMatchObject({ method: 'GET', path: '/api/v1/namespaces/shop/serviceaccounts/builder' });
});

it('gives the same token to whoever wants the same, and names no audience unless one was named', async () => {
  const { asked, tokens } = scene();
  const spec = { expirationSeconds: 3_607 };
  expect(await Promise.all([tokens.get(POD, spec), tokens.get(POD, spec)])).toEqual(['token 1', 'token 1']);
  expect(await tokens.get(POD, spec)).toBe('token 1');
  expect(await tokens.get(POD, { ...spec, audience: 'other' })).toBe('token 2');
  expect((asked[0]!.body as { spec: object }).spec).not.toHaveProperty('audiences');
  expect(tokens.size).toBe(2);
});

it('asks for another one when a fifth of its life is left, a few seconds sooner by chance', async () => {
  const { clock, tokens } = scene(3_600);
  await tokens.get(POD, {});
  await clock.advance(0.8 * HOUR_MS - 5_001);
  expect(await tokens.get(POD, {})).toBe('token 1');
  await clock.advance(1);
  expect(await tokens.get(POD, {})).toBe('token 2');
});

it('asks for another one after a day, however long it lives', async () => {
  const { clock, tokens } = scene(7 * 24 * 3_600);
  await tokens.get(POD, { expirationSeconds: 7 * 24 * 3_600 });
  await clock.advance(24 * HOUR_MS - 5_001);
  expect(await tokens.get(POD, { expirationSeconds: 7 * 24 * 3_600 })).toBe('token 1');
  await clock.advance(1);
  expect(await tokens.get(POD, { expirationSeconds: 7 * 24 * 3_600 })).toBe('token 2');
});

it('gives out what it has until that ends, while there is no other', async () => {
  const { clock, tokens, world } = scene(3_600);
  await tokens.get(POD, {});
  world.problem = new Error('connect ECONNREFUSED');
  await clock.advance(0.9 * HOUR_MS);
  expect(await tokens.get(POD, {})).toBe('token 1');
  await clock.advance(0.1 * HOUR_MS);
  await expect(tokens.get(POD, {})).rejects.toThrow('failed to fetch token: connect ECONNREFUSED');
});

it('holds nobody up for longer than a second while the API server does not answer and the token is good', async () => {
  const { asked, clock, tokens, world } = scene(3_600);
  await tokens.get(POD, {});
  let answer = (): void => {};
  world.before = new Promise<void>((resolve) => (answer = resolve));
  await clock.advance(0.9 * HOUR_MS);
  const waiting = tokens.get(POD, {});
  await clock.advance(1_000);
  expect(await waiting).toBe('token 1');
  expect(await tokens.get(POD, {})).toBe('token 1');
  expect(asked).toHaveLength(2);
  answer();
  await clock.settle();
  expect(await tokens.get(POD, {})).toBe('token 2');
});

it('lets a renewal that failed rest for ten seconds', async () => {
  const { asked, clock, tokens, world } = scene(3_600);
  await tokens.get(POD, {});
  world.problem = new Error('connect ECONNREFUSED');
  await clock.advance(0.9 * HOUR_MS);
  for (let i = 0; i < 3; i++) expect(await tokens.get(POD, {})).toBe('token 1');
  expect(asked).toHaveLength(2);
  world.problem = undefined;
  await clock.advance(10_000);
  expect(await tokens.get(POD, {})).toBe('token 3');
});

it('tries again at once when the API server does not know yet that the pod is here', async () => {
  const { clock, asked, tokens, world } = scene();
  world.problem = new ApiError(403, 'Forbidden', 'node requested token bound to a pod scheduled on another');
  const wanted = tokens.get(POD, {});
  await clock.settle();
  world.problem = undefined;
  await clock.advance(100);
  expect(await wanted).toBe('token 2');
  world.problem = new ApiError(404, 'NotFound', 'serviceaccounts "builder" not found');
  await expect(tokens.get(POD, { audience: 'x' })).rejects.toThrow(
    'failed to fetch token: serviceaccounts "builder" not found',
  );
  expect(asked).toHaveLength(3);
});

it('tells of a token that was replaced once it has ended, and never of the one that is given out', async () => {
  const { clock, ended, tokens } = scene(3_600);
  await tokens.get(POD, {});
  await clock.advance(0.8 * HOUR_MS);
  const both = [tokens.get(POD, {}), tokens.get(POD, {})];
  expect(await Promise.all(both)).toEqual(['token 2', 'token 2']);
  await clock.advance(0.2 * HOUR_MS - 1);
  tokens.forgetEnded();
  expect(ended).toEqual([]);
  await clock.advance(1);
  for (let times = 0; times < 2; times++) tokens.forgetEnded();
  expect(ended).toEqual(['token 1 of shop']);
  await clock.advance(HOUR_MS);
  tokens.forgetEnded();
  expect(ended).toHaveLength(1);
});

it('tells of the token of a pod that is gone once it has ended', async () => {
  const { clock, ended, tokens } = scene(3_600);
  await tokens.get(POD, {});
  tokens.forget('u1');
  tokens.forgetEnded();
  expect(ended).toEqual([]);
  await clock.advance(HOUR_MS);
  tokens.forgetEnded();
  expect(ended).toEqual(['token 1 of shop']);
});

it('forgets the tokens of a pod that is gone', async () => {
  const { tokens } = scene();
  await tokens.get(POD, {});
  expect(tokens.podUids()).toEqual(['u1']);
  tokens.forget('u1');
  expect(tokens.size).toBe(0);
});
