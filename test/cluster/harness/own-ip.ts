import { networkInterfaces } from 'node:os';

/** An IPv4 address of this machine at which others find it: a Node has no loopback addresses. */
export function findOwnIp(): string {
  const all = Object.values(networkInterfaces()).flatMap((each) => each ?? []);
  const own = all.find(({ family, internal }) => family === 'IPv4' && !internal);
  if (own === undefined) throw new Error('this machine has no address but loopback ones');
  return own.address;
}
