import { formatKlogValue } from '#base/log/klog-text.js';
import { messageOf } from '#base/errors/errors.js';
import { type LogFields, type Logger } from '#base/log/logger.js';

/** What an event of the pod says as well, in fewer words. */
const SAID_BY_EVENT = 'Error syncing pod, skipping';
const BACK_OFF = /\b(?:CrashLoopBackOff|ImagePullBackOff)\b/;

/** Maximum log that is buffered while a screen hides it. */
const KEPT_LINES = 50;

/**
 * A {@link Logger} for the time in which a screen has the terminal: warnings and errors become sentences for it, and
 * the newest are kept to be written once the terminal is free again.
 */
export class ScreenLog implements Logger {
  readonly #show: (sentence: string) => void;
  readonly #behind: Logger;
  #kept: (() => void)[] = [];

  /** `behind`: writes to the terminal, once it is free. */
  constructor({ show, behind }: { readonly show: (sentence: string) => void; readonly behind: Logger }) {
    this.#show = show;
    this.#behind = behind;
  }

  /** Dropped: the screen shows pods and events itself. */
  info(): void {
    return;
  }

  warn(message: string, fields: LogFields = {}): void {
    this.#take(message, fields, () => this.#behind.warn(message, fields));
  }

  error(message: string, error?: unknown, fields: LogFields = {}): void {
    const all = error === undefined ? fields : { err: messageOf(error), ...fields };
    this.#take(message, all, () => this.#behind.error(message, error, fields));
  }

  enabled(): boolean {
    return false;
  }

  /** Writes what was kept. */
  flush(): void {
    const kept = this.#kept;
    this.#kept = [];
    for (const write of kept) write();
  }

  #take(message: string, fields: LogFields, write: () => void): void {
    this.#kept = [...this.#kept.slice(1 - KEPT_LINES), write];
    if (message === SAID_BY_EVENT && BACK_OFF.test(String(fields['err']))) return;
    // A row of a screen may be cut off: what it is about stands in front.
    const rank = ([key]: readonly [string, unknown]): number => (key === 'pod' ? 0 : 1);
    const entries = Object.entries(fields)
      .filter(([, value]) => value !== undefined)
      .sort((one, other) => rank(one) - rank(other));
    this.#show([message, ...entries.map(([key, value]) => `${key}=${formatKlogValue(value)}`)].join(' '));
  }
}
