import { describe, expect, it } from 'vitest';
import { messageOf } from '../errors/errors.js';
import { decodeDockerAuth, parseDockerLogins, readDockerLogin } from './docker-login-file.js';

const AUTH = Buffer.from('me:pass:word').toString('base64');
const NOTHING = { identityToken: '', registryToken: '' };

function faultOf(work: () => unknown): string {
  try {
    work();
    return '';
  } catch (error) {
    return messageOf(error);
  }
}

describe('the file of Docker’s logins', () => {
  it('is read in both of its forms, with the helpers that it names', () => {
    const entries = { 'a.test': { auth: AUTH }, 'b.test': 7 };
    const text = JSON.stringify({
      auths: entries,
      credHelpers: { 'c.test': 'c', 'd.test': 7 },
      credsStore: 's',
    });
    expect(parseDockerLogins(text, 'config.json')).toEqual({
      entries: new Map(Object.entries(entries)),
      helpers: new Map([['c.test', 'c']]),
      store: 's',
    });
    expect(parseDockerLogins(JSON.stringify(entries), '.dockercfg').entries).toEqual(
      new Map(Object.entries(entries)),
    );
  });

  it.each(['null', '{}', '{"auths":null,"credHelpers":[],"credsStore":1}'])('may be empty: %s', (text) => {
    expect(parseDockerLogins(text, 'config.json')).toEqual({
      ...{ entries: new Map(), helpers: new Map(), store: undefined },
    });
  });

  it.each([
    ['hunter2', 'it is not JSON'],
    ['["hunter2"]', 'it is no object'],
    ['{"auths":["hunter2"]}', 'its auths are no object'],
  ])('is refused without repeating it: %s', (text, fault) => {
    expect(faultOf(() => parseDockerLogins(text, 'config.json'))).toBe(fault);
  });
});

describe('an entry', () => {
  it.each([
    [
      { username: 'u', password: 'p' },
      { username: 'u', password: 'p', ...NOTHING },
    ],
    [
      { auth: AUTH, username: 'other' },
      { username: 'me', password: 'pass:word', ...NOTHING },
    ],
    [
      { identitytoken: 'i', registrytoken: 'r' },
      { username: '', password: '', identityToken: 'i', registryToken: 'r' },
    ],
  ])('%j is %j', (entry, login) => {
    expect(readDockerLogin(entry)).toEqual(login);
  });

  it.each([
    ['hunter2', 'a login is no object'],
    [{ password: ['hunter2'] }, 'the field "password" is no text'],
    [{ auth: 'aHVudGVyMg==' }, 'the field "auth" is not a name and a password in base64'],
  ])('is refused without repeating it: %j', (entry, fault) => {
    expect(faultOf(() => readDockerLogin(entry))).toBe(fault);
  });

  it('may end in zeros in base64', () => {
    expect(decodeDockerAuth(Buffer.from('me:p\0\0').toString('base64'))).toEqual({
      username: 'me',
      password: 'p',
    });
  });
});
