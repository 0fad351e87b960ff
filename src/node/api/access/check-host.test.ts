import { describe, expect, it } from 'vitest';
import { allowOwnHosts } from './check-host.js';

const NAMES = ['192.0.2.7', 'Node-1'];
let names: readonly string[] = NAMES;
const authorize = allowOwnHosts(() => names);

function ask(headers: Record<string, string>, localAddress = '127.0.0.1') {
  const client = { localAddress, certificate: undefined };
  const { signal } = new AbortController();
  return authorize({ method: 'GET', path: '/metrics', template: '/metrics', headers, signal }, client);
}

describe('the Host of a request to an open port', () => {
  it.each([
    ...['127.0.0.1:10255', '127.0.0.1', 'localhost:10255', 'LocalHost', 'localhost.', '[::1]:10255', '[::1]'],
    ...['127.8.9.10:1', '192.0.2.7:10255', 'node-1:10255'],
  ])('may be %s', (host) => {
    expect(ask({ host })).toBeUndefined();
  });

  it.each([
    ...[
      'evil.example',
      'evil.example:10255',
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'xlocalhost',
    ],
    ...[
      '127.evil',
      '192.0.2.8',
      '[::1',
      '[::2]',
      '',
      ':10255',
      '127.0.0.1@evil.example',
      '127.0.0.1:80:80',
      '0x7f.1',
    ],
    ...['2130706433', '127.1', '0.0.0.0:10255'],
  ])('may not be %j', (host) => {
    expect(ask({ host })).toMatchObject({ reason: 'Forbidden', code: 403 });
  });

  it('may be the address that the client came to', () => {
    expect(ask({ host: '198.51.100.4:10255' }, '198.51.100.4')).toBeUndefined();
    expect(ask({ host: '198.51.100.4:10255' }, '::ffff:198.51.100.4')).toBeUndefined();
    expect(ask({ host: '198.51.100.5' }, '198.51.100.4')).toMatchObject({ code: 403 });
  });

  it('may be what is a name of the server at that moment', () => {
    names = ['192.0.2.9', 'Node-1'];
    expect(ask({ host: '192.0.2.9:10255' })).toBeUndefined();
    expect(ask({ host: '192.0.2.7:10255' })).toMatchObject({ code: 403 });
    names = NAMES;
    expect(ask({ host: '192.0.2.7:10255' })).toBeUndefined();
  });

  it('does not help a page of another site', () => {
    const host = 'localhost:10255';
    expect(ask({ host, origin: 'http://localhost:3000' })).toMatchObject({ code: 403 });
    expect(ask({ host, 'sec-fetch-site': 'cross-site' })).toMatchObject({ code: 403 });
    expect(ask({ host, 'sec-fetch-site': 'none' })).toBeUndefined();
  });

  it('is not missed where HTTP/1.0 leaves it out', () => {
    expect(ask({})).toBeUndefined();
  });
});
