import { isIP } from 'node:net';
import { InvalidArgumentError } from 'commander';

/** An address of this machine to listen at. */
export interface BindAddress {
  readonly host: string;
  readonly port: number;
}

const HINT = 'use ADDRESS:PORT, such as 127.0.0.1:10247 or [::1]:10247, or 0 for none';

/** `ADDRESS:PORT`, as components of Kubernetes take it; `0` is none. */
export function parseBindAddress(text: string): BindAddress | undefined {
  if (text === '0') return undefined;
  const [, bracketed, plain = '', digits = ''] = /^(?:\[([^\]]+)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (isIP(host) !== (bracketed === undefined ? 4 : 6) || port < 1 || port > 65_535)
    throw new InvalidArgumentError(HINT);
  return { host, port };
}
