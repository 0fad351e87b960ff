import { expect, it } from 'vitest';
import { serviceVariables, toAddressedService } from './service-variables.js';

it('tells where a service is, and each of its ports, as Docker’s links do', () => {
  const service = toAddressedService({
    metadata: { name: 'redis-primary', namespace: 'default' },
    spec: {
      clusterIP: '10.0.0.11',
      ports: [
        { name: 'client-port', port: 6379 },
        { name: 'gossip', port: 7000, protocol: 'UDP' },
      ],
    },
  })!;
  expect(Object.fromEntries(serviceVariables(service))).toEqual({
    REDIS_PRIMARY_SERVICE_HOST: '10.0.0.11',
    REDIS_PRIMARY_SERVICE_PORT: '6379',
    REDIS_PRIMARY_SERVICE_PORT_CLIENT_PORT: '6379',
    REDIS_PRIMARY_SERVICE_PORT_GOSSIP: '7000',
    REDIS_PRIMARY_PORT: 'tcp://10.0.0.11:6379',
    REDIS_PRIMARY_PORT_6379_TCP: 'tcp://10.0.0.11:6379',
    REDIS_PRIMARY_PORT_6379_TCP_PROTO: 'tcp',
    REDIS_PRIMARY_PORT_6379_TCP_PORT: '6379',
    REDIS_PRIMARY_PORT_6379_TCP_ADDR: '10.0.0.11',
    REDIS_PRIMARY_PORT_7000_UDP: 'udp://10.0.0.11:7000',
    REDIS_PRIMARY_PORT_7000_UDP_PROTO: 'udp',
    REDIS_PRIMARY_PORT_7000_UDP_PORT: '7000',
    REDIS_PRIMARY_PORT_7000_UDP_ADDR: '10.0.0.11',
  });
});

it('puts an address of version 6 into brackets where a port follows', () => {
  const service = toAddressedService({
    ...{ metadata: { name: 'six' }, spec: { clusterIP: 'fd00::1', ports: [{ port: 80 }] } },
  })!;
  expect(Object.fromEntries(serviceVariables(service))).toMatchObject({
    ...{ SIX_SERVICE_HOST: 'fd00::1', SIX_PORT: 'tcp://[fd00::1]:80', SIX_PORT_80_TCP_ADDR: 'fd00::1' },
  });
});

it.each([
  ['headless', { clusterIP: 'None', ports: [{ port: 80 }] }],
  ['without an address yet', { ports: [{ port: 80 }] }],
  ['a name for something outside', { type: 'ExternalName', clusterIP: '' }],
  ['without ports', { clusterIP: '10.0.0.1' }],
  ['of odd shapes', { clusterIP: 7, ports: 'none' }],
  ['with odd ports', { clusterIP: '10.0.0.1', ports: [null, { port: 'http' }] }],
])('tells nothing of a service that is %s', (_, spec) => {
  expect(toAddressedService({ metadata: { name: 's' }, spec })).toBeUndefined();
});
