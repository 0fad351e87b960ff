import { describe, expect, it } from 'vitest';
import { findProxy, readProxyUrl } from './find-proxy.js';

const PROXY = { protocol: 'http:', host: 'proxy.lab', port: 3128 };
const API = 'https://api.lab:6443';

const find = (server: string, environment: Record<string, string>): unknown =>
  findProxy(new URL(server), environment);

describe('the proxy that the environment names', () => {
  it.each<[environment: Record<string, string>, server: string, proxy: object | undefined]>([
    [{}, API, undefined],
    [{ HTTPS_PROXY: '' }, API, undefined],
    [{ HTTPS_PROXY: 'http://proxy.lab:3128' }, API, PROXY],
    [{ https_proxy: 'http://proxy.lab:3128/' }, API, PROXY],
    [{ HTTPS_PROXY: 'http://proxy.lab:3128', https_proxy: 'http://other.lab' }, API, PROXY],
    [{ HTTPS_PROXY: '', https_proxy: 'http://proxy.lab:3128' }, API, PROXY],
    [{ HTTPS_PROXY: 'proxy.lab:3128' }, API, PROXY],
    [{ HTTPS_PROXY: 'proxy.lab' }, API, { ...PROXY, port: 80 }],
    [{ HTTPS_PROXY: 'https://proxy.lab' }, API, { protocol: 'https:', host: 'proxy.lab', port: 443 }],
    [{ HTTPS_PROXY: 'http://[fd00::9]:3128' }, API, { ...PROXY, host: 'fd00::9' }],
    [{ HTTP_PROXY: 'http://proxy.lab:3128' }, API, undefined],
    [{ HTTP_PROXY: 'http://proxy.lab:3128' }, 'http://api.lab:8080', PROXY],
    [{ HTTPS_PROXY: 'http://proxy.lab:3128' }, 'http://api.lab:8080', undefined],
    [{ HTTPS_PROXY: 'http://proxy.lab:3128', NO_PROXY: 'api.lab' }, API, undefined],
    [{ HTTPS_PROXY: 'http://proxy.lab:3128', no_proxy: 'api.lab' }, API, undefined],
  ])('%j, on the way to %s: %j', (environment, server, proxy) => {
    expect(find(server, environment)).toEqual(proxy);
  });

  it.each(['localhost', '127.0.0.1', '127.9.8.7', '[::1]'])('is none on the way to %s', (host) => {
    expect(find(`https://${host}:6443`, { HTTPS_PROXY: 'http://proxy.lab:3128' })).toBeUndefined();
  });

  it.each<[rules: string, excepted: readonly string[], others: readonly string[]]>([
    ['*', ['api.lab', '10.0.0.1', '[fd00::1]'], []],
    [' ,, ', [], ['api.lab']],
    ['lab', ['api.lab', 'x.api.lab', 'lab'], ['collab', 'api.lab.example']],
    ['API.Lab', ['api.lab', 'x.api.lab'], ['xapi.lab']],
    ['.api.lab', ['x.api.lab'], ['api.lab']],
    ['*.api.lab', ['x.api.lab', 'y.x.api.lab'], ['api.lab']],
    ['other.lab, api.lab:6443', ['api.lab', 'x.api.lab'], ['api.example']],
    ['api.lab:443', [], ['api.lab']],
    ['10.0.0.1', ['10.0.0.1'], ['10.0.0.11']],
    ['10.0.0.1:6443,10.0.0.2:443', ['10.0.0.1'], ['10.0.0.2']],
    ['10.96.0.0/12', ['10.96.0.1', '10.111.255.255'], ['10.112.0.1', 'api.lab', '[fd00::1]']],
    ['fd00::/8,fe00::1', ['[fd00::1]', '[fe00:0::1]'], ['[fe00::2]', '253.0.0.1']],
    ['[fd00::1]:6443,[fd00::2]:443', ['[fd00::1]'], ['[fd00::2]']],
    ['10.0.0.0/33,10.0.0.0/x,/8', [], ['10.0.0.1']],
  ])('is none where NO_PROXY %j names the server', (rules, excepted, others) => {
    const environment = { HTTPS_PROXY: 'http://proxy.lab:3128', NO_PROXY: rules };
    for (const host of excepted) expect(find(`https://${host}:6443`, environment), host).toBeUndefined();
    for (const host of others) expect(find(`https://${host}:6443`, environment), host).toEqual(PROXY);
  });

  it.each([
    ['socks5://me:secret@proxy.lab', 'https_proxy in the environment: SOCKS is not supported'],
    ['ftp://me:secret@proxy.lab', 'https_proxy in the environment: must be a URL such as http://'],
    ['me:secret@proxy.lab:x', 'https_proxy in the environment: must be a URL such as http://'],
    ['http://me:secret%@proxy.lab', 'https_proxy in the environment: has a name or password with a %'],
  ])('is an error as %j, which is not repeated', (text, message) => {
    const environment = { https_proxy: text };
    const failure = (): unknown => find(API, environment);
    expect(failure).toThrow(expect.objectContaining({ code: 'OPTION_INVALID' }) as Error);
    expect(failure).toThrow(message);
    expect(failure).not.toThrow('secret');
    // It matters to nobody there.
    expect(find('https://127.0.0.1:6443', environment)).toBeUndefined();
  });
});

describe('the URL of a proxy', () => {
  it('may hold a name and password, which become those of the header', () => {
    expect(readProxyUrl('http://m%40e:p%C3%A4%3Ass@proxy.lab:3128')).toEqual({
      ...PROXY,
      authorization: `Basic ${Buffer.from('m@e:pä:ss').toString('base64')}`,
    });
    expect(readProxyUrl('http://me@proxy.lab:3128')).toEqual({
      ...PROXY,
      authorization: `Basic ${Buffer.from('me:').toString('base64')}`,
    });
  });

  it('is one of http or https', () => {
    const wrong = ['', 'proxy.lab', 'proxy.lab:3128', 'ftp://proxy.lab', 'http://'];
    for (const text of wrong) expect(() => readProxyUrl(text), text).toThrow('must be a URL such as');
    for (const text of ['socks5://p', 'socks5h://p']) {
      expect(() => readProxyUrl(text)).toThrow('SOCKS is not supported; name a proxy that speaks HTTP');
    }
  });
});
