import { randomBytes } from 'node:crypto';
import { status } from '@grpc/grpc-js';
import { type Clock } from '#base/time/clock.js';
import { RpcError } from '../rpc-error.js';

/** How long a token is good for, as in the kubelet's own streaming server. */
export const TOKEN_LIFETIME_MS = 60_000;
/** How many may wait to be used at once, as there. */
export const MAX_TOKENS = 1_000;
/** 128 bits: nobody guesses one within its minute. */
const TOKEN_BYTES = 16;

interface Entry<T> {
  readonly value: T;
  readonly expiresAtMs: number;
}

/**
 * Grants that wait for their client: each under a token that works once and for a minute.
 *
 * Bounded: with {@link MAX_TOKENS} unused ones, another is refused with RESOURCE_EXHAUSTED.
 */
export class TokenStore<T> {
  readonly #clock: Clock;
  /** In the order of their expiry, since all live equally long. */
  readonly #entries = new Map<string, Entry<T>>();

  constructor(options: { readonly clock: Clock }) {
    this.#clock = options.clock;
  }

  /** How many wait, spent and expired ones not counted. */
  get size(): number {
    this.#expire();
    return this.#entries.size;
  }

  /** Keeps a grant and returns its token, which can stand in a URL as it is. */
  insert(value: T): string {
    this.#expire();
    if (this.#entries.size >= MAX_TOKENS) {
      throw new RpcError(
        status.RESOURCE_EXHAUSTED,
        `${MAX_TOKENS} streaming requests are waiting for their clients: try again within a minute`,
      );
    }
    const token = randomBytes(TOKEN_BYTES).toString('base64url');
    this.#entries.set(token, { value, expiresAtMs: this.#clock.monotonicMs() + TOKEN_LIFETIME_MS });
    return token;
  }

  /** The grant of a token, which is spent by that; undefined when it is unknown, spent or expired. */
  consume(token: string): T | undefined {
    this.#expire();
    const entry = this.#entries.get(token);
    this.#entries.delete(token);
    return entry?.value;
  }

  #expire(): void {
    const now = this.#clock.monotonicMs();
    for (const [token, { expiresAtMs }] of this.#entries) {
      if (expiresAtMs > now) return;
      this.#entries.delete(token);
    }
  }
}
