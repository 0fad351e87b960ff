/**
 * The composition root of the demo: a node agent and an embedded runtime of its own, in a folder that goes away.
 *
 * ```
 * manifests ─► folder ─► agent ═ CRI ═► embedded runtime
 *                          └─► pods, events ─► whoever shows them
 * ```
 *
 * In: a folder of manifests. Out: the agent, to look at, and sentences about what is done. Everything lives in a
 * temporary folder; {@link Demo.play} stops the pods at its end, {@link Demo.close} removes runtime and folder. The
 * agent is the one of `podloop run`; only its delays between restarts are shorter, for people who watch.
 *
 * @module
 */
import { DisposalStack } from '#base/async/disposal-stack.js';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Readable } from 'node:stream';
import { type Pod } from '#kube/pod/pod.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import {
  Agent,
  EmbeddedRuntimeKeeper,
  type PodStatusRecord,
  resolveAgentOptions,
  RuntimeProcess,
} from '#node';
import { type Clock } from '#base/time/clock.js';
import { PodloopError } from '#base/errors/errors.js';
import { linkAbort } from '#base/async/linked-abort.js';
import { type Logger } from '#base/log/logger.js';
import { demoPodName, readDemoPods, STORY_ANNOTATION, toDemoManifest } from './demo-pods.js';
import { findHopeless, isStoryTold } from './demo-story.js';

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
  readonly logger: Logger;
  readonly stdin: Readable;
  /** Of this process: the runtime cleans up and ends when it is gone. */
  readonly pid: number;
  /** Ends by itself once all has been shown. */
  readonly once: boolean;
  readonly say: (sentence: string) => void;
}

/** What stands behind the names of the pods. */
const NODE_NAME = 'demo';
/** With `once`, all has been shown when besides nothing has happened for so long, in milliseconds. */
const QUIET_MS = 3_000;
/** So that a pod that keeps failing does something every few seconds. */
const MAX_RESTART_DELAY_MS = 10_000;
/** Pods are kept apart as well as this machine allows; its network is left as it is, and no pod stays. */
const RUNTIME_FLAGS = ['--isolation', 'auto', '--network', 'host', '--stop-pods'];
const LOOK_MS = 100;
/** What fails because the runtime is gone may be seen so long before its end is. */
const SURE_MS = 1_000;
/** By then, what failed because the runtime was gone has been tried again, in milliseconds since it was. */
const TRIED_AGAIN_MS = 30_000;

/** A running demo. */
export class Demo implements AsyncDisposable {
  readonly agent: Agent;
  readonly folder: string;
  readonly #options: DemoOptions;
  readonly #pods: readonly Pod[];
  readonly #runtime: RuntimeProcess;
  readonly #keeping = new AbortController();
  #keeper: Promise<void> = Promise.resolve();
  readonly #ends: DisposalStack;
  #closing: Promise<void> | undefined;

  /** Reads the manifests, then starts runtime and agent; leaves nothing behind when one of them fails. */
  static async start(options: DemoOptions, signal: AbortSignal): Promise<Demo> {
    const { temporaryFolder, podloopCommand, clock, logger, pid, stdin } = options;
    const contents = await readDemoPods(options.manifestFolder, NODE_NAME);
    const folder = await mkdtemp(join(temporaryFolder, 'podloop-demo-'));
    const runtime = new RuntimeProcess({
      ...{ podloopCommand, folder, clock },
      ...{ endsWith: { processId: pid }, flags: RUNTIME_FLAGS },
    });
    await using ends = new DisposalStack();
    ends.defer(() => rm(folder, { recursive: true, force: true }));
    ends.defer(() => runtime.stop());
    const podManifestPath = join(folder, 'manifests');
    await mkdir(podManifestPath);
    await writeFile(join(podManifestPath, 'pods.json'), toDemoManifest(contents, options.path));
    await runtime.start(signal);
    const agentOptions = resolveAgentOptions({
      ...{ podManifestPath, runtimeEndpoint: runtime.endpoint, nodeName: NODE_NAME },
      ...{ rootDir: join(folder, 'node'), podLogsDir: join(folder, 'logs') },
      ...{ maxContainerRestartPeriodMs: MAX_RESTART_DELAY_MS, stopPods: true },
      // Nobody looks for a demo at a port.
      readOnlyPort: 0,
      // A full disk is no reason to remove images here: they are this machine's files.
      imageGcHighThreshold: 100,
    });
    const agent = await Agent.start(agentOptions, { clock, logger, stdin, podloopCommand }, signal);
    return new Demo(options, contents.pods, folder, runtime, agent, ends.move());
  }

  private constructor(
    options: DemoOptions,
    pods: readonly Pod[],
    folder: string,
    runtime: RuntimeProcess,
    agent: Agent,
    ends: DisposalStack,
  ) {
    this.#options = options;
    this.#pods = pods;
    this.folder = folder;
    this.#runtime = runtime;
    this.agent = agent;
    this.#ends = ends;
    ends.defer(async () => {
      // Containers outlive a killed runtime, and only a runtime knows which processes belong to them.
      if (!runtime.isRunning) await runtime.start();
    });
    ends.defer(() => agent.close());
    ends.defer(() => this.#keeper);
  }

  /** What each pod shows, by the `namespace/name` that it has on the node. */
  get stories(): ReadonlyMap<string, string> {
    const told = this.#pods.flatMap((pod): (readonly [string, string])[] => {
      const story = pod.metadata.annotations?.[STORY_ANNOTATION];
      return story === undefined ? [] : [[`${demoPodName(pod)}-${NODE_NAME}`, story]];
    });
    return new Map(told);
  }

  /**
   * Keeps the pods running until the signal aborts, or with `once` until all has been shown; resolves once they are
   * stopped and removed. Rejects with POD_SYNC_FAILED, after that, when one of them can never run. Subscribe to the
   * agent before. {@link Demo.close} it afterwards.
   */
  async play(signal: AbortSignal): Promise<void> {
    const { say, clock, logger } = this.#options;
    this.#keeper = new EmbeddedRuntimeKeeper({ process: this.#runtime, clock, logger }).run(
      this.#keeping.signal,
    );
    for (const pod of this.#pods) {
      const story = pod.metadata.annotations?.[STORY_ANNOTATION];
      say(`starting pod ${demoPodName(pod)}${story === undefined ? '' : `: ${story}`}`);
    }
    const ending = linkAbort(signal);
    try {
      const running = this.agent.run(ending.signal);
      const watching = this.#untilShown(ending.signal).finally(() => {
        say('stopping and removing the pods');
        ending.abort();
      });
      const [ended, watched] = await Promise.allSettled([running.finally(() => ending.abort()), watching]);
      if (watched.status === 'rejected') throw watched.reason;
      if (ended.status === 'rejected') throw ended.reason;
    } finally {
      ending.unlink();
    }
  }

  /** Ends the runtime, which removes any pod that is left, and removes the folder. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    this.#keeping.abort();
    await this.#ends[Symbol.asyncDispose]();
    this.#options.say('nothing is left: no pods, no runtime, no files');
  }

  /** Resolves when the signal aborts, or with `once` when all has been shown. Rejects when a pod can never run. */
  async #untilShown(signal: AbortSignal): Promise<void> {
    const { clock, once } = this.#options;
    let seen = '';
    let changedMs = clock.monotonicMs();
    let { starts } = this.#runtime;
    let goneMs = -Infinity;
    let hopelessMs: number | undefined;
    for (;;) {
      await clock.sleep(LOOK_MS, signal).catch(() => undefined);
      if (signal.aborted) return;
      const records = this.agent.statuses();
      const nowMs = clock.monotonicMs();
      if (!this.#runtime.isRunning || this.#runtime.starts !== starts) goneMs = nowMs;
      starts = this.#runtime.starts;
      const hopeless = nowMs - goneMs < TRIED_AGAIN_MS ? undefined : sayHopeless(records);
      hopelessMs = hopeless === undefined ? undefined : (hopelessMs ?? nowMs);
      if (hopelessMs !== undefined && nowMs - hopelessMs >= SURE_MS) {
        throw new PodloopError('POD_SYNC_FAILED', hopeless!);
      }
      const versions = records.map(({ version }) => version).join();
      if (versions !== seen) changedMs = nowMs;
      seen = versions;
      const isTold =
        records.length === this.#pods.length && records.every(({ status }) => isStoryTold(status));
      if (once && isTold && nowMs - changedMs >= QUIET_MS) return;
    }
  }
}

/** The first pod that can never run, and why; undefined when all can. */
function sayHopeless(records: readonly PodStatusRecord[]): string | undefined {
  for (const { pod, status } of records) {
    const why = findHopeless(status);
    if (why !== undefined) return `pod ${formatPod(pod)} cannot run: ${why}`;
  }
  return undefined;
}
