/**
 * Kubernetes' rules for names. Each returns what a text should be like, or undefined if it is valid.
 *
 * @module
 */
import { isIP } from 'node:net';

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const SEARCH_DOMAIN = /^[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*$/;
const QUALIFIED = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

/** A name of at most 63 characters: containers, namespaces, host names, volumes (RFC 1123 label). */
export function checkLabel(text: string): string | undefined {
  if (text.length <= 63 && LABEL.test(text)) return undefined;
  return 'use at most 63 of a-z, 0-9 and "-", with a letter or digit at both ends';
}

/** A name of at most 253 characters with dots: pods, ConfigMaps, nodes (RFC 1123 subdomain). */
export function checkSubdomain(text: string): string | undefined {
  if (text.length <= 253 && SUBDOMAIN.test(text)) return undefined;
  return 'use at most 253 of a-z, 0-9, "-" and ".", with a letter or digit at both ends and on both sides of each dot';
}

/** A search domain of resolv.conf: a subdomain that may have underscores. */
export function checkSearchDomain(text: string): string | undefined {
  if (text.length <= 253 && SEARCH_DOMAIN.test(text)) return undefined;
  return 'use at most 253 of a-z, 0-9, "-", "_" and ".", as in svc.example.org';
}

/** A key of labels, annotations and resources: `name` or `prefix.example/name`. */
export function checkQualifiedName(text: string): string | undefined {
  const parts = text.split('/');
  const name = parts.at(-1)!;
  const prefix = parts.length === 2 ? parts[0] : undefined;
  const isPrefixFine = prefix === undefined || checkSubdomain(prefix) === undefined;
  if (parts.length <= 2 && isPrefixFine && name.length <= 63 && QUALIFIED.test(name)) return undefined;
  return 'use a name of at most 63 letters, digits, "-", "_" and ".", perhaps behind a domain and "/", as in example.org/name';
}

/** The value of a label. */
export function checkLabelValue(text: string): string | undefined {
  if (text === '' || (text.length <= 63 && QUALIFIED.test(text))) return undefined;
  return 'use at most 63 letters, digits, "-", "_" and ".", with a letter or digit at both ends';
}

/** The name of a port (an IANA service name). */
export function checkPortName(text: string): string | undefined {
  const isFine =
    text.length <= 15 &&
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(text) &&
    /[a-z]/.test(text) &&
    !text.includes('--');
  return isFine ? undefined : 'use at most 15 of a-z, 0-9 and single "-", with at least one letter';
}

/** The number of a port. */
export function checkPortNumber(port: number): string | undefined {
  return port >= 1 && port <= 65535 ? undefined : 'must be from 1 to 65535';
}

/** The name of an environment variable, as Kubernetes accepts it since 1.30: printable ASCII without `=`. */
export function checkEnvName(text: string): string | undefined {
  return /^[\x20-\x3c\x3e-\x7e]+$/.test(text) ? undefined : 'use printable ASCII characters without "="';
}

/** The key of an entry of a ConfigMap or Secret, which may become a file name. */
export function checkConfigKey(text: string): string | undefined {
  const isFine =
    text.length <= 253 && /^[-._a-zA-Z0-9]+$/.test(text) && text !== '.' && !text.startsWith('..');
  return isFine ? undefined : 'use at most 253 letters, digits, "-", "_" and ".", not ".." in front';
}

/** An IPv4 or IPv6 address. */
export function checkIp(text: string): string | undefined {
  // A zone refers to an interface of one machine.
  if (isIP(text) === 0 || text.includes('%')) return 'use an IP address, such as 10.9.8.7 or fd00::1';
  return isMapped(text) ? 'write the IPv4 address by itself, without ::ffff: in front' : undefined;
}

/** Whether it is an IPv4 address mapped into IPv6: some programs treat it as the one, some as the other. */
function isMapped(text: string): boolean {
  if (isIP(text) !== 6) return false;
  // A URL writes it in only one way.
  return /^\[::ffff:[0-9a-f]{1,4}:[0-9a-f]{1,4}\]$/.test(new URL(`http://[${text}]`).hostname);
}

/** A time as Kubernetes writes it: RFC 3339. */
export function checkTime(text: string): string | undefined {
  const match = TIME.exec(text);
  if (match !== null) {
    const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [number, ...number[]];
    const date = new Date(Date.UTC(year, month! - 1, day));
    const isDay = date.getUTCMonth() === month! - 1 && date.getUTCDate() === day;
    if (isDay && hour! < 24 && minute! < 60 && second! < 60) return undefined;
  }
  return 'use a time such as 2026-11-28T10:00:00Z';
}

const TIME = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,]\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/;

/** A uid. Kubernetes accepts any text; here it names folders and cgroups. */
export function checkUid(text: string): string | undefined {
  const isFine = /^[A-Za-z0-9][-A-Za-z0-9_.]*$/.test(text) && text.length <= 128 && !text.includes('..');
  return isFine
    ? undefined
    : 'use at most 128 letters, digits, "-", "_" and single ".", as folders are named after it';
}

/** A path below a folder: relative and without `..`. */
export function checkDescendingPath(text: string): string | undefined {
  if (text.startsWith('/')) return 'must be a relative path';
  return checkNoBacksteps(text) ?? checkNoNul(text);
}

/** A path without a step upwards. */
export function checkNoBacksteps(text: string): string | undefined {
  return text.split('/').includes('..') ? 'must not contain ".."' : undefined;
}

/** The system accepts no NUL in paths, arguments and variables. */
export function checkNoNul(text: string): string | undefined {
  return text.includes('\0') ? 'must not contain a NUL character' : undefined;
}
