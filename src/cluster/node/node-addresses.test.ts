import { type NetworkInterfaceInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { findIpProblem, type NodeIpFacts } from '#base/wire/node-ip.js';
import { computeAddresses, mergeAddresses } from './node-addresses.js';

const of = (address: string): NetworkInterfaceInfo => ({
  ...{ address, netmask: '', mac: '', internal: false, cidr: null },
  ...(address.includes(':') ? { family: 'IPv6', scopeid: 0 } : { family: 'IPv4' }),
});
const FACTS: NodeIpFacts = {
  ...{ nodeIps: [], hostname: 'here', ofName: [] },
  interfaces: {
    lo: [of('127.0.0.1'), of('::1')],
    docker0: [of('172.17.0.1')],
    eth0: [of('fe80::1'), of('2001:db8::7'), of('192.0.2.7')],
  },
  route: 'Iface\tDestination\tGateway\neth0\t00000000\t010200C0\neth0\t000200C0\t00000000\n',
};
const internal = (facts: Partial<NodeIpFacts>) =>
  computeAddresses({ ...FACTS, ...facts })
    .filter(({ type }) => type === 'InternalIP')
    .map(({ address }) => address);

describe('the addresses of a node', () => {
  it('are that of its default route, and its name', () => {
    expect(computeAddresses(FACTS)).toEqual([
      { type: 'InternalIP', address: '192.0.2.7' },
      { type: 'Hostname', address: 'here' },
    ]);
  });

  it('are those that were told, one of each family', () => {
    expect(internal({ nodeIps: ['2001:db8:0::7', '172.17.0.1'] })).toEqual(['2001:db8:0::7', '172.17.0.1']);
  });

  it('are what its name stands for, unless that is its own loopback', () => {
    expect(internal({ ofName: ['127.0.1.1', '172.17.0.1'] })).toEqual(['172.17.0.1']);
    expect(internal({ ofName: ['127.0.1.1', '203.0.113.1'] })).toEqual(['192.0.2.7']);
  });

  it('are its name where that is one', () => {
    expect(internal({ hostname: '172.17.0.1' })).toEqual(['172.17.0.1']);
  });

  it('are the first that the machine has where no route is the default, IPv6 only where there is nothing else', () => {
    expect(internal({ route: '' })).toEqual(['172.17.0.1']);
    expect(internal({ route: '', interfaces: { eth0: [of('fe80::1'), of('2001:db8::7')] } })).toEqual([
      '2001:db8::7',
    ]);
  });

  it('are said to be missing where there is only loopback', () => {
    expect(() => internal({ interfaces: { lo: [of('127.0.0.1')] } })).toThrow('--node-ip');
  });

  it.each([
    ['127.0.0.1', "nodeIP can't be a loopback address"],
    ['::1', "nodeIP can't be a loopback address"],
    ['224.0.0.1', "nodeIP can't be a multicast address"],
    ['fe80::1', "nodeIP can't be a link-local unicast address"],
    ['169.254.1.1', "nodeIP can't be a link-local unicast address"],
    ['0.0.0.0', "nodeIP can't be an all zeros address"],
    ['1.2.3', 'nodeIP must be a valid IP address'],
    ['203.0.113.9', 'node IP: "203.0.113.9" not found in the host\'s network interfaces'],
  ])('are refused where no API server could use them: %s', (ip, problem) => {
    expect(findIpProblem(ip, FACTS.interfaces)).toBe(problem);
    expect(() => internal({ nodeIps: [ip] })).toThrow(problem);
  });
});

describe('addresses that the controller of a cloud has told', () => {
  const at = (type: string, address: string) => ({ type, address });
  const own = [at('InternalIP', '192.0.2.7'), at('Hostname', 'here')];
  const external = at('ExternalIP', '203.0.113.7');
  const names = [at('InternalDNS', 'here.internal'), at('ExternalDNS', 'here.example')];

  it('stay, as no node finds them out', () => {
    const old = at('InternalIP', '192.0.2.6');
    expect(mergeAddresses([old, external, ...names], own)).toEqual([...own, external, ...names]);
  });

  it('keep their places, so that nobody is answered for an order alone', () => {
    const previous = [external, own[1]!, ...names, own[0]!];
    expect(mergeAddresses(previous, own)).toBe(previous);
  });

  it('give way to what the node tells of itself, of each type', () => {
    const told = [...own, at('ExternalIP', '203.0.113.8')];
    expect(mergeAddresses([...own, external, ...names], told)).toEqual([...told, ...names]);
  });

  it('leave the first of its own addresses the first', () => {
    const second = at('InternalIP', '2001:db8::7');
    expect(mergeAddresses([second, ...own, external], [own[0]!, second, own[1]!])).toEqual([
      ...[own[0]!, second, own[1]!, external],
    ]);
  });
});
