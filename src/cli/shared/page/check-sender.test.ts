import { expect, it } from 'vitest';
import { findForeignSender, type Purpose } from './check-sender.js';

const OWN = 'http://127.0.0.1:10350';
const host = '127.0.0.1:10350';

it.each<[string, Record<string, string>, Purpose]>([
  ['a typed address', { host, 'sec-fetch-site': 'none', 'sec-fetch-mode': 'navigate' }, 'page'],
  ['a link on another site', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'page'],
  ['data for the page', { host, 'sec-fetch-site': 'same-origin' }, 'data'],
  ['a change by the page', { host, origin: OWN, 'sec-fetch-site': 'same-origin' }, 'change'],
  ['a tunnel with another port', { host: 'localhost:9000', origin: 'http://localhost:9000' }, 'change'],
  ['IPv6', { host: '[::1]:10350', origin: 'http://[::1]:10350' }, 'change'],
])('lets pass %s', (_, headers, purpose) => {
  expect(findForeignSender(headers, purpose)).toBeUndefined();
});

it.each<[string, Record<string, string>, Purpose]>([
  ['a name that was pointed here', { host: 'evil.example:10350' }, 'page'],
  ['a name that begins like ours', { host: '127.0.0.1.evil.example' }, 'data'],
  ['a name with ours behind it', { host: 'evil@127.0.0.1' }, 'data'],
  ['no Host', {}, 'data'],
  ['a script of another site', { host, origin: 'https://evil.example' }, 'data'],
  ['a page at another port of this machine', { host, origin: 'http://127.0.0.1:8080' }, 'change'],
  ['the same by another protocol', { host, origin: 'https://127.0.0.1:10350' }, 'change'],
  ['a page without an origin of its own', { host, origin: 'null' }, 'change'],
  ['a picture on another page', { host, 'sec-fetch-site': 'same-site', 'sec-fetch-mode': 'no-cors' }, 'data'],
  ['a frame with our data', { host, 'sec-fetch-site': 'cross-site', 'sec-fetch-mode': 'navigate' }, 'data'],
  ['a change that does not say whose it is', { host }, 'change'],
])('refuses %s', (_, headers, purpose) => {
  expect(findForeignSender(headers, purpose)).toEqual(expect.any(String));
});
