import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type StreamRequest } from './stream-request.js';

/** What an {@link OpenSessions} needs. */
export interface OpenSessionsOptions {
  readonly clock: Clock;
  readonly logger: Logger;
}

/**
 * How long the end of sessions is waited for. Their connections are closed and their commands killed by then: what is
 * left is a process that the kernel does not let go, in an uninterruptible sleep.
 */
export const LAST_SESSIONS_MS = 5_000;

/** The sessions of a streaming server that have not ended. */
export class OpenSessions {
  readonly #clock: Clock;
  readonly #logger: Logger;
  /** What each one is, for people. */
  readonly #open = new Map<Promise<void>, string>();

  constructor({ clock, logger }: OpenSessionsOptions) {
    this.#clock = clock;
    this.#logger = logger;
  }

  get count(): number {
    return this.#open.size;
  }

  /** Keeps a session until it has settled; a rejection is logged. */
  add(grant: StreamRequest, session: Promise<void>): void {
    const settled = session.catch((error: unknown) => {
      this.#logger.error('Streaming session failed', error);
    });
    this.#open.set(settled, describe(grant));
    void settled.then(() => this.#open.delete(settled));
  }

  /** Resolves once all have ended, or after {@link LAST_SESSIONS_MS}; then it logs which have not. */
  async waitForEnd(): Promise<void> {
    const over = new AbortController();
    const ended = Promise.all(this.#open.keys()).then(() => over.abort());
    await Promise.race([ended, this.#clock.sleep(LAST_SESSIONS_MS, over.signal).catch(() => undefined)]);
    if (this.#open.size === 0) return;
    const left = [...this.#open.values()].slice(0, MAX_NAMED);
    this.#logger.warn('Streaming sessions do not end, what they run may be left', {
      count: this.#open.size,
      left,
    });
  }
}

const MAX_NAMED = 20;

function describe(grant: StreamRequest): string {
  if (grant.kind === 'portforward') return `port-forward into sandbox ${grant.sandboxId}`;
  // The command's arguments may hold secrets.
  const what = grant.kind === 'exec' ? `exec of ${grant.argv[0] ?? ''}` : 'attach';
  return `${what} in container ${grant.containerId}`;
}
