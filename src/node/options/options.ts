import { PLEG_MODES, type PlegMode } from '#watch';
import { PodloopError } from '#base/errors/errors.js';

/** How the event generator is triggered; see docs/guides/watch-your-node.md. */
export type ObserverMode = PlegMode;

/** The options of an {@link Observer}; {@link OBSERVER_OPTIONS} explains each. */
export interface ObserverOptions {
  readonly runtimeEndpoint: string;
  readonly mode: ObserverMode;
  readonly relistPeriodMs: number;
  readonly relistThresholdMs: number;
  readonly inspectConcurrency: number;
  readonly inspectDeadlineMs: number;
  readonly queueCapacity: number;
}

/** One row of an options table. */
export interface OptionFacts<Value> {
  readonly type: 'string' | 'milliseconds' | 'count' | readonly string[];
  readonly default: Value;
  /** One sentence for the reference page and for `--help`. */
  readonly doc: string;
}

/** Every option of the observer: its type, its default and what it does. */
export const OBSERVER_OPTIONS: {
  readonly [Name in keyof ObserverOptions]: OptionFacts<ObserverOptions[Name]>;
} = {
  runtimeEndpoint: {
    type: 'string',
    default: '',
    doc: 'Socket of the container runtime, as unix:///path or /path; when empty, podloop searches the usual places',
  },
  mode: {
    type: PLEG_MODES,
    default: 'generic',
    doc: 'What triggers a relist: the period alone (generic), or runtime events as well (evented, auto)',
  },
  relistPeriodMs: {
    type: 'milliseconds',
    default: 1_000,
    doc: 'Time between the end of one relist and the start of the next',
  },
  relistThresholdMs: {
    type: 'milliseconds',
    default: 180_000,
    doc: 'Time without a successful relist after which the runtime counts as unhealthy',
  },
  inspectConcurrency: {
    type: 'count',
    default: 16,
    doc: 'Maximum number of pods that are inspected at the same time',
  },
  inspectDeadlineMs: {
    type: 'milliseconds',
    default: 120_000,
    doc: 'Timeout for the inspection of one pod, which is retried later',
  },
  queueCapacity: {
    type: 'count',
    default: 1_000,
    doc: 'Maximum number of events that wait for a slow reader before they fold into one PodSync per pod',
  },
};

/**
 * Checks the given options and fills in the defaults; throws OPTION_INVALID with the option and the values it accepts.
 *
 * The default threshold grows to three periods when the period is long.
 */
export function resolveObserverOptions(given: Partial<ObserverOptions>): ObserverOptions {
  const names = Object.keys(OBSERVER_OPTIONS) as (keyof ObserverOptions)[];
  for (const name of Object.keys(given)) {
    if (!names.includes(name as keyof ObserverOptions)) {
      throw new PodloopError('OPTION_INVALID', `unknown option ${name}; there are ${names.join(', ')}`);
    }
  }
  const entries = names.map((name) => {
    const facts = OBSERVER_OPTIONS[name];
    const value = given[name] ?? facts.default;
    checkOption(name, facts.type, value);
    return [name, value];
  });
  const options = Object.fromEntries(entries) as ObserverOptions;
  if (given.relistThresholdMs !== undefined) return options;
  return { ...options, relistThresholdMs: Math.max(options.relistThresholdMs, 3 * options.relistPeriodMs) };
}

function checkOption(name: string, type: OptionFacts<unknown>['type'], value: unknown): void {
  const expected = expectedOf(type, value);
  if (expected === undefined) return;
  throw new PodloopError('OPTION_INVALID', `option ${name}: ${JSON.stringify(value)} is not ${expected}`);
}

function expectedOf(type: OptionFacts<unknown>['type'], value: unknown): string | undefined {
  switch (type) {
    case 'string':
      return typeof value === 'string' ? undefined : 'a string';
    case 'milliseconds':
      return typeof value === 'number' && value > 0 && Number.isFinite(value)
        ? undefined
        : 'a positive duration';
    case 'count':
      return Number.isSafeInteger(value) && (value as number) > 0 ? undefined : 'a positive whole number';
    default:
      return type.includes(value as string) ? undefined : `one of ${type.join(', ')}`;
  }
}
