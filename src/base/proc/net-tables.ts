/**
 * Tables of the kernel's network below /proc/net and /proc/PID/net. Everything is pure; lines that are not
 * understood are left out.
 *
 * Source: proc_pid_net(5).
 *
 * @module
 */
import { endianness } from 'node:os';
import { type Ipv4Range } from '../wire/ipv4-range.js';

/** A route of IPv4: which addresses are reached through which interface. */
export interface Route {
  readonly link: string;
  /** A default route has the prefix 0. */
  readonly range: Ipv4Range;
}

/** A socket that has a path. */
export interface UnixSocket {
  readonly path: string;
  readonly inode: string;
  readonly isListening: boolean;
}

const TCP_LISTEN = '0A';
/** The flag __SO_ACCEPTCON. */
const UNIX_LISTEN = '00010000';

/** The routes of `route`. */
export function parseRoutes(table: string): Route[] {
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [link = '', destination = '', , , , , , mask = ''] = line.trim().split(/\s+/);
      if (!/^[0-9A-F]{8}$/.test(destination) || !/^[0-9A-F]{8}$/.test(mask)) return [];
      const prefix = toNumber(mask).toString(2).replaceAll('0', '').length;
      return [{ link, range: { network: toNumber(destination), prefix } }];
    });
}

/** The interface of the first default route in `route`; undefined if there is none. */
export function findDefaultLink(table: string): string | undefined {
  return /^(\S+)\s+00000000\s/m.exec(table)?.[1];
}

/** Inodes of the sockets that listen at a port, on any address, in `tcp` or `tcp6`. */
export function findTcpListeners(table: string, port: number): string[] {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  return table.split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/);
    return local.endsWith(`:${hex}`) && state === TCP_LISTEN && inode !== undefined ? [inode] : [];
  });
}

/** The sockets of `unix` that have a path. */
export function parseUnixSockets(table: string): UnixSocket[] {
  return table.split('\n').flatMap((line) => {
    const [, flags, inode = '', path = ''] =
      /^\s*\S+:\s+\S+\s+\S+\s+(\S+)\s+\S+\s+\S+\s+(\d+)\s+(\/.*)$/.exec(line) ?? [];
    return path === '' ? [] : [{ path, inode, isListening: flags === UNIX_LISTEN }];
  });
}

/** The inode of a socket, of a link in /proc/PID/fd such as `socket:[123]`. */
export function findSocketInode(link: string): string | undefined {
  return /^socket:\[(\d+)\]$/.exec(link)?.[1];
}

/** The kernel writes the four bytes of an address as a number of this machine. */
function toNumber(hex: string): number {
  const bytes = Buffer.from(hex, 'hex');
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, endianness() === 'LE');
}
