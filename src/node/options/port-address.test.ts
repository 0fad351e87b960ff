import { expect, it } from 'vitest';
import { type GivenAgentOptions, resolveAgentOptions } from './resolve-agent-options.js';
import { findTlsPort, portAddressOf } from './port-address.js';

it.each<[GivenAgentOptions, string]>([
  [{}, '127.0.0.1'],
  [{ kubeconfig: '/k' }, '0.0.0.0'],
  [{ kubeconfig: '/k', address: '127.0.0.1' }, '127.0.0.1'],
  [{ kubeconfig: '/k', address: '::' }, '::'],
  [{ address: '192.0.2.7' }, '192.0.2.7'],
])('with %j the port with TLS is at %s', (given, address) => {
  expect(portAddressOf(resolveAgentOptions(given))).toBe(address);
});

it('may come from a file', () => {
  const options = resolveAgentOptions({ kubeconfig: '/k' }, { address: '192.0.2.7' });
  expect(portAddressOf(options)).toBe('192.0.2.7');
});

it.each<[GivenAgentOptions, number | undefined]>([
  [{ port: 10_250 }, 10_250],
  [{ port: 0 }, undefined],
  [{ port: 10_250, enableServer: false }, undefined],
])('with %j there is a port with TLS, or none: %s', (given, port) => {
  expect(findTlsPort(resolveAgentOptions(given))).toBe(port);
});
