import { describe, expect, it } from 'vitest';
import {
  computeResolverConfig,
  describeResolverLimits,
  lacksClusterDns,
  parseResolverConfig,
} from './resolver-config.js';

const node = { servers: ['192.0.2.1'], searches: ['example.net'], options: ['rotate'] };
const facts = { node, clusterDns: ['10.96.0.10'], clusterDomain: 'cluster.local' };

describe('a resolv.conf', () => {
  it('is read as the resolver reads it', () => {
    const text = [
      '# comment',
      'nameserver 192.0.2.1 # ours',
      'nameserver\t2001:db8::1',
      'search first.example',
      'search example.net. corp.example',
      'options ndots:2 rotate',
      'domain ignored.example',
      'nonsense',
    ].join('\n');
    expect(parseResolverConfig(text)).toEqual({
      servers: ['192.0.2.1', '2001:db8::1'],
      searches: ['example.net', 'corp.example'],
      options: ['ndots:2', 'rotate'],
    });
  });

  it('may be empty', () => {
    expect(parseResolverConfig('')).toEqual({ servers: [], searches: [], options: [] });
  });
});

describe('a pod', () => {
  it('resolves names as the node does unless it asks for more', () => {
    expect(computeResolverConfig({}, 'default', facts)).toEqual(node);
    expect(computeResolverConfig({ dnsPolicy: 'Default' }, 'default', facts)).toEqual(node);
  });

  it('resolves names of the cluster first when it asks for that', () => {
    const cluster = {
      servers: ['10.96.0.10'],
      searches: ['shop.svc.cluster.local', 'svc.cluster.local', 'cluster.local', 'example.net'],
      options: ['ndots:5'],
    };
    expect(computeResolverConfig({ dnsPolicy: 'ClusterFirst' }, 'shop', facts)).toEqual(cluster);
    expect(computeResolverConfig({ dnsPolicy: 'ClusterFirst', hostNetwork: true }, 'shop', facts)).toEqual(
      node,
    );
    const onNode = { dnsPolicy: 'ClusterFirstWithHostNet', hostNetwork: true } as const;
    expect(computeResolverConfig(onNode, 'shop', facts)).toEqual(cluster);
  });

  it('falls back to the node’s servers where there is no cluster', () => {
    const alone = { ...facts, clusterDns: [] };
    expect(computeResolverConfig({ dnsPolicy: 'ClusterFirst' }, 'shop', alone)).toEqual(node);
    expect(lacksClusterDns({ dnsPolicy: 'ClusterFirst' }, [])).toBe(true);
    expect(lacksClusterDns({ dnsPolicy: 'ClusterFirst' }, ['10.96.0.10'])).toBe(false);
    expect(lacksClusterDns({}, [])).toBe(false);
  });

  it('never gets servers of the runtime’s own choice', () => {
    const none = { node: { servers: [], searches: [], options: [] }, clusterDns: [], clusterDomain: '' };
    expect(computeResolverConfig({}, 'default', none)).toEqual({
      servers: ['127.0.0.1'],
      searches: ['.'],
      options: [],
    });
  });

  it('searches no domain twice', () => {
    const twice = { ...facts, node: { ...node, searches: ['cluster.local', 'example.net'] } };
    expect(computeResolverConfig({ dnsPolicy: 'ClusterFirst' }, 'shop', twice).searches).toEqual([
      'shop.svc.cluster.local',
      'svc.cluster.local',
      'cluster.local',
      'example.net',
    ]);
  });

  it('adds its own servers, searches and options, which hold over those of the policy', () => {
    const dnsConfig = {
      nameservers: ['198.51.100.1', '192.0.2.1'],
      searches: ['own.example'],
      options: [{ name: 'ndots', value: '1' }, { name: 'rotate' }],
    };
    expect(computeResolverConfig({ dnsConfig }, 'default', facts)).toEqual({
      servers: ['192.0.2.1', '198.51.100.1'],
      searches: ['example.net', 'own.example'],
      options: ['rotate', 'ndots:1'],
    });
    expect(computeResolverConfig({ dnsPolicy: 'None', dnsConfig }, 'default', facts).servers).toEqual([
      '198.51.100.1',
      '192.0.2.1',
    ]);
  });

  it('gets no more than a resolver takes', () => {
    const nameservers = ['192.0.2.11', '192.0.2.12', '192.0.2.13', '192.0.2.14'];
    const searches = Array.from({ length: 40 }, (_, index) => `d${index}.example`);
    const spec = { dnsPolicy: 'None', dnsConfig: { nameservers, searches } } as const;
    const config = computeResolverConfig(spec, 'default', facts);
    expect(config.servers).toHaveLength(3);
    expect(config.searches).toHaveLength(32);
    expect(describeResolverLimits(spec, 'default', facts)).toEqual([
      'Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: 192.0.2.11 192.0.2.12 192.0.2.13',
      `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.slice(0, 32).join(' ')}`,
    ]);
    expect(describeResolverLimits({}, 'default', facts)).toEqual([]);
  });

  it('gets no search that is longer than a resolver bears, and no more characters of them', () => {
    const limited = (searches: string[]): readonly string[] =>
      computeResolverConfig({ dnsPolicy: 'None', dnsConfig: { searches } }, 'default', facts).searches;
    expect(limited(['a'.repeat(254), 'short.example'])).toEqual(['short.example']);
    const wide = Array.from({ length: 10 }, (_, index) => `${index}`.repeat(250));
    expect(limited(wide)).toEqual(wide.slice(0, 8));
  });
});
