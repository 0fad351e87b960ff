/**
 * Which address and which ports of the node each Service has, recorded so that they stay.
 *
 * In: Services. Out: an address of one range for each, a port of the node where it asks for one. They are on the
 * disk before they are used, and the same after a restart: connections and pods with variables depend on them.
 *
 * @module
 */
import { createHash } from 'node:crypto';
import {
  formatIpv4,
  type Ipv4Range,
  overlap,
  parseIpv4,
  parseIpv4Range,
  sizeOf,
} from '#base/wire/ipv4-range.js';
import { type RecordForm } from '#base/fs/record-form.js';
import { HEADLESS, NODE_PORTS } from '#kube/workloads/validate-service.js';
import { type Service } from '#kube/workloads/workload.js';

/** What a Service has been given. */
export interface AssignedService {
  readonly uid: string;
  readonly createdAtMs: number;
  /** Undefined for one that is headless or leads to another name. */
  readonly clusterIp?: string;
  /** By protocol and port: `TCP 80`. */
  readonly nodePorts: Readonly<Record<string, number>>;
}

/** All that is recorded. */
export interface ServiceRecord {
  /** The range, as `10.192.16.0/20`. */
  readonly range: string;
  /** By namespace and name. */
  readonly services: Readonly<Record<string, AssignedService>>;
}

/** How the record is stored. */
export const SERVICE_RECORD: RecordForm<ServiceRecord> = {
  parse: ({ range, services }) => {
    const isWhole = typeof range === 'string' && parseIpv4Range(range) !== undefined && isObject(services);
    if (!isWhole) throw new Error('it is not what was written');
    return { range, services: services as ServiceRecord['services'] };
  },
};

const PREFIX = 20;
/** Where ranges are taken from: large, and rarely used for anything else. */
const POOLS = {
  machine: parseIpv4Range('10.192.0.0/10')!,
  /** Every machine has all of 127.0.0.0/8, without anybody's rights. */
  loopback: parseIpv4Range('127.64.0.0/10')!,
} as const;

/** Who can reach the addresses: everybody on the machine, or programs on its own network alone. */
export type AddressPool = keyof typeof POOLS;

/** The first addresses are for the node itself and for its name server. */
const RESERVED = 16;
const OWN_PLACE = 1;
const DNS_PLACE = 10;

/** The node's own address in a range. */
export function nodeAddressOf({ network }: Ipv4Range): string {
  return formatIpv4(network + OWN_PLACE);
}

/** The name server's address in a range. */
export function dnsAddressOf({ network }: Ipv4Range): string {
  return formatIpv4(network + DNS_PLACE);
}

/** Whether a range is of that pool. */
export function isOfPool(range: Ipv4Range, pool: AddressPool): boolean {
  return overlap(range, POOLS[pool]);
}

/** Chooses a range that no route overlaps: for the same root folder the same, for others mostly another one. Pure. */
export function chooseServiceRange(
  rootDir: string,
  pool: AddressPool,
  routes: readonly Ipv4Range[],
): Ipv4Range {
  const { network, prefix } = POOLS[pool];
  const count = 2 ** (PREFIX - prefix);
  const start = numberOf(rootDir, count);
  const rangeAt = (index: number): Ipv4Range => ({
    network: network + ((start + index) % count) * 2 ** (32 - PREFIX),
    prefix: PREFIX,
  });
  for (let index = 0; index < count; index++) {
    if (!routes.some((route) => overlap(route, rangeAt(index)))) return rangeAt(index);
  }
  return rangeAt(0);
}

/** What {@link assignServices} needs. */
export interface Assigning {
  readonly newUid: () => string;
  readonly nowMs: number;
  /** What cannot be given. */
  readonly onProblem: (service: Service, message: string) => void;
}

/** Gives new Services what they ask for, and forgets those that are gone. The same record if nothing changes. Pure. */
export function assignServices(
  record: ServiceRecord,
  services: readonly Service[],
  work: Assigning,
): ServiceRecord {
  const range = parseIpv4Range(record.range)!;
  const keys = new Set(services.map(keyOfService));
  const kept = Object.entries(record.services).filter(([key]) => keys.has(key));
  const next: Record<string, AssignedService> = Object.fromEntries(kept);
  // Wishes of manifests come before what is given freely.
  const ordered = [...services].sort((one, other) => wishes(other) - wishes(one));
  for (const service of ordered) {
    const key = keyOfService(service);
    const others = Object.entries(next).flatMap(([each, assigned]) => (each === key ? [] : [assigned]));
    const before = next[key] ?? { uid: work.newUid(), createdAtMs: work.nowMs, nodePorts: {} };
    const { uid, createdAtMs } = before;
    const clusterIp = addressOf(service, range, before.clusterIp, others, work);
    const nodePorts = nodePortsOf(service, before.nodePorts, others, work);
    next[key] = { uid, createdAtMs, ...(clusterIp === undefined ? {} : { clusterIp }), nodePorts };
  }
  const after = { range: record.range, services: next };
  return JSON.stringify(after) === JSON.stringify(record) ? record : after;
}

/** `default/web`. */
export function keyOfService({ metadata }: Pick<Service, 'metadata'>): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** `TCP 80`, of a Service's port. */
export function keyOfPort({
  protocol = 'TCP',
  port,
}: {
  readonly protocol?: string;
  readonly port: number;
}): string {
  return `${protocol} ${port}`;
}

function addressOf(
  { metadata, spec }: Service,
  range: Ipv4Range,
  before: string | undefined,
  others: readonly AssignedService[],
  { onProblem }: Assigning,
): string | undefined {
  const { type, clusterIP: wish = '' } = spec;
  if (type === 'ExternalName' || wish === HEADLESS) return undefined;
  const isFree = (address: string): boolean => others.every(({ clusterIp }) => clusterIp !== address);
  const wished = parseIpv4(wish);
  const isInRange = wished !== undefined && isGivable(wished, range);
  if (isInRange && isFree(wish)) return wish;
  const service = { metadata, spec } as Service;
  if (isInRange) onProblem(service, `the address ${wish} is that of another Service: it gets one of its own`);
  const number = before === undefined ? undefined : parseIpv4(before);
  if (before !== undefined && isGivable(number!, range) && isFree(before)) return before;
  const count = sizeOf(range) - RESERVED - 1;
  const start = numberOf(keyOfService({ metadata }), count);
  for (let index = 0; index < count; index++) {
    const address = formatIpv4(range.network + RESERVED + ((start + index) % count));
    if (isFree(address)) return address;
  }
  onProblem(service, 'no address is left for it');
  return undefined;
}

function isGivable(address: number, range: Ipv4Range): boolean {
  const place = address - range.network;
  return place >= RESERVED && place < sizeOf(range) - 1;
}

function nodePortsOf(
  service: Service,
  before: AssignedService['nodePorts'],
  others: readonly AssignedService[],
  { onProblem }: Assigning,
): Record<string, number> {
  const { type, ports = [] } = service.spec;
  const own: Record<string, number> = {};
  if (type !== 'NodePort' && type !== 'LoadBalancer') return own;
  for (const port of ports) {
    const key = keyOfPort(port);
    const [protocol] = key.split(' ');
    const isTaken = (number: number): boolean =>
      [...others.map(({ nodePorts }) => nodePorts), own].some((each) =>
        Object.entries(each).some(([of, taken]) => taken === number && of.startsWith(`${protocol} `)),
      );
    const { nodePort } = port;
    if (nodePort !== undefined && isTaken(nodePort)) {
      onProblem(service, `the node's port ${nodePort} is that of another Service, which was first`);
      continue;
    }
    const last = before[key];
    const given =
      nodePort ?? (last === undefined || isTaken(last) ? findNodePort(service, key, isTaken) : last);
    if (given === undefined) onProblem(service, 'no port of the node is left for it');
    else own[key] = given;
  }
  return own;
}

function findNodePort(service: Service, key: string, isTaken: (port: number) => boolean): number | undefined {
  const count = NODE_PORTS.last - NODE_PORTS.first + 1;
  const start = numberOf(`${keyOfService(service)} ${key}`, count);
  for (let index = 0; index < count; index++) {
    const port = NODE_PORTS.first + ((start + index) % count);
    if (!isTaken(port)) return port;
  }
  return undefined;
}

/** How much a Service asks for by number. */
function wishes({ spec: { clusterIP = '', ports = [] } }: Service): number {
  const isWished = clusterIP !== '' && clusterIP !== HEADLESS;
  return (isWished ? 1 : 0) + (ports.some(({ nodePort }) => nodePort !== undefined) ? 1 : 0);
}

/** A number below `count` that follows from a text. */
function numberOf(text: string, count: number): number {
  return createHash('sha256').update(text).digest().readUInt32BE(0) % count;
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
