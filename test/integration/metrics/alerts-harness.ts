/**
 * A running agent whose runtime is behind chaos, scraped into alerts, at a clock of its own that runs faster.
 *
 * One second of ours is {@link SPEED} seconds for Prometheus: scrapes, ranges and waits of the rules are as they stand
 * in the files, and what the pages tell in seconds is longer by as much. What the rules want to happen so often in a second
 * happens as often in one of Prometheus' seconds.
 *
 * @module
 */
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { ChaosNode } from '../chaos-node.js';
import { LocalApiClient } from '../local-api-client.js';
import { PodloopProcess } from '../podloop-process.js';
import { type Exposition, type ExposedSample, readExposition } from './exposition.js';
import { type AlertRule, AlertState, readAlerts } from './promql/alert-rules.js';
import { ScrapedSeries } from './promql/scraped-series.js';

/** How much faster. */
const SPEED = 60;
const SCRAPE_MS = 250;

/** Times of something under way: they are as much longer. */
const STRETCHED = /^(podloop_pleg_relist_in_progress|podloop_runtime_.*oldest.*)_seconds$/;
/** Points in time. */
const MOMENTS = /^(kubelet_pleg_last_seen|process_start_time)_seconds$/;
/** Upper ends of buckets of durations. */
const BUCKETS = /_seconds_bucket$/;
/** By how much those are longer: less, since this machine may have other things to do, and short ones are the rule. */
const LONGER = 20;
/** What rules count by the second. */
const FREQUENT = /^podloop_(pleg_inspection|pod_worker)_errors_total$/;
/** Pages, and the jobs that prometheus.yaml has for them. */
const JOBS = {
  '/metrics': 'podloop',
  '/metrics/resource': 'podloop-resource',
  '/metrics/probes': 'podloop-probes',
} as const;
type Page = keyof typeof JOBS;

/** What an agent runs over. */
export interface AlertsNode extends AsyncDisposable {
  readonly folder: string;
  readonly proxy: { readonly endpoint: string };
  replaceRules(text: string): void;
}

/** What {@link AlertsHarness} is started with. */
export interface AlertsHarnessOptions {
  readonly pods: number;
  readonly flags?: readonly string[];
}

/** See the module. */
export class AlertsHarness<Node extends AlertsNode = ChaosNode> implements AsyncDisposable {
  readonly node: Node;
  readonly series = new ScrapedSeries();
  /** Families of all pages so far, by name. */
  readonly families = new Set<string>();
  readonly #flags: readonly string[];
  readonly #pages: readonly Page[];
  readonly #api: LocalApiClient;
  readonly #states: ReadonlyMap<string, { readonly rule: AlertRule; readonly state: AlertState }>;
  readonly #startedAtMs = Date.now();
  readonly #ending = new AbortController();
  #firing: ReadonlySet<string> = new Set();
  #agent: PodloopProcess;
  #scraping: Promise<void>;

  private constructor(node: Node, flags: readonly string[], pages: readonly Page[]) {
    this.node = node;
    this.#pages = pages;
    this.#flags = flags;
    this.#api = new LocalApiClient(join(node.folder, 'node/podloop.sock'));
    const rules = readAlerts().map(
      (rule) => [rule.alert, { rule, state: new AlertState(rule, this.series) }] as const,
    );
    this.#states = new Map(rules);
    this.#agent = this.#startAgent();
    this.#scraping = this.#scrape();
  }

  static async start({ pods, flags = [] }: AlertsHarnessOptions): Promise<AlertsHarness> {
    // Such a runtime tells nothing of usage, and has nothing to probe.
    return AlertsHarness.over(await ChaosNode.start({ pods, containersPerPod: 1 }), flags, ['/metrics']);
  }

  static async over<Over extends AlertsNode>(
    node: Over,
    flags: readonly string[],
    pages: readonly Page[] = Object.keys(JOBS) as Page[],
  ): Promise<AlertsHarness<Over>> {
    await mkdir(join(node.folder, 'manifests'));
    return new AlertsHarness(node, flags, pages);
  }

  /** Now, for Prometheus. */
  get nowMs(): number {
    return this.#toVirtual(Date.now());
  }

  get firing(): ReadonlySet<string> {
    return this.#firing;
  }

  /** Kills the agent; {@link startAgain} starts the next one. */
  async killAgent(): Promise<void> {
    this.#agent.child.kill('SIGKILL');
    await this.#agent.ended;
  }

  /** Lets the agent stand still. */
  async stallAgent(ms: number): Promise<void> {
    this.#agent.child.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, ms));
    this.#agent.child.kill('SIGCONT');
  }

  startAgain(): void {
    this.#agent = this.#startAgent();
  }

  /** One more page, as it is now. */
  async addPage(path: string, series: ScrapedSeries): Promise<void> {
    const { code, text } = await this.#api.ask(path);
    if (code === 200) this.#add(series, readExposition(text));
    else throw new Error(`${path}: ${code} ${text}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#ending.abort();
    await this.#scraping;
    await this.#agent[Symbol.asyncDispose]();
    await this.node[Symbol.asyncDispose]();
  }

  #startAgent(): PodloopProcess {
    const { folder, proxy } = this.node;
    return new PodloopProcess([
      ...['run', join(folder, 'manifests'), '--root-dir', join(folder, 'node'), '--node-name', 'test'],
      ...['--pod-logs-dir', join(folder, 'logs'), '--runtime-endpoint', proxy.endpoint, ...this.#flags],
    ]);
  }

  async #scrape(): Promise<void> {
    while (!this.#ending.signal.aborted) {
      const read = await Promise.all(this.#pages.map(async (page) => this.#readPage(page)));
      for (const [at, page] of this.#pages.entries()) this.#add(this.series, read[at], JOBS[page]);
      const atMs = this.nowMs;
      this.#firing = new Set(
        [...this.#states].flatMap(([alert, { state }]) => (state.isFiring(atMs) ? [alert] : [])),
      );
      await new Promise((resolve) => setTimeout(resolve, SCRAPE_MS));
    }
  }

  /** Undefined when nobody answers. */
  async #readPage(path: string): Promise<Exposition | undefined> {
    const answer = await this.#api.ask(path).catch(() => undefined);
    return answer?.code === 200 ? readExposition(answer.text) : undefined;
  }

  #add(series: ScrapedSeries, page: Exposition | undefined, job?: string): void {
    for (const name of page?.types.keys() ?? []) this.families.add(name);
    const samples = page?.samples.map((sample) => this.#stretch(sample)) ?? [];
    series.add(this.nowMs, page && { ...page, samples }, job);
  }

  #stretch(sample: ExposedSample): ExposedSample {
    const { name, labels, value } = sample;
    if (STRETCHED.test(name) || FREQUENT.test(name)) return { ...sample, value: value * SPEED };
    if (MOMENTS.test(name)) return { ...sample, value: this.#toVirtual(value * 1000) / 1000 };
    const { le } = labels;
    if (!BUCKETS.test(name) || le === undefined || le === '+Inf') return sample;
    return { ...sample, labels: { ...labels, le: String(Number(le) * LONGER) } };
  }

  #toVirtual(realMs: number): number {
    return this.#startedAtMs + (realMs - this.#startedAtMs) * SPEED;
  }
}
