import { type NetworkInterfaceInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { chooseNodeIps, findIpProblem, type NodeIpFacts, splitNodeIps, usableAddresses } from './node-ip.js';

const of = (address: string): NetworkInterfaceInfo => ({
  ...{ address, netmask: '', mac: '', internal: false, cidr: null },
  ...(address.includes(':') ? { family: 'IPv6', scopeid: 0 } : { family: 'IPv4' }),
});
const INTERFACES = {
  lo: [of('127.0.0.1'), of('::1')],
  gone: undefined,
  bridge0: [of('172.17.0.1')],
  eth0: [of('fe80::1'), of('2001:db8::7'), of('192.0.2.7'), of('192.0.2.8')],
};
const BY_ETH0 =
  'Iface\tDestination\tGateway\nbridge0\t000011AC\t00000000\neth0\t00000000\t010200C0\nbridge0\t00000000\t010011AC\n';
const choose = (facts: Partial<NodeIpFacts>): readonly string[] =>
  chooseNodeIps({
    ...{ nodeIps: [], hostname: 'here', interfaces: INTERFACES, ofName: [], route: BY_ETH0 },
    ...facts,
  });

it('configured addresses are separated by commas, with or without spaces, and may be empty', () => {
  expect(splitNodeIps('192.0.2.7')).toEqual(['192.0.2.7']);
  expect(splitNodeIps(' 192.0.2.7 ,2001:db8::7,')).toEqual(['192.0.2.7', '2001:db8::7']);
  expect(splitNodeIps(' , ')).toEqual([]);
});

describe('the chosen addresses', () => {
  it.each<[why: string, facts: Partial<NodeIpFacts>, chosen: readonly string[]]>([
    [
      'those that were told before all else, in their order',
      { nodeIps: ['2001:db8::7', '172.17.0.1'], hostname: '192.0.2.8', ofName: ['192.0.2.7'] },
      ['2001:db8::7', '172.17.0.1'],
    ],
    [
      'the one that the name is, even of no interface',
      { hostname: '203.0.113.9', ofName: ['192.0.2.8'] },
      ['203.0.113.9'],
    ],
    ['what the name stands for', { ofName: ['192.0.2.8'] }, ['192.0.2.8']],
    ['IPv4 before IPv6 of a name', { ofName: ['2001:db8::7', '192.0.2.8'] }, ['192.0.2.8']],
    ['IPv6 of a name that has no other', { ofName: ['2001:db8::7'] }, ['2001:db8::7']],
    [
      'that of the first default route where the name stands for others’ addresses',
      { ofName: ['127.0.1.1', '203.0.113.9'] },
      ['192.0.2.7'],
    ],
    ['the first of any interface without a default route', { route: '' }, ['172.17.0.1']],
    [
      'the first of any where the interface of the route has none',
      { interfaces: { bridge0: INTERFACES.bridge0, eth0: [of('fe80::1')] } },
      ['172.17.0.1'],
    ],
    [
      'the first of any where the interface of the route is gone',
      { interfaces: { bridge0: INTERFACES.bridge0 } },
      ['172.17.0.1'],
    ],
  ])('are %s', (_, facts, chosen) => {
    expect(choose(facts)).toEqual(chosen);
  });

  it('fail if there is only loopback, with a hint', () => {
    expect(() => choose({ interfaces: { lo: INTERFACES.lo } })).toThrow('--node-ip');
  });

  it('fail for each invalid configured address', () => {
    expect(() => choose({ nodeIps: ['192.0.2.7', 'fe80::1'] })).toThrow(
      "failed to validate nodeIP: nodeIP can't be a link-local unicast address",
    );
  });
});

describe('an address that a node can have', () => {
  it.each([
    ...['127.8.9.1', '::1', '239.1.2.3', 'ff02::1', '169.254.7.7', 'fe80::1', '0.0.0.0', '::'],
    ...['203.0.113.9', '2001:db8::8', 'here', '', '192.0.2'],
  ])('is not %j', (ip) => {
    expect(findIpProblem(ip, INTERFACES)).toMatch(/nodeIP|node IP/);
  });

  it.each(['192.0.2.7', '2001:db8::7', '2001:DB8:0::7', '2001:0db8:0:0:0:0:0:7'])(
    'is one of the machine’s, however it is written: %s',
    (ip) => {
      expect(findIpProblem(ip, INTERFACES)).toBeUndefined();
    },
  );

  it("is each of the machine's except loopback and link-local ones", () => {
    expect(usableAddresses(INTERFACES)).toEqual(['172.17.0.1', '2001:db8::7', '192.0.2.7', '192.0.2.8']);
  });
});
