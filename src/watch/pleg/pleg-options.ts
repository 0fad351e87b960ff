import { Channels } from '#base/channels/publishing-channel.js';
import { type Runtime } from '../observed/runtime.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { PodCache } from './pod-cache.js';
import { type CadenceOptions, DEFAULT_CADENCE, PLEG_MODES, type PlegMode } from './relist/relist-cadence.js';

/** Options of a {@link Pleg}. Everything but the runtime has a default. */
export interface PlegOptions extends Partial<Omit<CadenceOptions, 'mode'>> {
  readonly runtime: Runtime;
  /** Only this generator may write to it. */
  readonly cache?: PodCache;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** Where it publishes lists, inspections and events (default: channels of its own). */
  readonly channels?: Channels;
  /** How changes are found (default: `auto`). */
  readonly mode?: PlegMode;
  /** Inspections at a time (default: 16). */
  readonly inspectConcurrency?: number;
  /**
   * An inspection times out after this many milliseconds (default: 2 min, the kubelet's
   * runtime-request-timeout).
   */
  readonly inspectDeadlineMs?: number;
  /** No relist waits longer than this for an inspection, in milliseconds (default: 1 s). */
  readonly inspectBudgetMs?: number;
  /** A list call times out after this many milliseconds (default: 2 min). */
  readonly listDeadlineMs?: number;
  /**
   * How many statuses in events have to match the runtime's answers before events are trusted (default: 8).
   */
  readonly believedAfter?: number;
  /**
   * Events queued for each subscriber before they fold (default: 1000, the kubelet's plegChannelCapacity).
   */
  readonly queueCapacity?: number;
  /** A number in [0, 1) for jitter (default: Math.random). */
  readonly random?: () => number;
  /** Lets the event loop turn once between two slices of work (default: setImmediate). */
  readonly yieldToLoop?: () => Promise<unknown>;
}

/** {@link PlegOptions} with every default filled in. */
export interface ResolvedPlegOptions {
  readonly runtime: Runtime;
  readonly cache: PodCache;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly channels: Channels;
  readonly cadence: CadenceOptions;
  readonly inspectConcurrency: number;
  readonly inspectDeadlineMs: number;
  readonly inspectBudgetMs: number;
  readonly listDeadlineMs: number;
  readonly believedAfter: number;
  readonly queueCapacity: number;
  readonly random: () => number;
  readonly yieldToLoop: (() => Promise<unknown>) | undefined;
}

/** The longest possible timer, in milliseconds (about 24 days): a longer one would fire at once. */
const LARGEST = 2 ** 31 - 1;

type NumberOption = {
  [Name in keyof PlegOptions]-?: number extends PlegOptions[Name] ? Name : never;
}[keyof PlegOptions];

const OPTION_NAMES: Readonly<Record<keyof PlegOptions, true>> = {
  runtime: true,
  cache: true,
  clock: true,
  logger: true,
  channels: true,
  mode: true,
  relistPeriodMs: true,
  relistThresholdMs: true,
  eventedPeriodMs: true,
  eventedThresholdMs: true,
  stretchedPeriodMs: true,
  longestStretchedPeriodMs: true,
  provenAfter: true,
  maxListShare: true,
  inspectConcurrency: true,
  inspectDeadlineMs: true,
  inspectBudgetMs: true,
  listDeadlineMs: true,
  believedAfter: true,
  queueCapacity: true,
  random: true,
  yieldToLoop: true,
};

/** Fills in the defaults; throws OPTION_INVALID, naming the invalid option. */
export function resolvePlegOptions(options: PlegOptions): ResolvedPlegOptions {
  for (const name of Object.keys(options)) {
    if (Object.hasOwn(OPTION_NAMES, name)) continue;
    throw new PodloopError(
      'OPTION_INVALID',
      `${name}: there is no such option; there are ${Object.keys(OPTION_NAMES).join(', ')}`,
    );
  }
  const runtime = options.runtime as Partial<Runtime> | undefined;
  for (const method of ['listPods', 'findPod', 'getPodStatus'] as const) {
    if (typeof runtime?.[method] === 'function') continue;
    throw new PodloopError(
      'OPTION_INVALID',
      `runtime: must have a method ${method}, as the interface Runtime says`,
    );
  }
  const mode = options.mode ?? 'auto';
  if (!PLEG_MODES.includes(mode)) {
    throw new PodloopError(
      'OPTION_INVALID',
      `mode: ${JSON.stringify(mode)} is none of ${PLEG_MODES.join(', ')}`,
    );
  }
  const positive = (name: NumberOption, fallback: number): number => {
    const value: unknown = options[name] ?? fallback;
    if (typeof value !== 'number' || !(value > 0) || !Number.isFinite(value)) {
      throw new PodloopError(
        'OPTION_INVALID',
        `${name}: must be a number above 0, not ${typeof value === 'number' ? value : JSON.stringify(value)}`,
      );
    }
    if (value > LARGEST) {
      throw new PodloopError('OPTION_INVALID', `${name}: ${value} is too large, ${LARGEST} is the most`);
    }
    return value;
  };
  const whole = (name: NumberOption, fallback: number): number => {
    const value = positive(name, fallback);
    if (!Number.isInteger(value))
      throw new PodloopError('OPTION_INVALID', `${name}: must be a whole number, not ${value}`);
    return value;
  };
  const cadence: CadenceOptions = {
    mode,
    relistPeriodMs: positive('relistPeriodMs', DEFAULT_CADENCE.relistPeriodMs),
    relistThresholdMs: positive('relistThresholdMs', DEFAULT_CADENCE.relistThresholdMs),
    eventedPeriodMs: positive('eventedPeriodMs', DEFAULT_CADENCE.eventedPeriodMs),
    eventedThresholdMs: positive('eventedThresholdMs', DEFAULT_CADENCE.eventedThresholdMs),
    stretchedPeriodMs: positive('stretchedPeriodMs', DEFAULT_CADENCE.stretchedPeriodMs),
    longestStretchedPeriodMs: positive('longestStretchedPeriodMs', DEFAULT_CADENCE.longestStretchedPeriodMs),
    provenAfter: whole('provenAfter', DEFAULT_CADENCE.provenAfter),
    maxListShare: positive('maxListShare', DEFAULT_CADENCE.maxListShare),
  };
  if (cadence.maxListShare > 1) {
    throw new PodloopError('OPTION_INVALID', `maxListShare: ${cadence.maxListShare} is more than 1`);
  }
  if (cadence.relistThresholdMs <= cadence.relistPeriodMs) {
    throw new PodloopError(
      'OPTION_INVALID',
      `relistThresholdMs: ${cadence.relistThresholdMs} must be longer than relistPeriodMs, ${cadence.relistPeriodMs}`,
    );
  }
  return {
    runtime: options.runtime,
    cache: options.cache ?? new PodCache(),
    clock: options.clock ?? new SystemClock(),
    logger: options.logger ?? SILENT_LOGGER,
    channels: options.channels ?? new Channels(),
    cadence,
    inspectConcurrency: whole('inspectConcurrency', 16),
    inspectDeadlineMs: positive('inspectDeadlineMs', 120_000),
    inspectBudgetMs: positive('inspectBudgetMs', 1_000),
    listDeadlineMs: positive('listDeadlineMs', 120_000),
    believedAfter: whole('believedAfter', 8),
    queueCapacity: whole('queueCapacity', 1_000),
    random: options.random ?? Math.random,
    yieldToLoop: options.yieldToLoop,
  };
}
