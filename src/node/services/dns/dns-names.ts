/**
 * The names of Services and pods, as a DNS server answers for them.
 *
 * In: Services with their endpoints, and the domain. Out: the records of a name. Pure.
 *
 * Source: https://github.com/kubernetes/dns/blob/master/docs/specification.md
 *
 * @module
 */
import { isIPv4 } from 'node:net';
import { type Service } from '#kube/workloads/workload.js';
import { type AssignedService, keyOfService } from '../service-addresses.js';
import { type EndpointAddress, portNameOf, type ServiceEndpoints } from '../service-endpoints.js';

/** One record. */
export type DnsRecord =
  | { readonly type: 'A' | 'AAAA' | 'PTR' | 'CNAME'; readonly data: string }
  | { readonly type: 'SRV'; readonly data: { readonly port: number; readonly target: string } };

/** What is known of a name: its records of all types. Without any it exists because others end with it. */
export type NamedRecords = readonly DnsRecord[];

/** All names, in lower case and without a dot at the end. */
export interface DnsNames {
  readonly domain: string;
  readonly records: ReadonlyMap<string, NamedRecords>;
  /** Whether an address is one that Services may have: nobody else knows its name. */
  readonly isOwnAddress: (ip: string) => boolean;
}

/** What {@link computeDnsNames} needs. */
export interface DnsNamesInput {
  /** Without a dot at the end. */
  readonly domain: string;
  readonly endpoints: readonly ServiceEndpoints[];
  readonly assigned: Readonly<Record<string, AssignedService>>;
  readonly isOwnAddress: (ip: string) => boolean;
}

/** The records of all names. */
export function computeDnsNames({ domain, endpoints, assigned, isOwnAddress }: DnsNamesInput): DnsNames {
  const names = new Names(domain.toLowerCase());
  names.addPlace(`svc.${names.domain}`);
  names.addPlace(`pod.${names.domain}`);
  for (const each of endpoints) {
    const { clusterIp } = assigned[keyOfService(each.service)] ?? {};
    const { name, namespace } = each.service.metadata;
    const top = `${name}.${namespace}.svc.${names.domain}`;
    names.addPlace(top);
    if (each.service.spec.type === 'ExternalName') addExternal(each.service, top, names);
    else if (clusterIp === undefined) addHeadless(each, top, names);
    else addAddressed(each.service, clusterIp, top, names);
    for (const { ips, pod } of [...each.ready, ...each.notReady]) {
      for (const ip of ips)
        names.addOnce(`${dashed(ip)}.${pod.namespace}.pod.${names.domain}`, addressRecord(ip));
    }
  }
  return { domain: names.domain, records: names.records, isOwnAddress };
}

/** The name that a PTR question about an address has: `4.3.2.1.in-addr.arpa`. */
export function reverseNameOf(ip: string): string {
  if (isIPv4(ip)) return `${ip.split('.').reverse().join('.')}.in-addr.arpa`;
  const [head = '', tail] = ip.toLowerCase().split('::');
  const groupsOf = (text: string): string[] => text.split(':').filter((group) => group !== '');
  const [before, after] = [groupsOf(head), groupsOf(tail ?? '')];
  const zeros = tail === undefined ? 0 : 8 - before.length - after.length;
  const groups = [...before, ...Array.from({ length: Math.max(0, zeros) }, () => '0'), ...after];
  const digits = groups.map((group) => group.padStart(4, '0')).join('');
  return `${Array.from(digits).reverse().join('.')}.ip6.arpa`;
}

/** The address in a name such as `4.3.2.1.in-addr.arpa`; undefined for any other name. */
export function findReversedIpv4(name: string): string | undefined {
  const [, digits] = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name) ?? [];
  const ip = digits?.slice(0, -1).split('.').reverse().join('.');
  return ip !== undefined && isIPv4(ip) ? ip : undefined;
}

/** Whether a name is a domain, or below it. */
export function isWithin(name: string, domain: string): boolean {
  return name === domain || name.endsWith(`.${domain}`);
}

class Names {
  readonly domain: string;
  readonly records = new Map<string, DnsRecord[]>();

  constructor(domain: string) {
    this.domain = domain;
  }

  add(name: string, record: DnsRecord): void {
    this.addPlace(name);
    this.records.get(name)!.push(record);
  }

  addOnce(name: string, record: DnsRecord): void {
    const known = this.records.get(name) ?? [];
    if (!known.some(({ type, data }) => type === record.type && data === record.data)) this.add(name, record);
  }

  /** The name, and each that it ends with down to the domain, exist. */
  addPlace(name: string): void {
    if (!isWithin(name, this.domain)) {
      if (!this.records.has(name)) this.records.set(name, []);
      return;
    }
    for (let at = name; !this.records.has(at); at = at.slice(at.indexOf('.') + 1)) {
      this.records.set(at, []);
      if (at === this.domain) return;
    }
  }
}

function addExternal({ spec }: Service, top: string, names: Names): void {
  const target = spec.externalName!.replace(/\.$/, '').toLowerCase();
  names.add(top, { type: 'CNAME', data: target });
}

function addAddressed(service: Service, clusterIp: string, top: string, names: Names): void {
  names.add(top, addressRecord(clusterIp));
  names.add(reverseNameOf(clusterIp), { type: 'PTR', data: top });
  for (const port of service.spec.ports ?? []) {
    const { protocol = 'TCP' } = port;
    const name = portNameOf(port);
    if (name === '') continue;
    names.add(`_${name}._${protocol.toLowerCase()}.${top}`, {
      type: 'SRV',
      data: { port: port.port, target: top },
    });
  }
}

function addHeadless({ service, ready }: ServiceEndpoints, top: string, names: Names): void {
  for (const address of ready) {
    const own = `${address.hostname ?? dashed(address.ips[0]!)}.${top}`;
    for (const ip of address.ips) {
      names.add(top, addressRecord(ip));
      names.add(own, addressRecord(ip));
      // Of an address behind several Services, only names that its pod asks for.
      if (address.hostname !== undefined) names.add(reverseNameOf(ip), { type: 'PTR', data: own });
    }
    addHeadlessPorts(service, address, { top, own }, names);
  }
}

function addHeadlessPorts(
  { spec }: Service,
  { ports }: EndpointAddress,
  { top, own }: { readonly top: string; readonly own: string },
  names: Names,
): void {
  for (const port of spec.ports ?? []) {
    const { protocol = 'TCP' } = port;
    const name = portNameOf(port);
    const number = ports.get(name);
    if (name === '' || number === undefined) continue;
    names.add(`_${name}._${protocol.toLowerCase()}.${top}`, {
      type: 'SRV',
      data: { port: number, target: own },
    });
  }
}

function addressRecord(ip: string): DnsRecord {
  return { type: isIPv4(ip) ? 'A' : 'AAAA', data: ip };
}

/** As Kubernetes writes an address in a name: `10-88-0-2`. */
function dashed(ip: string): string {
  return ip.replaceAll(/[.:]/g, '-');
}
