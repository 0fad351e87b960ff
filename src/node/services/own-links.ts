import { readFile } from 'node:fs/promises';
import { parseRoutes } from '#base/proc/net-tables.js';
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
