/**
 * The composition root of the demo: an embedded runtime in a process of its own, an observer of it, and a driver that
 * lives example pods through.
 *
 * ```
 * manifests ─► driver ═ CRI ═► embedded runtime ═ CRI ═► observer ─► events ─┬─► whoever prints them
 *                 ▲                                                          │
 *                 └──────────────────── deaths ──────────────────────────────┘
 * ```
 *
 * In: a folder of manifests. Out: an {@link Observer}, and sentences about what is done. Everything lives in a
 * temporary folder; {@link Demo.close} removes pods, runtime and folder, in this order.
 *
 * @module
 */
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CriClient } from '../cri/index.js';
import { type Clock } from '../util/clock.js';
import { DemoDriver } from './demo-driver.js';
import { type DemoPod, readDemoPods, STORY_ANNOTATION } from './demo-pod.js';
import { Observer } from './observer.js';
import { RuntimeProcess } from './runtime-process.js';

/** What a {@link Demo} is made of. */
export interface DemoOptions {
  /** Where the manifests are. */
  readonly manifestFolder: string;
  /** Where its temporary folder is made. */
  readonly temporaryFolder: string;
  /** What starts podloop. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** PATH of the containers. */
  readonly path: string;
  readonly clock: Clock;
  /** Of this process: the runtime cleans up and ends when it is gone. */
  readonly pid: number;
  /** Ends by itself: containers start again twice at most. */
  readonly once: boolean;
  readonly say: (sentence: string) => void;
}

/** With `once`, the demo has been lived through when nothing has happened for so long, in milliseconds. */
const QUIET_MS = 3_000;
const RESTARTS_ONCE = 2;
/** What is shown needs no more than processes; the machine's network is left as it is, and no pod stays. */
const RUNTIME_FLAGS = ['--isolation', 'none', '--stop-pods'];
/** How long the events of the removal are waited for, in milliseconds. */
const LAST_EVENTS_MS = 5_000;

/** A running demo. */
export class Demo implements AsyncDisposable {
  readonly observer: Observer;
  readonly folder: string;
  readonly #options: DemoOptions;
  readonly #pods: readonly DemoPod[];
  readonly #runtime: RuntimeProcess;
  readonly #client: CriClient;
  readonly #driver: DemoDriver;
  readonly #observing = new AbortController();
  /** Uids of pods of which something is left in the runtime, by what events say. */
  readonly #present = new Set<string>();
  #lastEventMs: number;
  #tasks: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  /** Reads the manifests, then starts the runtime and looks at it; leaves nothing behind when one of them fails. */
  static async start(options: DemoOptions, signal: AbortSignal): Promise<Demo> {
    const { manifestFolder, temporaryFolder, podloopCommand, clock, pid } = options;
    const pods = await readDemoPods(manifestFolder);
    const folder = await mkdtemp(join(temporaryFolder, 'podloop-demo-'));
    const runtime = new RuntimeProcess({
      podloopCommand,
      folder,
      clock,
      parentPid: pid,
      flags: RUNTIME_FLAGS,
    });
    try {
      await runtime.start(signal);
      const observer = await Observer.connect(
        { runtimeEndpoint: runtime.endpoint, mode: 'auto' },
        {
          clock,
          onWarning: options.say,
          onRuntimeLost: (message) => options.say(`the runtime is gone: ${message}`),
          onRuntimeBack: () => options.say('the runtime is back'),
        },
        signal,
      );
      return new Demo(options, pods, folder, runtime, observer);
    } catch (error) {
      await runtime.stop();
      await rm(folder, { recursive: true, force: true });
      throw error;
    }
  }

  private constructor(
    options: DemoOptions,
    pods: readonly DemoPod[],
    folder: string,
    runtime: RuntimeProcess,
    observer: Observer,
  ) {
    const { clock, path, say, once } = options;
    this.#options = options;
    this.#pods = pods;
    this.folder = folder;
    this.#runtime = runtime;
    this.observer = observer;
    this.#lastEventMs = clock.monotonicMs();
    this.#client = new CriClient({ endpoint: runtime.endpoint, clock });
    this.#driver = new DemoDriver({
      client: this.#client,
      clock,
      logFolder: join(folder, 'logs'),
      path,
      say,
      ...(once ? { maxRestarts: RESTARTS_ONCE } : {}),
    });
  }

  /**
   * Starts the pods and keeps them going until the signal aborts, or with `once` until nothing happens any more.
   * Subscribe to the observer before. {@link Demo.close} it afterwards.
   */
  async play(signal: AbortSignal): Promise<void> {
    const { say, clock, once } = this.#options;
    await mkdir(join(this.folder, 'logs'), { recursive: true });
    this.#tasks = Promise.all([this.observer.run(this.#observing.signal), this.#followEvents()]);
    for (const pod of this.#pods) {
      if (signal.aborted) return;
      const story = pod.annotations[STORY_ANNOTATION];
      say(`starting pod ${pod.namespace}/${pod.name}${story === undefined ? '' : `: ${story}`}`);
      await this.#driver.startPod(pod);
    }
    while (!signal.aborted) {
      const quietMs = clock.monotonicMs() - this.#lastEventMs;
      if (once && !this.#driver.hasWork && quietMs >= QUIET_MS) return;
      await clock.sleep(100, signal).catch(() => undefined);
    }
  }

  /** Stops and removes the pods, waits for the events of that, ends the runtime, removes the folder. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const { clock, say } = this.#options;
    say('stopping and removing the pods');
    try {
      // Its containers outlive a runtime that was killed; only a runtime can tell which processes are theirs.
      if (!this.#runtime.isRunning) await this.#runtime.start();
      await this.#driver.removeAll();
      const untilMs = clock.monotonicMs() + LAST_EVENTS_MS;
      while (this.#present.size > 0 && clock.monotonicMs() < untilMs) await clock.sleep(50);
    } finally {
      this.#observing.abort();
      this.observer.close();
      this.#client.close();
      await this.#tasks;
      await this.#runtime.stop();
      await rm(this.folder, { recursive: true, force: true });
    }
    say('nothing is left: no pods, no runtime, no files');
  }

  async #followEvents(): Promise<void> {
    for await (const event of this.observer.subscribe()) {
      this.#lastEventMs = this.#options.clock.monotonicMs();
      // Whoever reads at once never meets folded events.
      if (!('containerId' in event)) continue;
      if (event.type === 'ContainerDied' && event.kind === 'container') this.#driver.onDeath(event);
      if (event.type === 'ContainerStarted') this.#present.add(event.pod.uid);
      if (event.type === 'ContainerRemoved' && event.kind === 'sandbox') this.#present.delete(event.pod.uid);
    }
  }
}
