/** A range of IPv4 addresses: a.b.c.d/prefix, with the bits behind the prefix all zero. */
export interface Ipv4Range {
  /** The first address, as an unsigned number. */
  readonly network: number;
  readonly prefix: number;
}

/** Reads `a.b.c.d`; undefined when it is something else. */
export function parseIpv4(text: string): number | undefined {
  if (!/^\d{1,3}(\.\d{1,3}){3}$/.test(text)) return undefined;
  const parts = text.split('.').map(Number);
  return parts.every((part) => part <= 255) ? parts.reduce((sum, part) => sum * 256 + part, 0) : undefined;
}

/** Writes an address as people do: the inverse of {@link parseIpv4}. */
export function formatIpv4(address: number): string {
  return [24, 16, 8, 0].map((shift) => (address >>> shift) & 255).join('.');
}

/**
 * Reads `a.b.c.d/prefix`; a bare address is a range of one. Bits behind the prefix are cut off. Undefined when it
 * is something else, an IPv6 range for one.
 */
export function parseIpv4Range(text: string): Ipv4Range | undefined {
  const [addressText = '', prefixText = '32', ...rest] = text.split('/');
  const address = parseIpv4(addressText);
  if (address === undefined || rest.length > 0 || !/^\d{1,2}$/.test(prefixText)) return undefined;
  const prefix = Number(prefixText);
  if (prefix > 32) return undefined;
  return { network: address - (address % 2 ** (32 - prefix)), prefix };
}

/** Writes a range: the inverse of {@link parseIpv4Range}. */
export function formatIpv4Range({ network, prefix }: Ipv4Range): string {
  return `${formatIpv4(network)}/${prefix}`;
}

/** How many addresses there are in it, the first and the last included. */
export function sizeOf({ prefix }: Ipv4Range): number {
  return 2 ** (32 - prefix);
}

/** Whether an address, as an unsigned number, is in it; false for undefined, which is none. */
export function contains(range: Ipv4Range, address: number | undefined): boolean {
  return address !== undefined && address >= range.network && address < range.network + sizeOf(range);
}

/** Whether they have an address in common. */
export function overlap(a: Ipv4Range, b: Ipv4Range): boolean {
  return a.network < b.network + sizeOf(b) && b.network < a.network + sizeOf(a);
}
