import { type PodDnsConfig, type PodSpec } from '#kube/pod/pod.js';

/** The contents of a resolv.conf. */
export interface ResolverConfig {
  readonly servers: readonly string[];
  readonly searches: readonly string[];
  readonly options: readonly string[];
}

/** The kubelet's limits. */
const MAX_SERVERS = 3;
const MAX_SEARCHES = 32;
const MAX_SEARCH_CHARACTERS = 2048;
/** Limit for one search domain; some resolvers end the program over a longer one. */
const MAX_SEARCH_LENGTH = 253;

/**
 * Reads a resolv.conf: the last `search` and `options` lines win, `nameserver` lines add up. Pure, never
 * throws.
 */
export function parseResolverConfig(text: string): ResolverConfig {
  const servers: string[] = [];
  let searches: string[] = [];
  let options: string[] = [];
  for (const line of text.split('\n')) {
    const [word, ...rest] = line
      .replace(/[#;].*$/, '')
      .trim()
      .split(/\s+/);
    if (word === 'nameserver' && rest[0] !== undefined) servers.push(rest[0]);
    else if (word === 'search') searches = rest.map((domain) => domain.replace(/(?<=.)\.$/, ''));
    else if (word === 'options') options = rest;
  }
  return { servers, searches, options };
}

/** The inputs of {@link computeResolverConfig}. */
export interface ResolverFacts {
  /** The contents of the node's resolv.conf; empty if none is read. */
  readonly node: ResolverConfig;
  readonly clusterDns: readonly string[];
  readonly clusterDomain: string;
}

type ResolverSpec = Pick<PodSpec, 'dnsPolicy' | 'dnsConfig' | 'hostNetwork'>;

/**
 * How a pod resolves names, by its dnsPolicy and dnsConfig. Pure.
 *
 * Without a cluster's name servers, ClusterFirst falls back to the node's, as in the kubelet. More than three
 * servers, and more searches than a resolver takes, are cut off.
 *
 * Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/
 */
export function computeResolverConfig(
  spec: ResolverSpec,
  namespace: string,
  facts: ResolverFacts,
): ResolverConfig {
  return limited(withOwn(byPolicy(spec, namespace, facts), spec.dnsConfig));
}

/** What was cut off, one sentence each in the kubelet's words; empty when nothing was. Pure. */
export function describeResolverLimits(
  spec: ResolverSpec,
  namespace: string,
  facts: ResolverFacts,
): readonly string[] {
  const wanted = withOwn(byPolicy(spec, namespace, facts), spec.dnsConfig);
  const { servers, searches } = limited(wanted);
  return [
    ...(servers.length < wanted.servers.length
      ? [
          `Nameserver limits were exceeded, some nameservers have been omitted, the applied nameserver line is: ${servers.join(' ')}`,
        ]
      : []),
    ...(searches.length < wanted.searches.length
      ? [
          `Search Line limits were exceeded, some search paths have been omitted, the applied search line is: ${searches.join(' ')}`,
        ]
      : []),
  ];
}

/** Whether the policy asks for the cluster's name servers although there are none. */
export function lacksClusterDns(
  spec: Pick<PodSpec, 'dnsPolicy' | 'hostNetwork'>,
  clusterDns: readonly string[],
): boolean {
  return clusterDns.length === 0 && wantsCluster(spec);
}

function byPolicy(
  spec: Pick<PodSpec, 'dnsPolicy' | 'hostNetwork'>,
  namespace: string,
  { node, clusterDns, clusterDomain }: ResolverFacts,
): ResolverConfig {
  if (spec.dnsPolicy === 'None') return { servers: [], searches: [], options: [] };
  if (!wantsCluster(spec) || clusterDns.length === 0) {
    return node.servers.length === 0 ? withoutServers(node) : node;
  }
  const own =
    clusterDomain === '' ? [] : [`${namespace}.svc.${clusterDomain}`, `svc.${clusterDomain}`, clusterDomain];
  const searches = [...new Set([...own, ...node.searches])];
  return { servers: clusterDns, searches, options: ['ndots:5'] };
}

/** Without any server, the runtime would choose servers or a whole file by itself. */
function withoutServers({ searches, options }: ResolverConfig): ResolverConfig {
  return { servers: ['127.0.0.1'], searches: searches.length === 0 ? ['.'] : searches, options };
}

function wantsCluster({
  dnsPolicy,
  hostNetwork = false,
}: Pick<PodSpec, 'dnsPolicy' | 'hostNetwork'>): boolean {
  return dnsPolicy === 'ClusterFirstWithHostNet' || (dnsPolicy === 'ClusterFirst' && !hostNetwork);
}

function withOwn(base: ResolverConfig, own: PodDnsConfig | undefined): ResolverConfig {
  if (own === undefined) return base;
  const options = new Map(base.options.map((option) => [option.split(':')[0]!, option]));
  for (const { name, value } of own.options ?? []) {
    options.set(name, value === undefined || value === '' ? name : `${name}:${value}`);
  }
  return {
    servers: [...new Set([...base.servers, ...(own.nameservers ?? [])])],
    searches: [...new Set([...base.searches, ...(own.searches ?? [])])],
    options: [...options.values()],
  };
}

function limited({ servers, searches, options }: ResolverConfig): ResolverConfig {
  let characters = -1;
  const kept = searches.slice(0, MAX_SEARCHES).filter((domain) => {
    if (domain.length > MAX_SEARCH_LENGTH) return false;
    characters += domain.length + 1;
    return characters <= MAX_SEARCH_CHARACTERS;
  });
  return { servers: servers.slice(0, MAX_SERVERS), searches: kept, options };
}
