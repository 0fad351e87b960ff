import { readFile } from 'node:fs/promises';
import { endianness } from 'node:os';
import { contains, type Ipv4Range, parseIpv4 } from '#base/wire/ipv4-range.js';
import { type Clock } from '#base/time/clock.js';

/** Routes do not change from one packet to the next. */
const FRESH_MS = 1_000;
/** Nor are they read for each packet of somebody who may not ask. */
const RETRY_MS = 20;

/** Knows from which addresses a question may come: from those behind some interfaces, and of the machine itself. */
export class OwnLinks {
  readonly #isOwn: (link: string) => boolean;
  readonly #clock: Clock;
  readonly #read: () => Promise<string>;
  #ranges: readonly Ipv4Range[] = [];
  #readMs = -Infinity;

  /** `read` (default: the machine's own table of routes). */
  constructor(options: {
    readonly isOwn: (link: string) => boolean;
    readonly clock: Clock;
    readonly read?: () => Promise<string>;
  }) {
    this.#isOwn = options.isOwn;
    this.#clock = options.clock;
    this.#read = options.read ?? (async () => readFile('/proc/net/route', 'latin1'));
  }

  /** Whether an address is behind one of the interfaces by the machine's routes. Never rejects. */
  async has(address: string): Promise<boolean> {
    const ageMs = this.#clock.monotonicMs() - this.#readMs;
    // An interface that has just been made is not known yet.
    if (ageMs > FRESH_MS || (ageMs > RETRY_MS && !this.#isIn(address))) await this.refresh();
    return this.#isIn(address);
  }

  /** Reads the routes again. Never rejects. */
  async refresh(): Promise<void> {
    const text = await this.#read().catch(() => '');
    this.#ranges = parseRoutes(text)
      .filter(({ link, range }) => range.prefix > 0 && this.#isOwn(link))
      .map(({ range }) => range);
    this.#readMs = this.#clock.monotonicMs();
  }

  #isIn(address: string): boolean {
    const number = parseIpv4(address);
    return this.#ranges.some((range) => contains(range, number));
  }
}

/** The routes of /proc/net/route. Pure. */
export function parseRoutes(text: string): { readonly link: string; readonly range: Ipv4Range }[] {
  return text
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const [link = '', destination = '', , , , , , mask = ''] = line.trim().split(/\s+/);
      if (!/^[0-9A-F]{8}$/.test(destination) || !/^[0-9A-F]{8}$/.test(mask)) return [];
      const prefix = toNumber(mask).toString(2).replaceAll('0', '').length;
      return [{ link, range: { network: toNumber(destination), prefix } }];
    });
}

/** The kernel writes the four bytes of an address as a number of this machine. */
function toNumber(hex: string): number {
  const bytes = Buffer.from(hex, 'hex');
  return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, endianness() === 'LE');
}
