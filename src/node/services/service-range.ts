import { readFile, realpath } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Logger } from '#base/log/logger.js';
import { parseRoutes } from '#base/proc/net-tables.js';
import { formatIpv4Range, type Ipv4Range, overlap, parseIpv4Range } from '#base/wire/ipv4-range.js';
import { type AddressPool, chooseServiceRange, isOfPool, type ServiceRecord } from './service-addresses.js';
import { isServiceLink } from './service-network.js';

/** What {@link findRange} needs. */
export interface FindRangeOptions {
  /** Of the agent: each of a machine has a range of its own. */
  readonly rootDir: string;
  /** The range that is asked for; empty for none. */
  readonly cidr: string;
  readonly logger: Logger;
}

/** The root folder of an agent by its real path, by which it is known on the machine. */
export async function rootOf(rootDir: string): Promise<string> {
  return realpath(rootDir).catch(() => resolve(rootDir));
}

/** The range that is asked for, else the one on record, unless it is of no use here; else a free one. */
export async function findRange(
  { rootDir, cidr, logger }: FindRangeOptions,
  record: ServiceRecord | undefined,
  pool: AddressPool,
): Promise<Ipv4Range> {
  const asked = cidr === '' ? undefined : parseIpv4Range(cidr);
  const known = record === undefined ? undefined : parseIpv4Range(record.range);
  if (asked === undefined && known !== undefined && isOfPool(known, pool)) return known;
  const routes = parseRoutes(await readFile('/proc/net/route', 'latin1').catch(() => ''))
    .filter(({ link, range: { prefix } }) => prefix > 0 && !isServiceLink(link))
    .map(({ range }) => range);
  const range = asked ?? chooseServiceRange(await rootOf(rootDir), pool, routes);
  const taken = routes.find((route) => overlap(route, range));
  if (taken !== undefined) {
    const facts = { range: formatIpv4Range(range), route: formatIpv4Range(taken) };
    logger.warn('A route of this machine overlaps the range of Services', facts);
  }
  return range;
}
