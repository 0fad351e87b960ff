import { expect, it } from 'vitest';
import { resolveAgentOptions, type GivenAgentOptions } from './resolve-agent-options.js';
import { findReadOnlyPlace, type ReadOnlyPlace } from './read-only-port.js';

it.each<[GivenAgentOptions, Partial<ReadOnlyPlace>]>([
  [{}, { address: '127.0.0.1', port: 10_255, isUsual: true }],
  [{ address: '::1' }, { address: '::1', port: 10_255 }],
  [{ address: '0.0.0.0' }, { address: '127.0.0.1', port: 10_255 }],
  [
    { address: '::', port: 10_250 },
    { address: '127.0.0.1', port: 10_255 },
  ],
  [
    { address: '0.0.0.0', readOnlyPort: 10_255 },
    { address: '0.0.0.0', port: 10_255, isUsual: false },
  ],
  [{ kubeconfig: '/k' }, { address: '127.0.0.1', port: 10_255, isUsual: true }],
  [
    { kubeconfig: '/k', readOnlyPort: 10_255 },
    { address: '127.0.0.1', port: 10_255, isUsual: false },
  ],
  [
    { kubeconfig: '/k', readOnlyPort: 10_255, address: '0.0.0.0' },
    { address: '0.0.0.0', port: 10_255 },
  ],
  [{ port: 10_255 }, { port: 0 }],
  [{ healthzPort: 10_255 }, { port: 0 }],
  [{ readOnlyPort: 0 }, { port: 0 }],
  [{ enableServer: false }, { port: 0 }],
  [{ enableServer: false, readOnlyPort: 10_255 }, { port: 0 }],
])('with %j the port that is open to all is at %j', (given, expected) => {
  expect(findReadOnlyPlace(resolveAgentOptions(given))).toMatchObject(expected);
});
