/**
 * The Services of an agent without a control plane: their addresses, what leads to their pods, and their names.
 *
 * In: what each source delivers, the wanted pods with their statuses. Out: rules of the kernel or a proxy that carry
 * connections to ready pods, a DNS server for pods, variables, and what the API shows.
 *
 * ```
 * source ─► Services ─► addresses on the disk ─┐
 * pods and statuses ─► endpoints ──────────────┴─► routes ─► nftables, or a proxy in this process
 *                                              └─► names  ─► DNS server
 * ```
 *
 * Addresses stay over restarts. Rules stay as long as pods do: an agent that ends and leaves its pods leaves them, too;
 * what this process carries ends with it.
 *
 * @module
 */
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { Wakeup } from '#base/async/wakeup.js';
import { messageOf } from '#base/errors/errors.js';
import { RecordFile } from '#base/fs/record-file.js';
import { type Logger } from '#base/log/logger.js';
import { type Clock } from '#base/time/clock.js';
import {
  contains,
  formatIpv4Range,
  type Ipv4Range,
  parseIpv4,
  parseIpv4Range,
} from '#base/wire/ipv4-range.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { serviceVariables, toAddressedService } from '#kube/workloads/service-variables.js';
import { type Service } from '#kube/workloads/workload.js';
import { type DnsNames, computeDnsNames } from './dns/dns-names.js';
import { type DnsCounts, DnsServer } from './dns/dns-server.js';
import { OwnLinks } from './own-links.js';
import { type ServedService, toServedServices } from './served-services.js';
import {
  assignServices,
  dnsAddressOf,
  keyOfService,
  SERVICE_RECORD,
  type ServiceRecord,
} from './service-addresses.js';
import { computeServiceEndpoints, type EndpointPod, type ServiceEndpoints } from './service-endpoints.js';
import { canHaveLink, ServiceNetwork, type ServiceNetworkKind } from './service-network.js';
import { type ProxyListener, ServiceProxies, toListeners } from './service-proxies.js';
import { findRange, rootOf } from './service-range.js';
import { type ServiceRoute, toServiceRoutes } from './service-routes.js';

/** An event about a Service, in the words of Kubernetes where it has some. */
export interface ServiceEvent {
  readonly type: 'Warning';
  readonly reason: string;
  readonly message: string;
}

/** How pods are connected: on the bridge of the runtime in the box, on the machine's network, or by somebody else. */
export type PodNetworkKind = 'own bridge' | 'host' | 'other';

/** What {@link LocalServices} needs. */
export interface LocalServicesOptions {
  readonly rootDir: string;
  /** False for a node of a cluster, which has Services of its own: then nothing is done. */
  readonly isEnabled: boolean;
  /** The range of addresses (default: one that no route overlaps). */
  readonly cidr: string;
  /** Whether pods get a DNS server (default: those on the bridge of the runtime in the box). */
  readonly podDns: boolean | undefined;
  /** Of all names, as `cluster.local`. */
  readonly domain: string;
  /** The wanted pods that do not have to end. */
  readonly pods: () => readonly EndpointPod[];
  /** Asks the runtime; rejects while it does not answer. */
  readonly readPodNetwork: (signal: AbortSignal) => Promise<PodNetworkKind>;
  /** The addresses of the node's name servers. */
  readonly nameServers: () => readonly string[];
  /** Whether pods stay when this agent ends. */
  readonly hasPods: () => boolean;
  readonly onEvent: (about: { readonly service: Service; readonly uid: string }, event: ServiceEvent) => void;
  readonly newUid: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Folders with `ip` and `nft`, with colons between them (default: the machine's own). */
  readonly toolPath?: string;
}

/** What pods need to know of the DNS server. */
export interface PodDns {
  readonly servers: readonly string[];
  readonly domain: string;
}

/** How Services are served, for people. */
export interface ServiceReport {
  readonly kind: ServiceNetworkKind;
  readonly range: string;
  readonly dns: (PodDns & DnsCounts) | undefined;
  readonly services: number;
  readonly proxied: number;
}

interface Source {
  readonly services: readonly Service[];
  readonly isComplete: boolean;
}

/** What another program has removed is made again after this time at the latest. */
const CHECK_MS = 30_000;
const RETRY_MS = 5_000;
/** The bridge of the runtime in the box, whatever its range. */
const BOX_BRIDGE = 'podloop*';
const BOX_BRIDGE_NAME = /^podloop[0-9a-f]{8}$/;

/** See the module. */
export class LocalServices {
  readonly #options: LocalServicesOptions;
  readonly #file: RecordFile<ServiceRecord>;
  readonly #sources = new Map<string, Source>();
  readonly #wakeup = new Wakeup();
  readonly #proxies: ServiceProxies;
  /** By Service and message: each is reported once until it is over. */
  readonly #problems = new Map<string, string>();
  #record: ServiceRecord;
  #written: ServiceRecord | undefined;
  #network: ServiceNetwork | undefined;
  #podNetwork: PodNetworkKind | undefined;
  #dns: DnsServer | undefined;
  #endpoints: readonly ServiceEndpoints[] = [];
  #names: DnsNames;
  #applied: readonly ServiceRoute[] | undefined;
  #hasLink = false;

  private constructor(
    options: LocalServicesOptions,
    file: RecordFile<ServiceRecord>,
    record: ServiceRecord,
    written: ServiceRecord | undefined,
  ) {
    this.#options = options;
    this.#file = file;
    this.#record = record;
    this.#written = written;
    this.#names = this.#computeNames();
    this.#proxies = new ServiceProxies({
      clock: options.clock,
      onProblem: (listener, problem) => this.#proxyProblem(listener, problem),
    });
  }

  /** Reads what earlier agents have recorded; an unreadable record is replaced, as all follows from names again. */
  static async open(options: LocalServicesOptions): Promise<LocalServices> {
    const file = new RecordFile({ ...SERVICE_RECORD, path: join(options.rootDir, 'services.json') });
    const record = await file.read((error) => {
      options.logger.warn('Record of Services cannot be read', { path: file.path, err: messageOf(error) });
      return undefined;
    });
    const range = await findRange(options, record, (await canHaveLink()) ? 'machine' : 'loopback');
    const given = { range: formatIpv4Range(range), services: record?.services ?? {} };
    return new LocalServices(options, file, isDeepStrictEqual(given, record) ? record! : given, record);
  }

  /** Takes the Services that a source wants now. Never waits. */
  deliver(name: string, services: readonly Service[], isComplete: boolean): void {
    if (!this.#options.isEnabled) return;
    const before = this.#sources.get(name)?.services ?? [];
    const keys = new Set(services.map(keyOfService));
    // Until everything was read, others may still come.
    const kept = isComplete ? [] : before.filter((each) => !keys.has(keyOfService(each)));
    this.#sources.set(name, { services: [...services, ...kept], isComplete });
    this.#assign();
    this.#wakeup.wake();
  }

  /** Pods or their statuses have changed. */
  podsChanged(): void {
    if (this.#services().length > 0 || this.#applied !== undefined) this.#wakeup.wake();
  }

  /** What pods get as their name server now; undefined when the node's is theirs. */
  podDns(): PodDns | undefined {
    if (this.#dns === undefined) return undefined;
    return { servers: [dnsAddressOf(this.#range())], domain: this.#options.domain };
  }

  /** The variables of containers of a pod about the Services of its namespace. */
  variablesFor({ metadata, spec }: NodePod): ReadonlyMap<string, string> | undefined {
    if (!this.#options.isEnabled || spec.enableServiceLinks === false) return undefined;
    const services = this.#services()
      .filter((service) => service.metadata.namespace === metadata.namespace)
      .flatMap((service) => {
        const clusterIP = this.#record.services[keyOfService(service)]?.clusterIp;
        return toAddressedService({ ...service, spec: { ...service.spec, clusterIP } }) ?? [];
      });
    return new Map(services.flatMap(serviceVariables));
  }

  /** Services, Endpoints and EndpointSlices as the API shows them. */
  objects(): ServedService[] {
    return toServedServices(
      computeServiceEndpoints(this.#services(), this.#options.pods()),
      this.#record.services,
    );
  }

  /** The Services of manifests with their sources. */
  roots(): { readonly source: string; readonly object: Service }[] {
    return [...this.#sources].flatMap(([source, { services }]) =>
      services.map((object) => ({ source, object })),
    );
  }

  /** How Services are served; undefined while none are. */
  report(): ServiceReport | undefined {
    const network = this.#network;
    if (network === undefined) return undefined;
    const dns = this.podDns();
    return {
      ...{ kind: network.kind, range: this.#record.range, services: this.#services().length },
      ...{ proxied: this.#proxies.size, dns: dns && { ...dns, ...this.#dns!.counts } },
    };
  }

  /**
   * Finds out what can be done, and starts the DNS server, so that the first pod finds it. Never rejects but with the
   * signal's reason: pods run without Services, too.
   */
  async prepare(signal: AbortSignal): Promise<void> {
    if (!this.#options.isEnabled) return;
    try {
      await this.#prepare(signal);
    } catch (error) {
      // An agent that ends while it starts ends as any other.
      if (signal.aborted) return;
      this.#options.logger.warn('Services cannot be served yet', { err: messageOf(error) });
    }
  }

  /** Makes what leads to pods follow them until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (!this.#options.isEnabled) return;
    const { clock, logger } = this.#options;
    try {
      while (!signal.aborted) {
        let delayMs = CHECK_MS;
        try {
          await this.#settle(signal);
        } catch (error) {
          signal.throwIfAborted();
          logger.error('Services are not as they should be, trying again', error);
          this.#applied = undefined;
          delayMs = RETRY_MS;
        }
        await this.#wakeup.wait(clock, delayMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /** Ends what this process does; takes rules and addresses away, unless pods stay that use them. */
  async close(): Promise<void> {
    const { hasPods, nameServers, logger } = this.#options;
    const [dns, network] = [this.#dns, this.#network];
    this.#dns = undefined;
    await this.#proxies.close();
    await dns?.close();
    if (network === undefined || !this.#hasLink) return;
    try {
      if (!hasPods()) {
        await network.remove();
        this.#hasLink = false;
        return;
      }
      // Pods go on without an agent: what is not of this node they can still find.
      const dnsInstead = nameServers().find((each) => isReachable(each));
      if (dns !== undefined) await this.#applyTable(this.#applied ?? [], dnsInstead);
    } catch (error) {
      logger.warn('What Services had is not removed', { err: messageOf(error) });
    }
  }

  async #prepare(signal: AbortSignal): Promise<void> {
    const { rootDir, logger, toolPath, podDns, readPodNetwork } = this.#options;
    this.#podNetwork = await readPodNetwork(signal);
    const wantsDns = podDns ?? this.#podNetwork === 'own bridge';
    // Programs are started for nothing on a node that has no Services.
    if (!wantsDns && this.#written === undefined && this.#services().length === 0) return;
    const network = await ServiceNetwork.open({
      ...{ rootDir: await rootOf(rootDir), logger, ...(toolPath === undefined ? {} : { toolPath }) },
    });
    await network.removeOrphans();
    const pool = network.kind === 'loopback' ? 'loopback' : 'machine';
    const range = await findRange(this.#options, this.#record, pool);
    this.#record = { range: formatIpv4Range(range), services: this.#record.services };
    this.#network = network;
    this.#assign();
    if (wantsDns && network.kind !== 'loopback') await this.#startDns(network);
    else if (podDns === true) logger.warn('Pods get no DNS server', { why: network.why });
  }

  async #startDns(network: ServiceNetwork): Promise<void> {
    const { clock, logger, nameServers } = this.#options;
    const range = this.#range();
    const address = dnsAddressOf(range);
    await network.ensureLink(range, [address]);
    this.#hasLink = true;
    const isOwn = (link: string): boolean =>
      this.#podNetwork === 'own bridge' ? BOX_BRIDGE_NAME.test(link) : link !== network.link;
    const links = new OwnLinks({ isOwn, clock });
    const isOfNode = (client: string): boolean =>
      contains(range, parseIpv4(client)) || client.startsWith('127.');
    this.#dns = await DnsServer.start({
      ...{ address, clock, names: () => this.#names },
      servers: () => nameServers().flatMap((each) => (each === address ? [] : [{ address: each }])),
      isAllowed: (client) => isOfNode(client) || links.has(client),
    });
    logger.info('DNS server for pods', { address, domain: this.#options.domain });
  }

  async #settle(signal: AbortSignal): Promise<void> {
    const services = this.#services();
    if (this.#network === undefined) await this.#prepare(signal);
    const network = this.#network;
    if (network === undefined) return;
    this.#assign();
    if (services.length > 0 || this.#written !== undefined) await this.#write();
    this.#endpoints = computeServiceEndpoints(services, this.#options.pods());
    this.#names = this.#computeNames();
    const routes = toServiceRoutes(this.#endpoints, this.#record.services);
    const isSame = isDeepStrictEqual(routes, this.#applied);
    if (!isSame || (this.#hasLink && !(await network.isIntact()))) await this.#lead(network, routes);
    // Also where nothing has changed: a port that another program had may be free by now.
    await this.#proxies.apply(toListeners(routes, network.kind));
  }

  /** Makes the kernel's part of these routes. */
  async #lead(network: ServiceNetwork, routes: readonly ServiceRoute[]): Promise<void> {
    if (this.#services().length > 0 || this.#dns !== undefined) {
      const range = this.#range();
      const proxied = network.kind === 'proxy' ? routes.map(({ address }) => address) : [];
      const dns = this.#dns === undefined ? [] : [dnsAddressOf(range)];
      await network.ensureLink(range, [...new Set([...dns, ...proxied])]);
      this.#hasLink = network.kind !== 'loopback';
      await this.#applyTable(routes);
    } else if (this.#hasLink || this.#applied === undefined) {
      // Also what an agent left that was killed.
      await network.remove();
      this.#hasLink = false;
    }
    await this.#forgetFlows(routes);
    this.#applied = routes;
  }

  async #applyTable(routes: readonly ServiceRoute[], dnsInstead?: string): Promise<void> {
    const range = this.#range();
    const links = this.#podNetwork === 'own bridge' ? [BOX_BRIDGE] : [];
    const hasDns = this.#dns !== undefined || dnsInstead !== undefined;
    const dns = hasDns ? { address: dnsAddressOf(range), links } : undefined;
    await this.#network!.apply({ range: formatIpv4Range(range), routes, dns, dnsInstead });
  }

  async #forgetFlows(routes: readonly ServiceRoute[]): Promise<void> {
    const before = new Map((this.#applied ?? []).map((route) => [route.name, route]));
    for (const route of routes) {
      const old = before.get(route.name);
      if (route.protocol !== 'udp' || isDeepStrictEqual(old, route)) continue;
      await this.#network!.forgetUdpFlows(route.address);
    }
  }

  #services(): readonly Service[] {
    const found = new Map<string, Service>();
    for (const { services } of this.#sources.values()) {
      for (const each of services) if (!found.has(keyOfService(each))) found.set(keyOfService(each), each);
    }
    return [...found.keys()].sort().map((key) => found.get(key)!);
  }

  /** Gives new Services addresses at once, as pods of the same delivery may have them as variables. */
  #assign(): void {
    const { newUid, clock } = this.#options;
    const isComplete = [...this.#sources.values()].every((each) => each.isComplete);
    const services = this.#services();
    const said = new Set<string>();
    const next = assignServices(this.#record, services, {
      ...{ newUid, nowMs: clock.now() },
      onProblem: (service, message) => {
        said.add(`${keyOfService(service)} ${message}`);
        this.#report(service, 'FailedToAllocate', message);
      },
    });
    for (const key of this.#problems.keys()) {
      if (this.#problems.get(key) === 'FailedToAllocate' && !said.has(key)) this.#problems.delete(key);
    }
    // Of a source that is not read yet nobody knows what it has.
    const left = isComplete && this.#sources.size > 0 ? {} : this.#record.services;
    this.#record = { range: next.range, services: { ...left, ...next.services } };
  }

  async #write(): Promise<void> {
    if (isDeepStrictEqual(this.#record, this.#written)) return;
    const record = this.#record;
    await this.#file.write(record);
    this.#written = record;
  }

  #range(): Ipv4Range {
    return parseIpv4Range(this.#record.range)!;
  }

  #computeNames(): DnsNames {
    const range = this.#range();
    return computeDnsNames({
      ...{ domain: this.#options.domain, endpoints: this.#endpoints },
      assigned: this.#record.services,
      isOwnAddress: (ip) => contains(range, parseIpv4(ip)),
    });
  }

  #proxyProblem({ name, protocol, address, port }: ProxyListener, problem: string | undefined): void {
    // The machine may have no IPv6.
    if (address === '::') return;
    const [key = ''] = name.split(' ');
    const service = this.#services().find((each) => keyOfService(each) === key);
    const about = `${key} ${address} ${port}/${protocol}`;
    if (problem === undefined) {
      this.#problems.delete(about);
      return;
    }
    if (service === undefined || this.#problems.has(about)) return;
    this.#problems.set(about, problem);
    this.#emit(service, 'FailedToListen', `port ${port}/${protocol} at ${address} is not served: ${problem}`);
  }

  #report(service: Service, reason: string, message: string): void {
    const key = `${keyOfService(service)} ${message}`;
    if (this.#problems.has(key)) return;
    this.#problems.set(key, reason);
    this.#emit(service, reason, message);
  }

  #emit(service: Service, reason: string, message: string): void {
    const uid = this.#record.services[keyOfService(service)]?.uid ?? '';
    this.#options.onEvent({ service, uid }, { type: 'Warning', reason, message });
  }
}

/** A stub on the loopback cannot be reached by what comes from a pod. */
function isReachable(server: string): boolean {
  return parseIpv4(server) !== undefined && !server.startsWith('127.');
}
