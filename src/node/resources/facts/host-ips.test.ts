import { type NetworkInterfaceInfo } from 'node:os';
import { describe, expect, it } from 'vitest';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { type NodeIpFacts, splitNodeIps } from '#base/wire/node-ip.js';
import { HostIps } from './host-ips.js';

const at = (address: string): NetworkInterfaceInfo => ({
  ...{ address, netmask: '', mac: '', internal: address.startsWith('127.'), cidr: null, family: 'IPv4' },
});
const LO = { lo: [at('127.0.0.1')] };
const BOTH = { docker0: [at('172.17.0.1')], eth1: [at('192.0.2.7')] };
const BY_ETH1 = 'Iface\tDestination\tGateway\neth1\t00000000\t010200C0\n';

function scene(nodeIps = '') {
  const state = {
    facts: { interfaces: { ...LO, ...BOTH }, route: BY_ETH1 } as Partial<NodeIpFacts>,
    ofNode: [] as readonly string[],
    changes: 0,
  };
  const logger = new LogRecorder();
  const ips = new HostIps({
    read: async () => ({
      ...{ nodeIps: splitNodeIps(nodeIps), hostname: 'here', interfaces: {}, ofName: [], route: '' },
      ...state.facts,
    }),
    ofNode: () => state.ofNode,
    logger,
  });
  ips.onChange(() => state.changes++);
  return { ips, state, logger };
}

describe('the addresses of their node that pods see', () => {
  it('are that of the default route, whatever interface comes first', async () => {
    const { ips, state } = scene();
    await ips.refresh();
    expect(ips.current()).toEqual(['192.0.2.7']);
    expect(state.changes).toBe(0);
  });

  it('come once the machine has one, change with it, and stay while it has none', async () => {
    const { ips, state } = scene();
    state.facts = { interfaces: LO };
    await ips.refresh();
    expect(ips.current()).toEqual([]);
    state.facts = { interfaces: { ...LO, ...BOTH }, route: BY_ETH1 };
    await ips.refresh();
    expect(ips.current()).toEqual(['192.0.2.7']);
    state.facts = { interfaces: { ...LO, eth1: [at('192.0.2.8')] }, route: BY_ETH1 };
    await ips.refresh();
    state.facts = { interfaces: LO };
    await ips.refresh();
    expect(ips.current()).toEqual(['192.0.2.8']);
    expect(state.changes).toBe(2);
  });

  it('are those of the Node, as soon as it has any', async () => {
    const { ips, state } = scene();
    await ips.refresh();
    state.ofNode = ['172.17.0.1', '2001:db8::7'];
    expect(ips.current()).toEqual(['172.17.0.1', '2001:db8::7']);
    await ips.refresh();
    await ips.refresh();
    expect(state.changes).toBe(1);
  });

  it('have not changed when the Node shows them for the first time, and have when it shows others', async () => {
    const { ips, state, logger } = scene();
    await ips.refresh();
    state.ofNode = ['172.17.0.1'];
    await ips.refresh();
    expect(logger.lines).toEqual([]);
    state.ofNode = ['172.17.0.2'];
    await ips.refresh();
    expect(logger.lines).toMatchObject([
      {
        message: 'Addresses of the node have changed',
        fields: { before: ['172.17.0.1'], now: ['172.17.0.2'] },
      },
    ]);
    expect(state.changes).toBe(2);
  });

  it('are the configured ones, of each family', async () => {
    const { ips } = scene('2001:db8::7,192.0.2.9');
    await ips.refresh();
    expect(ips.current()).toEqual(['2001:db8::7', '192.0.2.9']);
  });
});
