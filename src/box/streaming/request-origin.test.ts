import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { findForeignOrigin } from './request-origin.js';

const OWN = { baseUrl: 'http://127.0.0.1:4321', hostname: 'node-1.example.org' };
const HOST = '127.0.0.1:4321';

describe('a request for streams', () => {
  it.each([
    HOST,
    'localhost:4321',
    'LOCALHOST',
    '[::1]:4321',
    '10.0.0.7:10250',
    'node-1:10250',
    'Node-1.example.org',
  ])('is served when it was sent to %s by a program', (host) => {
    expect(findForeignOrigin({ host }, OWN)).toBeUndefined();
  });

  it.each([
    'evil.example:4321',
    'localhost.evil.example',
    'node-1.evil.example',
    '127.0.0.1.evil.example:4321',
    'a127.0.0.1',
    '127.0.0.1@evil.example',
    '[::1].evil.example',
    '',
    ' ',
    undefined,
  ])('is refused when its Host is %j: a name that was made to mean this machine', (host) => {
    expect(findForeignOrigin(host === undefined ? {} : { host }, OWN)).toContain('Host');
  });

  it.each(['http://127.0.0.1:4321', 'http://localhost:4321', 'http://[::1]:4321'])(
    'is served when a page of this very server (%s) sends it',
    (origin) => {
      expect(findForeignOrigin({ host: HOST, origin }, OWN)).toBeUndefined();
    },
  );

  it.each([
    'http://evil.example',
    'https://127.0.0.1:4321',
    'http://127.0.0.1',
    'http://127.0.0.1:4322',
    'http://127.0.0.1:43210',
    'null',
    'file://',
    '',
  ])('is refused when the page %j sends it, whatever its Host is', (origin) => {
    expect(findForeignOrigin({ host: HOST, origin }, OWN)).toContain('page');
  });

  it('is refused for every name that ends in a domain of somebody else', () => {
    fc.assert(
      fc.property(fc.domain(), fc.integer({ min: 1, max: 65_535 }), (domain, port) => {
        expect(findForeignOrigin({ host: `${domain}:${port}` }, OWN)).toBeDefined();
        expect(findForeignOrigin({ host: HOST, origin: `http://${domain}:${port}` }, OWN)).toBeDefined();
      }),
    );
  });
});
