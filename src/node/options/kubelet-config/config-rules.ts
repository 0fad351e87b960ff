import { isIP } from 'node:net';
import {
  EVICTION_SIGNALS,
  isEvictionSignal,
  parseReclaims,
  parseThresholds,
  type WrittenThresholds,
} from '#kube/node/eviction-thresholds.js';
import { findQuantity } from '#kube/fields/quantity.js';
import { checkSubdomain } from '#kube/validation/name-rules.js';
import { type Rule } from '#kube/validation/problem-list.js';
import { messageOf } from '#base/errors/errors.js';
import { parseGoDuration } from '#base/time/go-duration.js';
import { CIPHER_SUITES } from '../../api/tls/cipher-suites.js';
import { type ValueCheck } from './honoured-field.js';
import { readDuration } from './read-duration.js';

/** The largest port. */
export const MAX_PORT = 65_535;

/** Checks a value by a rule. */
export function by<Value>(rule: Rule<Value>): ValueCheck<Value> {
  return (value, path, list) => list.check(path, value, rule);
}

/** Checks each value of a list by a rule. */
export function each<Value>(rule: Rule<Value>): ValueCheck<readonly Value[]> {
  return (values, path, list) => {
    for (const [index, value] of values.entries()) list.check([...path, index], value, rule);
  };
}

/** Checks each entry of a map by a rule, which gets its name and value. */
export function eachEntry(
  rule: (name: string, text: string) => string | undefined,
): ValueCheck<Readonly<Record<string, string>>> {
  return (entries, path, list) => {
    for (const [name, text] of Object.entries(entries)) {
      list.check([...path, { key: name }], text, () => rule(name, text));
    }
  };
}

/** A rule for milliseconds: from one Go duration to another. */
export function between(least: string, most: string): Rule<number> {
  const [from, to] = [parseGoDuration(least, 'least'), parseGoDuration(most, 'most')];
  return (ms) => (ms >= from && ms <= to ? undefined : `must be from ${least} to ${most}`);
}

/** A rule for milliseconds: at least a Go duration. */
export function durationAtLeast(least: string): Rule<number> {
  const from = parseGoDuration(least, 'least');
  return (ms) => (ms >= from ? undefined : `must be at least ${least}`);
}

export const atLeastOneSecond = durationAtLeast('1s');

/** In what numbers pods get ids of users and groups. */
const ID_UNIT = 65_536;
const MAX_IDS = 2 ** 32 - 1;

/** A rule for how many ids a pod with users of its own gets. */
export const checkIdsPerPod: Rule<number> = (count) =>
  count >= ID_UNIT && count <= MAX_IDS && count % ID_UNIT === 0
    ? undefined
    : `must be a multiple of ${ID_UNIT}, at most ${MAX_IDS}`;

/** A rule for milliseconds, of which 0 stands for none. */
export const zeroOrOneSecond: Rule<number> = (ms) =>
  ms === 0 ? undefined : atLeastOneSecond(ms) && 'must be 0s or at least 1s';

export const notNegative: Rule<number> = (value) => (value >= 0 ? undefined : 'must not be negative');

const RESERVABLE = ['cpu', 'memory', 'ephemeral-storage', 'pid'];

export function findReservationProblem(name: string, amount: string): string | undefined {
  if (!RESERVABLE.includes(name))
    return `cannot reserve ${name} resource; use one of ${RESERVABLE.join(', ')}`;
  const isNegative = (findQuantity(amount)?.nanos ?? 0n) < 0n;
  return isNegative ? 'must not be negative' : undefined;
}

/** Of what is reserved for classes of service. */
export function findClassReserveProblem(name: string, text: string): string | undefined {
  if (name !== 'memory') return `cannot reserve ${name} resource; use memory`;
  const percent = /^(\d{1,3})%$/.exec(text)?.[1];
  return percent !== undefined && Number(percent) <= 100 ? undefined : 'must be from 0% to 100%, such as 50%';
}

export function findThresholdProblem(signal: string, text: string): string | undefined {
  return findParseProblem(parseThresholds, { [signal]: text });
}

export function findReclaimProblem(signal: string, text: string): string | undefined {
  return findParseProblem(parseReclaims, { [signal]: text });
}

function findParseProblem(
  parse: (written: WrittenThresholds) => unknown,
  written: WrittenThresholds,
): string | undefined {
  try {
    parse(written);
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}

export function findGraceProblem(signal: string, text: string): string | undefined {
  if (!isEvictionSignal(signal)) return `use one of ${EVICTION_SIGNALS.join(', ')}`;
  const read = readDuration(text);
  return 'problem' in read ? read.problem : notNegative(read.ms);
}

export const findCipherSuiteProblem: Rule<string> = (value) =>
  CIPHER_SUITES.includes(value) ? undefined : `must be one of ${CIPHER_SUITES.join(', ')}`;

export const findUrlProblem: Rule<string> = (value) => {
  const protocol = URL.canParse(value) ? new URL(value).protocol : '';
  return protocol === 'http:' || protocol === 'https:' ? undefined : 'must be an http:// or https:// URL';
};

/** An empty domain is none. */
export const findDomainProblem: Rule<string> = (domain) =>
  domain === '' ? undefined : checkSubdomain(domain);

/** The rule for networks with commas between them; empty for none. */
export function findNetworksProblem(text: string): string | undefined {
  const networks = text.split(',');
  const families = networks.map((network) => isIP(network.split('/')[0]!));
  const isFine = text === '' || (networks.every(isNetwork) && new Set(families).size === networks.length);
  return isFine
    ? undefined
    : 'must be a network such as 10.88.0.0/16, or one of each family: 10.88.0.0/16,fd00:88::/64';
}

function isNetwork(text: string): boolean {
  const [, address = '', prefix = ''] = /^([^/]+)\/(\d{1,3})$/.exec(text) ?? [];
  const family = isIP(address);
  return family !== 0 && Number(prefix) <= (family === 4 ? 32 : 128);
}
