import { type MetricsRegistry } from '../registry/metrics-registry.js';

/** The state of the Services that an agent serves; undefined in a cluster, and while they cannot be served. */
export interface ServiceCounts {
  /** How many Services there are, and for how many of their ports the agent itself carries connections. */
  readonly services: number;
  readonly proxied: number;
  /** Questions to the DNS server of pods, by what became of them; undefined where there is none. */
  readonly dns: Readonly<Record<(typeof RESULTS)[number], number>> | undefined;
}

const RESULTS = ['answered', 'forwarded', 'failed', 'refused', 'dropped'] as const;

/** Counts Services, and the questions of pods to the DNS server. */
export function addServiceMetrics(registry: MetricsRegistry, read: () => ServiceCounts | undefined): void {
  const counts = registry.oncePerScrape(read);
  registry.readGauge(
    { name: 'podloop_services', help: 'Services that this agent serves without a control plane.' },
    () => counts()?.services ?? 0,
  );
  registry.readGauge(
    {
      name: 'podloop_service_proxies',
      help: 'Ports of Services whose connections the agent itself carries, as the machine has no nft.',
    },
    () => counts()?.proxied ?? 0,
  );
  registry.readCounter(
    {
      name: 'podloop_dns_queries_total',
      help: 'Questions of pods to the DNS server, by who has answered them, or why nobody has.',
      labels: ['result'],
    },
    () => {
      const { dns } = counts() ?? {};
      return RESULTS.map((result) => ({ labels: { result }, value: dns?.[result] ?? 0 }));
    },
  );
}
