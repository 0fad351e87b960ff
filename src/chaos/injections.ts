import { type Clock } from '../util/clock.js';
import { type Logger } from '../util/logger.js';
import { type PodName } from './pod-directory.js';
import { type FaultType, type Rule } from './rule.js';
import { type Subject } from './rule-book.js';

/** A fault that was injected. */
export interface Injection {
  /** Wall-clock milliseconds since the epoch. */
  readonly atMs: number;
  readonly rule: string;
  readonly fault: FaultType;
  /** The method's short name; empty for an outage. */
  readonly method: string;
  readonly pod: PodName | undefined;
  readonly container: string | undefined;
  readonly containerId: string | undefined;
  readonly sandboxId: string | undefined;
  /** What exactly was done: `2s`, `300 of 310 items left out`. */
  readonly detail: string | undefined;
}

/** How often a rule has hit, by method. */
export interface InjectionCount {
  readonly rule: string;
  readonly fault: FaultType;
  readonly method: string;
  readonly count: number;
}

export interface InjectionsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly onInjection: ((injection: Injection) => void) | undefined;
}

/** Says and counts what was injected. */
export class Injections {
  readonly #options: InjectionsOptions;
  readonly #counts = new Map<string, { -readonly [Key in keyof InjectionCount]: InjectionCount[Key] }>();

  constructor(options: InjectionsOptions) {
    this.#options = options;
  }

  /** In the order in which each first happened. */
  get counts(): readonly InjectionCount[] {
    return [...this.#counts.values()];
  }

  note({ name: rule, fault: { type } }: Rule, subject: Partial<Subject> = {}, detail?: string): void {
    const { clock, logger, onInjection } = this.#options;
    const { method = '', containerId, sandboxId } = subject;
    const key = `${rule}\0${type}\0${method}`;
    const count = this.#counts.get(key);
    if (count === undefined) this.#counts.set(key, { rule, fault: type, method, count: 1 });
    else count.count++;
    if (onInjection === undefined && !logger.enabled(1)) return;
    const known = subject.known?.();
    const ids = { containerID: containerId, podSandboxID: sandboxId };
    const fields = { pod: known?.pod, containerName: known?.containerName, ...ids, detail };
    logger.info('Fault injected', { rule, fault: type, method, ...fields }, 1);
    onInjection?.({
      ...{ atMs: clock.now(), rule, fault: type, method, pod: known?.pod },
      ...{ container: known?.containerName, containerId, sandboxId, detail },
    });
  }
}
