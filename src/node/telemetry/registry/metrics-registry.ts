/**
 * The metrics of one agent, and the page that Prometheus scrapes.
 *
 * In: events from the agent's channels (`listen`), and present values from functions that are called at each
 * scrape (`readGauge`, `readCounter`), so that a number about something that hangs keeps growing. Out:
 * Prometheus' text format 0.0.4, as the kubelet serves it; families in the order of their names.
 *
 * It assumes that label values come from small sets: values from outside pass through {@link BoundedValues}.
 *
 * A page may have thousands of series, above all of probes, so it is written in slices of some milliseconds.
 * The server makes sure that simultaneous scrapes share one page.
 *
 * Nothing in it is global: two agents in a process have two registries, and do not hear each other.
 *
 * Source: https://prometheus.io/docs/instrumenting/exposition_formats/
 *
 * @module
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import {
  Counter,
  Gauge,
  Histogram,
  type MetricObjectWithValues,
  type MetricValue,
  Registry,
} from 'prom-client';
import { type Channels, type PublishingChannel } from '#base/channels/publishing-channel.js';
import { type Clock } from '#base/time/clock.js';
import { writeLabels } from '#base/text/metrics-lines.js';
import { PageWriter, writeSample, type WrittenFamily } from './page-writer.js';
import { SeriesHistogram } from './series-histogram.js';

/** What every metric has. */
export interface MetricFacts<Label extends string = string> {
  readonly name: string;
  /** One sentence for people. */
  readonly help: string;
  readonly labels?: readonly Label[];
}

/** One number of a metric with labels. */
export interface Sample<Label extends string = string> {
  readonly labels: Readonly<Record<Label, string>>;
  readonly value: number;
}

type LabelsOf<Label extends string> = Readonly<Partial<Record<Label, string>>>;

/** The value of a metric that is read when scraped; undefined when there is none. */
export type Reading<Label extends string> = number | undefined | Iterable<Sample<Label>>;

/** What a {@link MetricsRegistry} needs. */
export interface MetricsRegistryOptions {
  readonly clock: Clock;
  /** The agent's: what is published elsewhere is not counted. */
  readonly channels: Channels;
  /** Lets the event loop turn once (default: setImmediate). */
  readonly yieldToLoop?: () => Promise<unknown>;
}

/** See the comment of this module. */
export class MetricsRegistry implements Disposable {
  readonly clock: Clock;
  readonly #channels: Channels;
  readonly #registry = new Registry();
  readonly #yieldToLoop: () => Promise<unknown>;
  readonly #leave: (() => void)[] = [];
  readonly #preparations: (() => Promise<void>)[] = [];
  readonly #failedReads: Counter<'metric'>;
  readonly #failedListeners: Counter<'channel'>;
  /** Families that prom-client does not write. */
  readonly #families: WrittenFamily[] = [];
  #scrapes = 0;

  constructor({ clock, channels, yieldToLoop = nextTurn }: MetricsRegistryOptions) {
    this.clock = clock;
    this.#channels = channels;
    this.#yieldToLoop = yieldToLoop;
    this.#failedReads = this.counter({
      name: 'podloop_metrics_read_errors_total',
      help: 'Numbers that could not be read when they were scraped, by metric.',
      labels: ['metric'],
    });
    this.#failedListeners = this.counter({
      name: 'podloop_metrics_listener_errors_total',
      help: 'Messages that made no sense to whoever counts them, by channel.',
      labels: ['channel'],
    });
  }

  /** Counts events. */
  counter<Label extends string>({ name, help, labels = [] }: MetricFacts<Label>): Counter<Label> {
    return new Counter({ name, help, labelNames: labels, registers: [this.#registry] });
  }

  /** A histogram of events; `buckets` in the metric's unit, without +Inf. */
  histogram<Label extends string>(
    { name, help, labels = [] }: MetricFacts<Label>,
    buckets: readonly number[],
  ): Histogram<Label> {
    return new Histogram({
      ...{ name, help, labelNames: labels },
      ...{ buckets: [...buckets], registers: [this.#registry] },
    });
  }

  /** The same for thousands of short-lived series, each to be removed with its subject. */
  seriesHistogram<Label extends string>(
    { name, help }: MetricFacts<Label>,
    buckets: readonly number[],
  ): SeriesHistogram<Label> {
    const histogram = new SeriesHistogram<Label>(name, buckets);
    this.#families.push({ name, help, type: 'histogram', pieces: () => histogram.pieces() });
    return histogram;
  }

  /** Calls `read` at each scrape. If `read` throws, only its metric is left out. */
  readGauge<Label extends string>(
    { name, help, labels = [] }: MetricFacts<Label>,
    read: () => Reading<Label>,
  ): void {
    const take = (gauge: Gauge<Label>): void => {
      gauge.reset();
      // Without labels this sets it to 0, which is not the same as unknown.
      gauge.remove({} as LabelsOf<Label>);
      this.#take(name, read, (labelled, value) => gauge.set(labelled, value));
    };
    const collect = function (this: Gauge<Label>): void {
      take(this);
    };
    new Gauge({ name, help, labelNames: labels, registers: [this.#registry], collect });
  }

  /** The same for a number that only ever grows, and that is counted elsewhere. */
  readCounter<Label extends string>(
    { name, help, labels = [] }: MetricFacts<Label>,
    read: () => Reading<Label>,
  ): void {
    const take = (counter: Counter<Label>): void => {
      counter.reset();
      counter.remove({} as LabelsOf<Label>);
      this.#take(name, read, (labelled, value) => counter.inc(labelled, value));
    };
    const collect = function (this: Counter<Label>): void {
      take(this);
    };
    new Counter({ name, help, labelNames: labels, registers: [this.#registry], collect });
  }

  /** Returns a function that calls `read` once per scrape, for numbers that are read together. */
  oncePerScrape<T>(read: () => T): () => T {
    let known: { readonly scrape: number; readonly value: T } | undefined;
    return () => {
      if (known?.scrape !== this.#scrapes) known = { scrape: this.#scrapes, value: read() };
      return known.value;
    };
  }

  /** Awaits `prepare` before each scrape, for asynchronous readings. A rejection is ignored. */
  beforeScrape(prepare: () => Promise<void>): void {
    this.#preparations.push(prepare);
  }

  /** Subscribes to a channel until the registry is disposed. Errors of `listener` are counted and caught. */
  listen<Message>(channel: PublishingChannel<Message>, listener: (message: Message) => void): void {
    const guarded = (message: Message): void => {
      try {
        listener(message);
      } catch {
        // Uncaught, it would end the agent because of a number.
        this.#failedListeners.inc({ channel: channel.name });
      }
    };
    this.#leave.push(this.#channels.subscribe(channel, guarded));
  }

  /** Calls `leave` when the registry is disposed. */
  onDispose(leave: () => void): void {
    this.#leave.push(leave);
  }

  /** The present page, encoded, in pieces. Rejects with the signal's reason. */
  async page(signal?: AbortSignal): Promise<readonly Uint8Array[]> {
    signal?.throwIfAborted();
    await Promise.allSettled(this.#preparations.map((prepare) => prepare()));
    signal?.throwIfAborted();
    this.#scrapes++;
    const families = [
      ...this.#registry.getMetricsAsArray().map(({ name }) => this.#familyOf(name)),
      ...this.#families,
    ];
    const writer = new PageWriter({ clock: this.clock, yieldToLoop: this.#yieldToLoop });
    for (const family of families.sort(byName)) await writer.write(family, signal);
    return writer.end();
  }

  /** The same as one text, for small pages. */
  async text(signal?: AbortSignal): Promise<string> {
    return Buffer.concat(await this.page(signal)).toString();
  }

  /** Ends all subscriptions. Idempotent. */
  [Symbol.dispose](): void {
    for (const leave of this.#leave.splice(0)) leave();
  }

  #familyOf(name: string): WrittenFamily {
    const metric = this.#registry.getSingleMetric(name)!;
    const { help, type } = metric as unknown as { readonly help: string; readonly type: string };
    return { name, help, type, pieces: async () => linesOf(await metric.get()) };
  }

  #take<Label extends string>(
    metric: string,
    read: () => Reading<Label>,
    put: (labels: LabelsOf<Label>, value: number) => void,
  ): void {
    try {
      const reading = read();
      if (reading === undefined) return;
      if (typeof reading === 'number') put({} as LabelsOf<Label>, reading);
      else for (const { labels, value } of reading) put(labels, value);
    } catch {
      this.#failedReads.inc({ metric });
    }
  }
}

function* linesOf({ name, values }: MetricObjectWithValues<MetricValue<string>>): Iterable<string> {
  for (const { labels, value, ...more } of values) {
    const { metricName = name } = more as { readonly metricName?: string };
    yield writeSample(metricName, writeLabels(labels), value);
  }
}

function byName(one: WrittenFamily, other: WrittenFamily): number {
  return one.name < other.name ? -1 : 1;
}
