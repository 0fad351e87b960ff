import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { type PodName } from '../pod-directory.js';
import { type FaultType, type Rule } from '../chaos-rule.js';
import { type Subject } from '../subject.js';

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

type MutableCount = { -readonly [Key in keyof InjectionCount]: InjectionCount[Key] };

/** What an {@link Injections} needs. */
export interface InjectionsOptions {
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
  readonly onInjection: ((injection: Injection) => void) | undefined;
}

/** A client may invent names without end, and long ones: of each rule so many are counted by name. */
const MAX_METHODS = 100;
const MAX_METHOD_LENGTH = 200;
/** What the others are counted as. */
const OTHER_METHODS = '(others)';

/** Says and counts what was injected. */
export class Injections {
  readonly #options: InjectionsOptions;
  /** By rule and fault, then by method. */
  readonly #counts = new Map<string, Map<string, MutableCount>>();

  constructor(options: InjectionsOptions) {
    this.#options = options;
  }

  /** By rule, and for each in the order in which its methods were first hit. */
  get counts(): readonly InjectionCount[] {
    return [...this.#counts.values()].flatMap((byMethod) => [...byMethod.values()]);
  }

  note({ name: rule, fault: { type } }: Rule, subject: Partial<Subject> = {}, detail?: string): void {
    const { clock, logger, onInjection } = this.#options;
    const { containerId, sandboxId } = subject;
    const method = shorten(subject.method ?? '');
    this.#count(rule, type, method);
    if (onInjection === undefined && !logger.enabled(1)) return;
    const known = subject.known?.();
    const ids = { containerID: containerId, podSandboxID: sandboxId };
    const fields = { pod: known?.pod, containerName: known?.containerName, ...ids, detail };
    logger.info('Fault injected', { rule, fault: type, method, ...fields }, 1);
    try {
      onInjection?.({
        ...{ atMs: clock.now(), rule, fault: type, method, pod: known?.pod },
        ...{ container: known?.containerName, containerId, sandboxId, detail },
      });
    } catch (error) {
      // Who only listens is to stop nothing.
      logger.error('A listener for injected faults failed', error, { rule });
    }
  }

  #count(rule: string, fault: FaultType, method: string): void {
    const byMethod = this.#counts.get(`${rule}\0${fault}`) ?? new Map<string, MutableCount>();
    this.#counts.set(`${rule}\0${fault}`, byMethod);
    const counted = byMethod.has(method) || byMethod.size < MAX_METHODS ? method : OTHER_METHODS;
    const count = byMethod.get(counted);
    if (count === undefined) byMethod.set(counted, { rule, fault, method: counted, count: 1 });
    else count.count++;
  }
}

function shorten(method: string): string {
  return method.length <= MAX_METHOD_LENGTH ? method : `${method.slice(0, MAX_METHOD_LENGTH)}…`;
}
