import { systemCodeOf } from '#base/errors/system-code.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { errored, failed, type ProbeOutcome, silent } from './probe-outcome.js';

/** The address of a connection, as messages show it. */
export interface DialAddress {
  readonly host: string;
  readonly port: number;
}

/** The kubelet's words for network errors. */
const WORDS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connect: connection refused',
  EHOSTUNREACH: 'connect: no route to host',
  ENETUNREACH: 'connect: network is unreachable',
  EADDRNOTAVAIL: 'connect: cannot assign requested address',
  EINVAL: 'connect: invalid argument',
  ETIMEDOUT: 'connect: connection timed out',
  ENOTFOUND: 'lookup: no such host',
  EAI_AGAIN: 'lookup: server misbehaving',
};

/** Codes of connections that the kernel of either side refuses. */
const REFUSALS = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EINVAL', 'ENOTFOUND']);

/** Codes for exhausted resources of this process. */
const OWN_LIMITS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

/**
 * The outcome of a socket error, in the kubelet's words after `prefix`. Pure.
 *
 * A refusal comes at once, so no stall has caused it. An established connection that was lost is silence.
 * Missing resources of this process say nothing about the container.
 */
export function outcomeOfSocketError(error: Error, address: DialAddress, prefix: string): ProbeOutcome {
  const code = systemCodeOf(error);
  const text = `${prefix}${wordsOf(error, code, joinHostPort(address))}`;
  // The second: the request itself is invalid.
  if (OWN_LIMITS.has(code) || code.startsWith('ERR_INVALID_')) return errored(text);
  return REFUSALS.has(code) ? failed(text) : silent(text);
}

function wordsOf(error: Error, code: string, where: string): string {
  const words = WORDS[code];
  if (words !== undefined) return `dial tcp ${where}: ${words}`;
  if (code === 'EPIPE') return `write tcp ${where}: write: broken pipe`;
  if (code !== 'ECONNRESET') return error.message;
  return error.message === 'socket hang up' ? 'EOF' : `read tcp ${where}: read: connection reset by peer`;
}
