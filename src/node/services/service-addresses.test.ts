import { describe, expect, it } from 'vitest';
import { formatIpv4Range, overlap, parseIpv4, parseIpv4Range } from '#base/wire/ipv4-range.js';
import { type Service } from '#kube/workloads/workload.js';
import { aService } from '#support/builders/service-builder.js';
import {
  assignServices,
  chooseServiceRange,
  SERVICE_RECORD,
  type ServiceRecord,
} from './service-addresses.js';

const EMPTY: ServiceRecord = { range: '10.192.16.0/20', services: {} };

function assign(record: ServiceRecord, ...services: Service[]) {
  const problems: string[] = [];
  const next = assignServices(record, services, {
    newUid: () => 'uid',
    nowMs: 1_000,
    onProblem: ({ metadata }, message) => problems.push(`${metadata.name}: ${message}`),
  });
  return { record: next, problems, ipOf: (name: string) => next.services[`default/${name}`]?.clusterIp };
}

describe('addresses of Services', () => {
  it('are of the range, stay, and follow from the name even without a record', () => {
    const first = assign(EMPTY, aService('web'));
    const ip = first.ipOf('web')!;
    const range = parseIpv4Range(EMPTY.range)!;
    expect(parseIpv4(ip)! - range.network).toBeGreaterThanOrEqual(16);
    expect(overlap(parseIpv4Range(ip)!, range)).toBe(true);
    expect(assign(first.record, aService('web')).record).toBe(first.record);
    expect(assign(EMPTY, aService('web'), aService('db')).ipOf('web')).toBe(ip);
    expect(SERVICE_RECORD.parse(JSON.parse(JSON.stringify(first.record)) as Record<string, unknown>)).toEqual(
      first.record,
    );
  });

  it('are each that of one Service, however many there are', () => {
    const many = Array.from({ length: 500 }, (_, index) => aService(`s${index}`));
    const { record } = assign(EMPTY, ...many);
    const ips = Object.values(record.services).map(({ clusterIp }) => clusterIp);
    expect(new Set(ips).size).toBe(500);
  });

  it('are those that a manifest names, if they are of the range and free', () => {
    const { ipOf, problems } = assign(
      EMPTY,
      aService('a'),
      aService('b', { clusterIP: '10.192.16.77' }),
      aService('c', { clusterIP: '10.192.16.77' }),
      aService('d', { clusterIP: '10.96.0.10' }),
      aService('e', { clusterIP: '10.192.16.10' }),
    );
    expect(ipOf('b')).toBe('10.192.16.77');
    expect(new Set(['a', 'b', 'c', 'd', 'e'].map(ipOf)).size).toBe(5);
    expect(ipOf('e')).not.toBe('10.192.16.10');
    expect(problems).toEqual([
      'c: the address 10.192.16.77 is that of another Service: it gets one of its own',
    ]);
  });

  it('are none for headless Services and other names, and are forgotten with their Service', () => {
    const headless = aService('db', { clusterIP: 'None' });
    const external = aService('ext', { type: 'ExternalName', externalName: 'example.org' });
    const first = assign(EMPTY, headless, external, aService('web'));
    expect([first.ipOf('db'), first.ipOf('ext')]).toEqual([undefined, undefined]);
    expect(Object.keys(assign(first.record, headless).record.services)).toEqual(['default/db']);
  });

  it('come with ports of the node, of which each is given once for a protocol', () => {
    const typed = (name: string, nodePort?: number, protocol: 'TCP' | 'UDP' = 'TCP') =>
      aService(name, { type: 'NodePort', ports: [{ port: 80, protocol, ...(nodePort && { nodePort }) }] });
    const { record, problems } = assign(
      EMPTY,
      typed('a'),
      typed('b', 30_080),
      typed('c', 30_080),
      typed('d', 30_080, 'UDP'),
    );
    const portsOf = (name: string) => record.services[`default/${name}`]!.nodePorts;
    expect(portsOf('a')['TCP 80']).toBeGreaterThanOrEqual(30_000);
    expect([portsOf('b'), portsOf('c'), portsOf('d')]).toEqual([
      { 'TCP 80': 30_080 },
      {},
      { 'UDP 80': 30_080 },
    ]);
    expect(problems).toEqual([`c: the node's port 30080 is that of another Service, which was first`]);
    expect(assign(record, typed('a')).record.services['default/a']!.nodePorts).toEqual(portsOf('a'));
  });
});

describe('the range of Services', () => {
  it('is the same for the same root folder, and one that no route overlaps', () => {
    const first = chooseServiceRange('/var/lib/podloop', 'machine', []);
    expect(chooseServiceRange('/var/lib/podloop', 'machine', [])).toEqual(first);
    const other = chooseServiceRange('/var/lib/podloop', 'machine', [first]);
    expect(overlap(first, other)).toBe(false);
    expect(formatIpv4Range(first)).toMatch(/^10\.(19[2-9]|2[0-5]\d)\.\d+\.0\/20$/);
    expect(formatIpv4Range(chooseServiceRange('/x', 'loopback', []))).toMatch(/^127\./);
  });
});
