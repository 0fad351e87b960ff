import { createHash } from 'node:crypto';
import { type ServiceRoute } from './service-routes.js';

/** What the kernel is to do with connections to Services. */
export interface ServiceTable {
  /** Of this root folder alone. */
  readonly name: string;
  /** For people. */
  readonly comment: string;
  /** The interface that has the range. */
  readonly link: string;
  /** The range of Services as text. */
  readonly range: string;
  readonly routes: readonly ServiceRoute[];
  /** Answered for these interfaces and for this machine only. */
  readonly dns: { readonly address: string; readonly links: readonly string[] } | undefined;
  /** While no agent answers: where questions for names go instead. */
  readonly dnsInstead?: string | undefined;
}

/**
 * The table in the language of nft(8), which replaces the one before in one transaction. Pure.
 *
 * A connection from a pod keeps no address of its own: its answers have to come back through this machine, and on
 * one bridge they would take the direct way. Loopback addresses of the node are left to the proxy, which listens there.
 */
export function renderServiceTable(table: ServiceTable): string {
  const { name, comment, link, range, routes, dns, dnsInstead } = table;
  const chains = routes.filter(({ targets }) => targets.length > 0);
  const nodePorts = chains.filter(({ nodePort }) => nodePort !== undefined);
  const jump = (match: string, route: ServiceRoute): string => `    ${match} goto ${chainOf(route)}\n`;
  const instead =
    dns === undefined || dnsInstead === undefined
      ? ''
      : `    ip daddr ${dns.address} udp dport 53 dnat to ${dnsInstead}:53
    ip daddr ${dns.address} tcp dport 53 dnat to ${dnsInstead}:53
`;
  const allowed = dns?.links.map((each) => `"${each}"`).join(', ') ?? '';
  const guard =
    dns === undefined || dns.links.length === 0
      ? ''
      : `  chain guard {
    type filter hook prerouting priority -300; policy accept;
    ip daddr ${dns.address} iifname != { "lo", ${allowed} } drop
  }
`;
  return `${renderRemoval(name)}table ip ${name} {
  comment "${comment}"
${guard}${chains.map(renderTargets).join('')}  chain services {
${instead}${chains.map((route) => jump(`ip daddr ${route.address} ${route.protocol} dport ${route.port}`, route)).join('')}  }
  chain nodeports {
${nodePorts.map((route) => jump(`${route.protocol} dport ${route.nodePort}`, route)).join('')}  }
  chain arriving {
    type nat hook prerouting priority -100; policy accept;
    ip daddr ${range} jump services
    fib daddr type local ip daddr != 127.0.0.0/8 jump nodeports
  }
  chain local {
    type nat hook output priority -100; policy accept;
    ip daddr ${range} jump services
    fib daddr type local ip daddr != 127.0.0.0/8 jump nodeports
  }
  chain leaving {
    type nat hook postrouting priority 100; policy accept;
    ct status dnat ct original ip daddr ${range} fib saddr type != local masquerade
  }
  chain refused {
    ip daddr ${range} oifname "${link}" meta l4proto tcp reject with tcp reset
    ip daddr ${range} oifname "${link}" reject
  }
  chain passing {
    type filter hook forward priority 0; policy accept;
    jump refused
  }
  chain going {
    type filter hook output priority 0; policy accept;
    jump refused
  }
}
`;
}

/** Takes a table away; that there is none is fine. Pure. */
export function renderRemoval(name: string): string {
  // "add" makes it unless it is there: then "delete" cannot fail for want of it.
  return `add table ip ${name}\ndelete table ip ${name}\n`;
}

function renderTargets(route: ServiceRoute): string {
  const { targets, protocol, byClient } = route;
  const entries = targets.map(({ address, port }, index) => `${index} : ${address} . ${port}`).join(', ');
  const choice = byClient ? 'jhash ip saddr' : 'numgen random';
  const [first] = targets;
  const to =
    targets.length === 1
      ? `dnat to ${first!.address}:${first!.port}`
      : `dnat ip to ${choice} mod ${targets.length} map { ${entries} }`;
  return `  chain ${chainOf(route)} {
    meta l4proto ${protocol} ${to}
  }
`;
}

/** Names of chains have few characters. */
function chainOf({ name }: ServiceRoute): string {
  return `to_${createHash('sha256').update(name).digest('hex').slice(0, 16)}`;
}
