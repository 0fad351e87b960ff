/**
 * What the ends of pods' links must not believe, as files below /proc/sys/net and their values.
 *
 * Whoever may send raw packets, which containers may by default, can pretend to be a router: a router advertisement
 * gives its receivers addresses and a default route, a redirect leads their packets elsewhere. Pods get their address
 * and their route from the runtime, so nothing that comes through a link has any say in that.
 *
 * @module
 */

/** A file below /proc/sys and what belongs in it. */
export type Setting = readonly [path: string, value: string];

const IPV4 = '/proc/sys/net/ipv4/conf';
const IPV6 = '/proc/sys/net/ipv6/conf';

/** What comes from routers, or from those who say that they are one. */
const TRUSTS_NO_ROUTER: readonly Setting[] = [
  [`${IPV6}/LINK/accept_ra`, '0'],
  [`${IPV6}/LINK/autoconf`, '0'],
  [`${IPV6}/LINK/accept_redirects`, '0'],
  [`${IPV6}/LINK/accept_source_route`, '-1'],
  [`${IPV6}/LINK/proxy_ndp`, '0'],
  [`${IPV4}/LINK/accept_redirects`, '0'],
  [`${IPV4}/LINK/secure_redirects`, '0'],
  [`${IPV4}/LINK/send_redirects`, '0'],
  [`${IPV4}/LINK/accept_source_route`, '0'],
  [`${IPV4}/LINK/proxy_arp`, '0'],
  [`${IPV4}/LINK/arp_accept`, '0'],
];

/**
 * Of the bridge and of the host's end of a pod's link. The host has no IPv6 on them at all. A packet whose sender
 * cannot be behind the interface is dropped: so is everything that reaches a port of the bridge and not the bridge,
 * such as frames to the addresses that bridges keep to themselves.
 */
export function hostLinkSettings(link: string): readonly Setting[] {
  return onLink(link, [
    ...TRUSTS_NO_ROUTER,
    [`${IPV6}/LINK/disable_ipv6`, '1'],
    [`${IPV4}/LINK/rp_filter`, '1'],
  ]);
}

/** Of `eth0` in a pod. A pod that does not forward packets takes redirects where either of two files says so. */
export function podLinkSettings(link: string): readonly Setting[] {
  return [
    ...onLink(link, TRUSTS_NO_ROUTER),
    [`${IPV4}/all/accept_redirects`, '0'],
    [`${IPV4}/all/secure_redirects`, '0'],
  ];
}

function onLink(link: string, settings: readonly Setting[]): readonly Setting[] {
  return settings.map(([path, value]) => [path.replace('/LINK/', `/${link}/`), value]);
}

/** The arguments of a shell that writes settings and then becomes a batch of `ip`: all in one process. */
export const SETTLE_SCRIPT = [
  'ip=$1 first=$2',
  'shift 2',
  `[ -z "$first" ] || printf '%s\\n' "$first" | "$ip" -batch - || exit`,
  // A kernel without IPv6 has no such files; a file that is there and is not written is named.
  'while [ $# -gt 1 ]; do',
  '  if [ -e "$1" ]; then { echo "$2" >"$1"; } 2>/dev/null || echo "$1"; fi',
  '  shift 2',
  'done',
  'exec "$ip" -batch -',
].join('\n');
