import { describe, expect, it } from 'vitest';
import { type ServiceRoute } from './service-routes.js';
import { renderServiceTable, type ServiceTable } from './service-table.js';

const ROUTE: ServiceRoute = {
  ...{ name: 'default/web TCP 80', protocol: 'tcp', address: '10.192.16.20', port: 80, nodePort: undefined },
  ...{ byClient: false, targets: [{ address: '10.88.0.2', port: 8080 }] },
};
const TABLE: ServiceTable = {
  ...{ name: 'podloopsvc_1', comment: 'podloop', link: 'pls1', range: '10.192.16.0/20', dns: undefined },
  routes: [ROUTE],
};
const lines = (table: Partial<ServiceTable>): string[] =>
  renderServiceTable({ ...TABLE, ...table })
    .split('\n')
    .map((line) => line.trim());

describe('the table of the kernel', () => {
  it('is replaced as a whole', () => {
    expect(lines({}).slice(0, 3)).toEqual([
      'add table ip podloopsvc_1',
      'delete table ip podloopsvc_1',
      'table ip podloopsvc_1 {',
    ]);
  });

  it('sends connections to targets in turn, or by the client', () => {
    const targets = [...ROUTE.targets, { address: '10.88.0.3', port: 9090 }];
    expect(lines({})).toContain('meta l4proto tcp dnat to 10.88.0.2:8080');
    expect(lines({ routes: [{ ...ROUTE, targets }] })).toContain(
      'meta l4proto tcp dnat ip to numgen random mod 2 map { 0 : 10.88.0.2 . 8080, 1 : 10.88.0.3 . 9090 }',
    );
    expect(lines({ routes: [{ ...ROUTE, targets, byClient: true }] }).join()).toContain(
      'jhash ip saddr mod 2',
    );
  });

  it('refuses what leads to nobody, at an address and at a port of the node', () => {
    const text = lines({ routes: [{ ...ROUTE, nodePort: 30_080, targets: [] }] }).join('\n');
    expect(text).not.toContain('10.192.16.20');
    expect(text).not.toContain('30080');
    expect(text).toContain('ip daddr 10.192.16.0/20 oifname "pls1" meta l4proto tcp reject with tcp reset');
  });

  it('lets only pods and this machine ask the name server', () => {
    const dns = { address: '10.192.16.10', links: ['podloop*'] };
    expect(lines({ dns })).toContain('ip daddr 10.192.16.10 iifname != { "lo", "podloop*" } drop');
    expect(lines({ dns, dnsInstead: '192.0.2.1' })).toContain(
      'ip daddr 10.192.16.10 udp dport 53 dnat to 192.0.2.1:53',
    );
  });
});
