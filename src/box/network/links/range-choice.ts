import { formatIpv4Range, overlap, parseIpv4Range, sizeOf, type Ipv4Range } from '#base/wire/ipv4-range.js';
import { type RouteInfo } from '../network-tools.js';

/** Ranges for pods, in the order in which they are tried, when no option names one. */
export function* candidateRanges(): Generator<Ipv4Range> {
  for (let second = 88; second < 128; second++) yield parseIpv4Range(`10.${second}.0.0/16`)!;
  // For machines on which 10.0.0.0/8 is a network of its own.
  for (let second = 28; second < 32; second++) yield parseIpv4Range(`172.${second}.0.0/16`)!;
  for (let third = 224; third < 240; third++) yield parseIpv4Range(`192.168.${third}.0/24`)!;
}

/** Says which route of the host leads to addresses of a range; undefined when none does but that of its own bridge. */
export function describeOverlap(range: Ipv4Range, routes: readonly RouteInfo[]): string | undefined {
  for (const { dst, dev } of routes) {
    const other = parseIpv4Range(dst);
    // What leads everywhere, or to one half of the world, is a default route.
    if (other === undefined || other.prefix <= 1 || dev === bridgeNameOf(range) || !overlap(range, other))
      continue;
    const there = `${formatIpv4Range(other)}${dev === undefined ? '' : ` on ${dev}`}`;
    return `the pod range ${formatIpv4Range(range)} overlaps the route to ${there}; choose another`;
  }
  return undefined;
}

/** Whether a range has room for a network, a gateway, a pod and a broadcast address. */
export function isUsableRange(range: Ipv4Range): boolean {
  return range.prefix >= 8 && sizeOf(range) >= 4;
}

/** Bridges and rules are named after their range, so that two runtimes cannot take the same one. */
export function bridgeNameOf({ network }: Ipv4Range): string {
  return `podloop${network.toString(16).padStart(8, '0')}`;
}
