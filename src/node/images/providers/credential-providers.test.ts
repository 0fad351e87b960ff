import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { Channels } from '#base/channels/publishing-channel.js';
import { credentialPluginEnded } from '#base/channels/image-channels.js';
import { messageOf } from '#base/errors/errors.js';
import { FakeClock } from '#testing/index.js';
import { aSpecPod } from '#support/builders/node-pods.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { CredentialProviders } from './credential-providers.js';
import { type CredentialProvider, type TokenAttributes } from './provider-config.js';

const NEVER = new AbortController().signal;
const V1 = 'credentialprovider.kubelet.k8s.io/v1';
const pod = aSpecPod({ serviceAccountName: 'builder' });
let folder: string;
let clock: FakeClock;
let log: LogRecorder;
let ends: string[];
let providers: CredentialProviders;
const accounts = new Map<string, { uid: string; annotations: Record<string, string> }>();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-plugins-'));
  clock = new FakeClock();
  log = new LogRecorder();
  ends = [];
  accounts.clear();
  for (const name of ['builder', 'other']) accounts.set(name, { uid: `uid of ${name}`, annotations: {} });
});
afterEach(() => rm(folder, { recursive: true }));

/** A plugin that adds each request to the file `asked`, with its arguments and its variable, and prints the answer. */
async function plugin(
  answer: unknown,
  more: Partial<CredentialProvider> = {},
  script = '',
): Promise<CredentialProvider> {
  const name = more.name ?? 'plugin';
  const file = join(folder, name);
  const text = typeof answer === 'string' ? answer : JSON.stringify(answer);
  await writeFile(join(folder, `${name}.json`), text);
  const lines = [
    '#!/bin/sh',
    `echo "$(cat) $* $MINE" >> ${folder}/asked`,
    script,
    `cat ${folder}/${name}.json`,
  ];
  await writeFile(file, lines.join('\n'), { mode: 0o755 });
  return {
    ...{ name, file, apiVersion: V1, matchImages: ['*.test'], defaultCacheMs: 60_000, args: ['get'] },
    ...{ env: [{ name: 'MINE', value: 'own' }], tokenAttributes: undefined, ...more },
  };
}

const answerOf = (cacheKeyType: string, auth: object, more: object = {}) => ({
  ...{ kind: 'CredentialProviderResponse', apiVersion: V1, cacheKeyType, auth, ...more },
});
const LOGIN = { username: 'ann', password: 'hunter2' };

function open(...all: CredentialProvider[]): void {
  const channels = new Channels();
  channels.subscribe(
    credentialPluginEnded,
    ({ plugin: name, isFailed }) => void ends.push(`${name} ${isFailed}`),
  );
  providers = new CredentialProviders({
    ...{ providers: all, clock, logger: log, channels, environment: { PATH: process.env['PATH'] } },
    getToken: ({ spec }, audience) => Promise.resolve(`${spec.serviceAccountName}-for-${audience}`),
    getServiceAccount: ({ spec }) => {
      const facts = accounts.get(spec.serviceAccountName ?? '');
      return facts === undefined
        ? Promise.reject(new Error('serviceaccounts not found'))
        : Promise.resolve(facts);
    },
  });
}

const find = async (image: string, of = pod) =>
  (await providers.find(image, of, NEVER)).map(({ login, isForAnyone }) => [login.username, isForAnyone]);
const asked = async (): Promise<string[]> =>
  (await readFile(join(folder, 'asked'), 'utf8').catch(() => '')).split('\n').slice(0, -1);

it('asks the plugins that are for an image, with their arguments and environment, and gives what they say', async () => {
  const one = await plugin(answerOf('Image', { 'r.test': LOGIN, 'elsewhere.test': LOGIN }), { name: 'one' });
  const other = await plugin(answerOf('Image', {}), { name: 'other', matchImages: ['other.org'] });
  open(one, other);
  expect(await find('r.test/app:1')).toEqual([['ann', true]]);
  expect(await find('nginx')).toEqual([]);
  expect(await asked()).toEqual([
    `{"kind":"CredentialProviderRequest","apiVersion":"${V1}","image":"r.test/app"} get own`,
  ]);
  expect(ends).toEqual(['one false']);
});

it.each([
  ['Image', ['r.test/app', 'r.test/app', 'r.test/b', 'x.test/app'], 3],
  ['Registry', ['r.test/app', 'r.test/b', 'x.test/app'], 2],
  ['Global', ['r.test/app', 'r.test/b', 'x.test/app'], 1],
])('asks again by the cache key %s', async (type, images, times) => {
  open(await plugin(answerOf(type, { '*.test': LOGIN })));
  for (const image of images) expect(await find(`${image}:1`)).toEqual([['ann', true]]);
  expect(await asked()).toHaveLength(times);
});

it('asks again once an answer is too old, by its own word or the configuration’s', async () => {
  open(await plugin(answerOf('Global', {})));
  await find('r.test/app');
  await clock.advance(59_000);
  await find('r.test/app');
  expect(await asked()).toHaveLength(1);
  await clock.advance(1_000);
  await find('r.test/app');
  expect(await asked()).toHaveLength(2);
  open(await plugin(answerOf('Global', {}, { cacheDuration: '0s' })));
  for (let round = 0; round < 2; round++) await find('r.test/app');
  expect(await asked()).toHaveLength(4);
});

it('runs one process for all that ask the same', async () => {
  open(await plugin(answerOf('Image', { 'r.test': LOGIN }, { cacheDuration: '0s' })));
  const all = await Promise.all([1, 2, 3].map(() => find('r.test/app:1')));
  expect([all.flat().length, (await asked()).length]).toEqual([3, 1]);
});

const logged = (): string =>
  log.lines.map(({ message, fields }) => `${message}: ${messageOf(fields['err'])}`).join('\n');

const SECRET = 'TOP-SECRET';
it.each([
  [SECRET, 'its answer is wrong: it is not a JSON object'],
  [answerOf('Image', {}, { kind: SECRET }), 'kind must be CredentialProviderResponse'],
  [answerOf('Image', {}, { apiVersion: SECRET }), `apiVersion must be ${V1}`],
  [answerOf(SECRET, {}), 'cacheKeyType must be Image, Registry or Global'],
  [answerOf('Image', {}, { cacheDuration: SECRET }), 'cacheDuration must be a duration'],
  [answerOf('Image', { 'r.test': SECRET }), 'each entry of auth must have a username and a password'],
])('gives no login for a wrong answer, and says why without it: %#', async (answer, why) => {
  open(await plugin(answer));
  expect(await find('r.test/app')).toEqual([]);
  const text = logged();
  expect(text).toContain(why);
  expect(text).not.toContain(SECRET);
  expect(ends).toEqual(['plugin true']);
});

it('says how a plugin failed: by its exit code, not there, too much', async () => {
  open(
    await plugin('', { name: 'fails' }, 'exit 3'),
    await plugin('', { name: 'gone', file: join(folder, 'none') }),
    await plugin('', { name: 'chatty' }, 'head -c 2000000 /dev/zero'),
  );
  expect(await find('r.test/app')).toEqual([]);
  const text = logged();
  for (const why of [
    'fails: it ended with exit code 3',
    'cannot be started',
    'prints more than 1048576 bytes',
  ])
    expect(text).toContain(why);
  expect(ends.sort()).toEqual(['chatty true', 'fails true', 'gone true']);
});

it('ends a plugin that does not answer, with what it has started', async () => {
  open(await plugin('', {}, `sleep 1000 & echo $! > ${folder}/pid; wait`));
  const found = find('r.test/app');
  await expect
    .poll(() => readFile(join(folder, 'pid'), 'utf8').catch(() => ''), { timeout: 30_000 })
    .toMatch(/\d\n/);
  await clock.advance(60_000);
  expect(await found).toEqual([]);
  const pid = Number(await readFile(join(folder, 'pid'), 'utf8'));
  const isAlive = async (): Promise<boolean> =>
    (await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => ') Z')).split(') ')[1]?.startsWith('Z') !== true;
  await expect.poll(isAlive, { timeout: 30_000 }).toBe(false);
  expect(logged()).toContain('does not answer within 1m0s');
});

const TOKEN: TokenAttributes = {
  ...{ serviceAccountTokenAudience: 'registry', cacheType: 'ServiceAccount', requireServiceAccount: true },
};

it('gives a plugin the token of the pod’s service account, and what comes of it is for that account', async () => {
  open(await plugin(answerOf('Global', { 'r.test': LOGIN }), { tokenAttributes: TOKEN }));
  expect(await find('r.test/app')).toEqual([['ann', false]]);
  expect(await find('r.test/app')).toEqual([['ann', false]]);
  expect(await find('r.test/app', aSpecPod({ serviceAccountName: 'other' }))).toEqual([['ann', false]]);
  // A pod without an account does not get it.
  expect(await find('r.test/app', aSpecPod({}))).toEqual([]);
  const tokens = (await asked()).map((line) => /"serviceAccountToken":"([^"]*)"/.exec(line)?.[1]);
  expect(tokens).toEqual(['builder-for-registry', 'other-for-registry']);
});

it('gives a plugin the annotations that it wants, and does not ask it where one of them is missing', async () => {
  const tokenAttributes = {
    ...TOKEN,
    ...{ requiredServiceAccountAnnotationKeys: ['r/role'], optionalServiceAccountAnnotationKeys: ['r/team'] },
  };
  open(await plugin(answerOf('Global', { 'r.test': LOGIN }), { tokenAttributes }));
  accounts.set('builder', { uid: 'a1', annotations: { 'r/team': 'blue', other: 'x' } });
  expect(await find('r.test/app')).toEqual([]);
  expect(await asked()).toEqual([]);
  expect(logged()).not.toContain('Failed');
  accounts.set('builder', { uid: 'a1', annotations: { 'r/role': 'reader', 'r/team': 'blue', other: 'x' } });
  for (let round = 0; round < 2; round++) expect(await find('r.test/app')).toEqual([['ann', false]]);
  // What holds for these annotations, or this account, holds for no others.
  accounts.set('builder', { uid: 'a1', annotations: { 'r/role': 'writer' } });
  expect(await find('r.test/app')).toEqual([['ann', false]]);
  accounts.set('builder', { uid: 'a2', annotations: { 'r/role': 'writer' } });
  expect(await find('r.test/app')).toEqual([['ann', false]]);
  const given = (await asked()).map((line) => /"serviceAccountAnnotations":({[^}]*})/.exec(line)?.[1]);
  expect(given).toEqual([
    '{"r/role":"reader","r/team":"blue"}',
    '{"r/role":"writer"}',
    '{"r/role":"writer"}',
  ]);
});

it('says which account a login is for, and asks again for another one of the same name', async () => {
  open(await plugin(answerOf('Global', { 'r.test': LOGIN }), { tokenAttributes: TOKEN }));
  const account = { namespace: pod.metadata.namespace, name: 'builder', uid: 'uid of builder' };
  expect(await providers.find('r.test/app', pod, NEVER)).toMatchObject([{ account, isForAnyone: false }]);
  accounts.set('builder', { uid: 'new', annotations: {} });
  expect(await providers.find('r.test/app', pod, NEVER)).toMatchObject([{ account: { uid: 'new' } }]);
  expect(await asked()).toHaveLength(2);
});

it('takes its token back as the password only where it is cached by token', async () => {
  const echo = answerOf('Global', { 'r.test': { username: 'x', password: 'builder-for-registry' } });
  open(await plugin(echo, { tokenAttributes: TOKEN }));
  expect(await find('r.test/app')).toEqual([]);
  expect(logged()).toContain('cacheType must be Token');
  expect(logged()).not.toContain('builder-for-registry');
  open(await plugin(echo, { tokenAttributes: { ...TOKEN, cacheType: 'Token' } }));
  expect(await find('r.test/app')).toEqual([['x', false]]);
});

it('does not ask a plugin for an account that cannot be read, and says so', async () => {
  open(await plugin(answerOf('Global', { 'r.test': LOGIN }), { tokenAttributes: TOKEN }));
  accounts.clear();
  expect(await find('r.test/app')).toEqual([]);
  expect(logged()).toContain('serviceaccounts not found');
  expect(await asked()).toEqual([]);
});
