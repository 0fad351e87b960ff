/**
 * The composition root of the read-only side: it builds the parts in the order in which data flows.
 *
 * ```
 * endpoint ─► CRI client ─► runtime ─► event generator ─► subscribers
 * ```
 *
 * In: options (see {@link OBSERVER_OPTIONS}), a clock and a logger. Out: events, and health. Start-up goes
 * from left to right and fails before anything is printed when the runtime cannot be used. Shutdown goes from
 * right to left, so that no part is called after it is closed. It starts, stops and removes nothing in the
 * runtime.
 *
 * @module
 */
import { type Channels } from '#base/channels/publishing-channel.js';
import {
  CriClient,
  CriRuntime,
  findEndpoint,
  parseEndpoint,
  Pleg,
  type PlegHealth,
  type PodStatus,
  PlegReporter,
  probeEndpoint,
  type Runtime,
  type Subscription,
} from '#watch';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type CriCall } from '#base/channels/channels.js';
import { type Clock, SystemClock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { ObservedRuntime } from './observed-runtime.js';
import { type ObserverOptions, resolveObserverOptions } from './options/options.js';

export { type ContainerLifecycleEvent, type PodLifecycleEvent } from '#watch';

/** What an {@link Observer} gets besides its options. */
export interface ObserverPorts {
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** The runtime does not answer any more; called once. It is retried forever. */
  readonly onRuntimeLost?: (message: string) => void;
  readonly onRuntimeBack?: () => void;
  /** Something that people should know about the runtime or the mode: one sentence each. */
  readonly onWarning?: (message: string) => void;
}

/** The observed runtime, and whatever has to be closed after it. */
export interface ObservedEndpoint {
  readonly runtime: Runtime;
  /** For messages. */
  readonly url: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  /** Where its client publishes its calls (default: nobody hears of them). */
  readonly channels?: Channels;
  /** Calls without an answer yet (default: unknown). */
  readonly callsInFlight?: () => readonly CriCall[];
  readonly close: () => void;
}

/** Sees every change of every pod of one runtime. */
export class Observer implements AsyncDisposable {
  readonly endpoint: string;
  readonly runtimeName: string;
  readonly runtimeVersion: string;
  readonly #target: ObservedEndpoint;
  readonly #clock: Clock;
  readonly #pleg: Pleg;
  #warnings: readonly string[];
  #closed = false;
  readonly #onWarning: (message: string) => void;

  /**
   * Connects to the runtime that the options name, or to the one that is found.
   *
   * Rejects with an ENDPOINT_… error when there is none, when access is denied, or when it does not speak CRI
   * v1.
   */
  static async connect(
    options: Partial<ObserverOptions> = {},
    ports: ObserverPorts = {},
    signal?: AbortSignal,
  ): Promise<Observer> {
    const resolved = resolveObserverOptions(options);
    const { clock = new SystemClock(), logger = SILENT_LOGGER } = ports;
    const { url } =
      resolved.runtimeEndpoint === '' ? await findEndpoint() : parseEndpoint(resolved.runtimeEndpoint);
    const { runtimeName, runtimeVersion } = await probeEndpoint(url, { signal, clock });
    const client = new CriClient({ endpoint: url, clock, logger });
    const runtime = new CriRuntime({ client, clock, logger });
    const close = (): void => client.close();
    const { channels } = client;
    const callsInFlight = (): readonly CriCall[] => client.callsInFlight();
    const target = { runtime, url, runtimeName, runtimeVersion, channels, callsInFlight, close };
    return new Observer(target, resolved, ports);
  }

  /** For an existing runtime; {@link Observer.connect} is the usual way. */
  constructor(target: ObservedEndpoint, options: ObserverOptions, ports: ObserverPorts = {}) {
    const { clock = new SystemClock(), logger = SILENT_LOGGER } = ports;
    this.#target = target;
    this.#clock = clock;
    this.endpoint = target.url;
    this.runtimeName = target.runtimeName;
    this.runtimeVersion = target.runtimeVersion;
    this.#onWarning = ports.onWarning ?? (() => undefined);
    this.#warnings = warningsOf(target, options);
    const { mode, relistPeriodMs, relistThresholdMs, inspectConcurrency, inspectDeadlineMs, queueCapacity } =
      options;
    const runtime = new ObservedRuntime({
      runtime: target.runtime,
      clock,
      onLost: ports.onRuntimeLost ?? (() => undefined),
      onBack: ports.onRuntimeBack ?? (() => undefined),
      onNoEvents: () => this.#onWarning(`${this.#name} has no container events; falling back to polling`),
    });
    this.#pleg = new Pleg({
      runtime,
      ...(target.channels && { channels: target.channels }),
      clock,
      logger,
      mode,
      relistPeriodMs,
      relistThresholdMs,
      inspectConcurrency,
      inspectDeadlineMs,
      queueCapacity,
    });
  }

  /** A new reader of events from now on. It ends when the observer is closed; at once if it already is. */
  subscribe(): Subscription {
    const subscription = this.#pleg.subscribe();
    if (this.#closed) subscription.close();
    return subscription;
  }

  /** The present health of the event generator and the runtime. */
  health(): PlegHealth {
    return this.#pleg.health();
  }

  /** The pods of the runtime in the last full list. */
  pods(): PodRef[] {
    const { cache } = this.#pleg;
    return [...cache.uids()].map((uid) => {
      const { namespace, name } = cache.getLastKnown(uid);
      return { uid, namespace, name };
    });
  }

  /** The pods of the runtime as they were last inspected. */
  statuses(): PodStatus[] {
    const { cache } = this.#pleg;
    return [...cache.uids()].map((uid) => cache.getLastKnown(uid));
  }

  /** Starts to count for a progress report, which can be read again and again. Dispose of it when done. */
  startReport(): PlegReporter {
    const { runtimeName: name, runtimeVersion: version, url: endpoint, callsInFlight } = this.#target;
    return new PlegReporter({
      ...{
        clock: this.#clock,
        channels: this.#pleg.channels,
        pleg: this.#pleg,
        runtime: { name, version, endpoint },
      },
      uids: () => this.#pleg.cache.uids(),
      callsInFlight: callsInFlight ?? (() => []),
    });
  }

  /** Observes until the signal aborts; then resolves. Waits for a runtime that goes away. */
  async run(signal: AbortSignal): Promise<void> {
    for (const warning of this.#warnings) this.#onWarning(warning);
    this.#warnings = [];
    await this.#pleg.run(signal);
  }

  /** Ends all subscriptions and closes the connection. Abort the signal of {@link Observer.run} first. */
  close(): void {
    this.#closed = true;
    this.#pleg.closeSubscriptions();
    this.#target.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.close();
    await Promise.resolve();
  }

  get #name(): string {
    return `${this.runtimeName} ${this.runtimeVersion}`;
  }
}

function warningsOf({ runtimeName, runtimeVersion }: ObservedEndpoint, { mode }: ObserverOptions): string[] {
  if (mode === 'generic' || runtimeName !== 'containerd' || !/^v?1\.7\./.test(runtimeVersion)) return [];
  return [
    `${runtimeName} ${runtimeVersion} gives each container event to one reader only: what podloop reads in mode ${mode} ` +
      'is lost to a kubelet that reads events; use mode generic beside one',
  ];
}

export type { PlegHealth, PodStatus };
