import { expect, it } from 'vitest';
import { isLoopback } from './is-loopback.js';

it.each([
  ['127.0.0.1', true],
  ['127.9.8.7', true],
  ['::1', true],
  ['128.0.0.1', false],
  ['::', false],
  ['127.0.0.1.example', false],
  ['localhost', false],
  ['', false],
])('%j is reachable only from this machine: %j', (address, isIt) => {
  expect(isLoopback(address)).toBe(isIt);
});
