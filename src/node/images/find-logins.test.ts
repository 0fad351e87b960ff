import { describe, expect, it } from 'vitest';
import { type Secret } from '#kube/objects/config-object.js';
import { readDockerConfig } from './docker-config.js';
import { findLogins } from './find-logins.js';

const found = (image: string, ...places: string[]): string =>
  findLogins(
    image,
    places.map((place) => [place, { username: place, password: 'p' }]),
  )
    .map(({ username }) => username)
    .join(' then ');

describe('the logins for an image', () => {
  it.each([
    ['r.test/a', 'r.test', true],
    ['r.test/a:1', 'https://r.test', true],
    ['r.test/a@sha256:' + 'a'.repeat(64), 'http://r.test/', true],
    ['r.test/a', 'r.test/v1/', true],
    ['r.test/a', 'https://r.test/v2/', true],
    ['r.test/a', 'r.test:443', false],
    ['r.test:5000/a', 'r.test:5000', true],
    ['r.test:5000/a', 'r.test', false],
    ['r.test/team/a', 'r.test/team', true],
    ['r.test/team/a', 'r.test/te', true],
    ['r.test/team/a', 'r.test/other', false],
    ['r.test/team', 'r.test/team/a', false],
    ['a.r.test/x', '*.r.test', true],
    ['a.b.r.test/x', '*.r.test', false],
    ['r.test/x', '*.r.test', false],
    ['ab.r.test/x', 'a?.r.test', true],
    ['a.r.test:5000/x', '*.r.test:5000', true],
    ['a-r.test/x', '*.test', true],
    ['abcab.r.test/x', '*ab.r.test', true],
    ['ab.r.test/x', 'ab*.r.test', true],
    ['abc.r.test/x', 'a*b.r.test', false],
    ['ab.r.test/x', '???.r.test', false],
    ['axtest/x', 'a.test', false],
    ['localhost/x', 'localhost', true],
    ['localhost:5000/x', 'localhost:5000', true],
    ['busybox', 'docker.io', true],
    ['busybox', 'https://index.docker.io/v1/', true],
    ['busybox', 'index.docker.io', true],
    ['team/app:1', 'docker.io/team', true],
    ['docker.io/team/app', 'index.docker.io', true],
    ['index.docker.io/team/app', 'docker.io', true],
    ['r.test/app', 'https://index.docker.io/v1/', false],
    ['no image!', 'docker.io', false],
  ])('of %s are those of %s: %s', (image, place, isFor) => {
    expect(found(image, place)).toBe(isFor ? place : '');
  });

  it('are found at once, however many stars a pattern has', () => {
    const [image, stars] = [`${'a'.repeat(200)}.test/x`, '*a'.repeat(60)];
    expect(found(image, `${stars}*.test`)).toBe(`${stars}*.test`);
    expect(found(image, `${stars}*b.test`)).toBe('');
  });

  it('come with longer places first, and Docker Hub’s only where nothing else is for it', () => {
    expect(found('r.test/a/b', 'r.test', 'r.test/a/b', 'x.test', 'r.test/a')).toBe(
      'r.test/a/b then r.test/a then r.test',
    );
    expect(found('busybox', 'index.docker.io', 'docker.io')).toBe('docker.io');
  });
});

describe('a Secret with logins', () => {
  const secret = (type: string, key: string, content: unknown): Secret => ({
    ...{ kind: 'Secret', metadata: { name: 's', namespace: 'default' }, type: `kubernetes.io/${type}` },
    data: new Map([[key, Buffer.from(typeof content === 'string' ? content : JSON.stringify(content))]]),
  });
  const json = (content: unknown) =>
    readDockerConfig(secret('dockerconfigjson', '.dockerconfigjson', content));
  const auth = Buffer.from('me:pass:word').toString('base64');

  it('is read in both of its forms', () => {
    const entries = { 'a.test': { username: 'u', password: 'p' }, 'b.test': { auth, username: 'other' } };
    const logins = new Map([
      ['a.test', { username: 'u', password: 'p' }],
      ['b.test', { username: 'me', password: 'pass:word' }],
    ]);
    expect(json({ auths: entries, credsStore: 'x' })).toEqual({ logins, isBroken: false });
    expect(readDockerConfig(secret('dockercfg', '.dockercfg', entries))).toEqual({ logins, isBroken: false });
    expect(json({})).toEqual({ logins: new Map(), isBroken: false });
    expect(json({ auths: null })).toEqual({ logins: new Map(), isBroken: false });
  });

  it.each([
    ['is no JSON', '{"auths":'],
    ['is no mapping', []],
    ['has auths that are none', { auths: [] }],
    ['has a login that is none', { auths: { 'a.test': 'x' } }],
    ['has a password that is none', { auths: { 'a.test': { username: 'u', password: 7 } } }],
    ['has an auth without a colon', { auths: { 'a.test': { auth: 'eA==' } } }],
  ])('is broken when it %s', (_, content) => {
    expect(json(content)).toEqual({ logins: new Map(), isBroken: true });
  });

  it('is none of another type', () => {
    const { logins, isBroken } = readDockerConfig({
      ...secret('x', '.dockerconfigjson', {}),
      type: 'Opaque',
    });
    expect([logins.size, isBroken]).toEqual([0, true]);
  });

  it('gives what can be read of it', () => {
    const { logins, isBroken } = json({ auths: { 'a.test': 'x', 'b.test': { auth } } });
    expect([...logins.keys(), isBroken]).toEqual(['b.test', true]);
  });
});
