import { systemCodeOf } from '#base/errors/system-code.js';
import { joinHostPort } from '#base/wire/join-host-port.js';
import { errored, failed, type ProbeOutcome, silent } from './probe-outcome.js';

/** A connection as it is named in messages. */
export interface DialAddress {
  readonly host: string;
  readonly port: number;
}

/** What the kubelet calls errors of the network. */
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

/** Codes that say that the connection cannot be made, by the other side's kernel or ours. */
const REFUSALS = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENETUNREACH', 'EINVAL', 'ENOTFOUND']);

/** Codes of what we ran out of ourselves. */
const OWN_LIMITS = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL', 'EAGAIN']);

/**
 * What an error of a socket shows, in the words of the kubelet behind `prefix`. Pure.
 *
 * A refusal was said at once, and no stall of ours has made it so. A connection that stood and was lost is silence. And
 * what we lack ourselves says nothing of the container.
 */
export function outcomeOfSocketError(error: Error, address: DialAddress, prefix: string): ProbeOutcome {
  const code = systemCodeOf(error);
  const text = `${prefix}${wordsOf(error, code, joinHostPort(address))}`;
  // The second: what was to be sent is nothing that can be.
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
