import { describe, expect, it } from 'vitest';
import { parseBindAddress } from './bind-address.js';

describe('an address to listen at', () => {
  it.each([
    ['127.0.0.1:10247', { host: '127.0.0.1', port: 10247 }],
    ['0.0.0.0:1', { host: '0.0.0.0', port: 1 }],
    ['[::1]:65535', { host: '::1', port: 65535 }],
    ['0', undefined],
  ])('is read from %s', (text, address) => {
    expect(parseBindAddress(text)).toEqual(address);
  });

  it.each([
    '',
    ':10247',
    '10247',
    'localhost:1',
    '127.0.0.1',
    '127.0.0.1:0',
    '127.0.0.1:65536',
    '::1:1',
    '[127.0.0.1]:1',
  ])('is refused for %j, with what to write instead', (text) => {
    expect(() => parseBindAddress(text)).toThrow('use ADDRESS:PORT');
  });
});
