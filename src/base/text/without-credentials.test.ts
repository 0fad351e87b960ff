import { expect, it } from 'vitest';
import { findCredentials, withoutCredentials } from './without-credentials.js';

it.each([
  ['GET https://me:hunter2@reg.example/v2/: 401', 'GET https://[redacted]@reg.example/v2/: 401'],
  [
    'GET https://cdn.example/blob?X-Sig=abc&Expires=1: 403 Forbidden',
    'GET https://cdn.example/blob?[redacted] 403 Forbidden',
  ],
  ['authorization: Bearer abc.def', 'authorization: Bearer [redacted]'],
  ['login with password=hunter2, failed', 'login with password=[redacted], failed'],
  ['token eyJhbGci.eyJzdWIi.c2ln is expired', 'token [redacted] is expired'],
  ['no such container: c1 (exit=1)', 'no such container: c1 (exit=1)'],
])('%s', (text, redacted) => {
  expect(withoutCredentials(text)).toBe(redacted);
  expect(findCredentials(text).length > 0).toBe(text !== redacted);
});

it('takes them out at any depth, and leaves all else as it is', () => {
  const bytes = Buffer.from('password=x');
  const value = { a: [{ why: 'secret=1', count: 2, 'token=3': undefined }], big: 4n, none: null, bytes };
  expect(withoutCredentials(value)).toEqual({
    ...{ a: [{ why: 'secret=[redacted]', count: 2, 'token=3': undefined }], big: 4n, none: null },
    bytes,
  });
  expect(withoutCredentials(value).bytes).toBe(bytes);
});
