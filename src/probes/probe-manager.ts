/**
 * Probes the containers of pods and says what came out.
 *
 * In: pods, from `addPod` to `removePod`, and what was observed of their containers. Out: results, and for each
 * container whether it is ready, has started, has to be replaced. It assumes that a timeout says something about the
 * container; where our own event loop stood still meanwhile it does not, and such a probe counts neither way.
 *
 * @module
 */
import { type NodePod } from '../model/node-pod.js';
import { type Clock } from '../util/clock.js';
import { type Logger, SILENT_LOGGER } from '../util/logger.js';
import { LoopStallMonitor } from './loop-stall-monitor.js';
import { ProbeJudge, type RunProbe } from './probe-judge.js';
import { type ProbeMemory } from './probe-memory.js';
import { type ProbeResult, type ProbeType, titleOf } from './probe-result.js';
import { ProbeResults } from './probe-results.js';
import { ProbeSlots } from './probe-slots.js';
import { probeKey, probeSubjects } from './probe-subjects.js';
import { type ProbeTargets } from './probe-targets.js';
import { type ProbeSubject, ProbeWorker } from './probe-worker.js';

/** What {@link ProbeManager} needs. */
export interface ProbeManagerOptions {
  readonly clock: Clock;
  readonly targets: ProbeTargets;
  /** Runs one probe; see {@link probeRunner}. */
  readonly runProbe: RunProbe;
  /** Nothing is remembered without. */
  readonly memory?: ProbeMemory;
  readonly logger?: Logger;
  /** How many probes are in flight at once; see {@link ProbeSlots}. */
  readonly concurrency?: number;
  /** A number in [0, 1); Math.random unless told. */
  readonly random?: () => number;
}

/** Why a container has to be replaced. */
export interface ProbeFailure {
  readonly type: 'liveness' | 'startup';
  readonly message: string;
  readonly terminationGracePeriodSeconds?: number;
}

/** What the manager has been through, for metrics. */
export interface ProbeManagerStats {
  readonly workers: number;
  readonly inFlight: number;
  /** Probes that are due and wait for their turn. */
  readonly waiting: number;
  /** Outcomes that did not count because our own event loop stood still. */
  readonly voided: number;
}

interface Found {
  ready?: boolean;
  started?: boolean;
  failure?: ProbeFailure;
}

interface Handle {
  readonly worker: ProbeWorker;
  readonly abort: AbortController;
}

interface ProbedPod {
  pod: NodePod;
  /** Liveness and startup no longer matter. */
  isEnding: boolean;
  /** By container and type; those that ended by themselves included. */
  readonly workers: Map<string, Handle>;
  /** By container id. */
  readonly found: Map<string, Found>;
}

/** At an agent's start first probes are spread over their period, and over no more than this. */
const LONGEST_SPREAD_MS = 10_000;

/** See the module. Every method returns at once. */
export class ProbeManager implements AsyncDisposable {
  readonly #options: ProbeManagerOptions;
  readonly #logger: Logger;
  readonly #slots: ProbeSlots;
  readonly #judge: ProbeJudge;
  readonly #pods = new Map<string, ProbedPod>();
  readonly #podOfContainer = new Map<string, ProbedPod>();
  readonly #subscriptions = new Set<ProbeResults>();
  readonly #running = new Set<Promise<void>>();
  readonly #startedAtMs: number;
  readonly #startedMs: number;
  #closed = false;

  constructor(options: ProbeManagerOptions) {
    const { clock, logger = SILENT_LOGGER, runProbe, concurrency } = options;
    this.#options = options;
    this.#logger = logger;
    this.#slots = new ProbeSlots({ clock, ...(concurrency === undefined ? {} : { limit: concurrency }) });
    const stalls = new LoopStallMonitor({ clock });
    this.#judge = new ProbeJudge({ clock, logger, slots: this.#slots, stalls, runProbe });
    this.#startedAtMs = clock.now();
    this.#startedMs = clock.monotonicMs();
  }

  /** Counters as of now. */
  get stats(): ProbeManagerStats {
    const { inFlight, waiting } = this.#slots;
    return { workers: this.#running.size, inFlight, waiting, voided: this.#judge.voided };
  }

  /** Results from now on, for one reader. Close it when you are done. */
  subscribe(): ProbeResults {
    const results = new ProbeResults({
      clock: this.#options.clock,
      onClose: (closed) => this.#subscriptions.delete(closed),
    });
    this.#subscriptions.add(results);
    return results;
  }

  /** Starts the probes of a pod that do not run, takes up changes of those that do, ends those that it no longer has. */
  addPod(pod: NodePod): void {
    if (this.#closed) return;
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (known?.pod === pod) return;
    const probed: ProbedPod = known ?? { pod, isEnding: false, workers: new Map(), found: new Map() };
    probed.pod = pod;
    this.#pods.set(uid, probed);
    const subjects = probeSubjects(pod);
    for (const [key, handle] of probed.workers) {
      if (!subjects.has(key)) this.#dropWorker(probed, key, handle);
    }
    for (const [key, subject] of subjects) {
      const handle = probed.workers.get(key);
      if (handle !== undefined) handle.worker.update(subject);
      else if (!probed.isEnding || subject.type === 'readiness') this.#startWorker(probed, key, subject);
    }
  }

  /** The pod is ending: only readiness still matters. Holds until {@link removePod}. */
  stopLivenessAndStartup(podUid: string): void {
    const probed = this.#pods.get(podUid);
    if (probed === undefined) return;
    probed.isEnding = true;
    for (const { worker, abort } of probed.workers.values()) {
      if (worker.subject.type !== 'readiness') abort.abort();
    }
  }

  /** Ends the probes of a pod and forgets what they found, for good. */
  removePod(podUid: string): void {
    const probed = this.#pods.get(podUid);
    this.#options.memory?.forgetPod(podUid);
    if (probed === undefined) return;
    this.#pods.delete(podUid);
    for (const { abort } of probed.workers.values()) abort.abort();
    for (const containerId of probed.found.keys()) this.#podOfContainer.delete(containerId);
  }

  /** Removes every pod that is not desired, remembered ones included. Call it once all sources of pods were seen. */
  cleanUp(desiredUids: ReadonlySet<string>): void {
    for (const uid of [...this.#pods.keys(), ...(this.#options.memory?.pods() ?? [])]) {
      if (!desiredUids.has(uid)) this.removePod(uid);
    }
  }

  /**
   * Something of the pod was observed anew: takes note of containers that are new, or no longer run, before it
   * returns. Without it that takes until the next look, a second or a period.
   */
  podChanged(podUid: string): void {
    for (const { worker, abort } of this.#pods.get(podUid)?.workers.values() ?? []) {
      if (!abort.signal.aborted) worker.look();
    }
  }

  /**
   * Whether its readiness probe says that a container is ready; false until it has, as long as the container has not
   * started, and as soon as it no longer runs.
   * Undefined when no readiness probe of it is known.
   */
  readiness(containerId: string): boolean | undefined {
    const found = this.#podOfContainer.get(containerId)?.found.get(containerId);
    return found?.ready === true && found.started === false ? false : found?.ready;
  }

  /** Whether its startup probe has succeeded. Undefined when no startup probe of it is known. */
  started(containerId: string): boolean | undefined {
    return this.#podOfContainer.get(containerId)?.found.get(containerId)?.started;
  }

  /** Why a container has to be replaced; undefined when it has not. Holds as long as the container is the newest. */
  failure(containerId: string): ProbeFailure | undefined {
    return this.#podOfContainer.get(containerId)?.found.get(containerId)?.failure;
  }

  /** Whether {@link failure} is that of the liveness probe. */
  hasFailedLiveness(containerId: string): boolean {
    return this.failure(containerId)?.type === 'liveness';
  }

  /** Whether {@link failure} is that of the startup probe. */
  hasFailedStartup(containerId: string): boolean {
    return this.failure(containerId)?.type === 'startup';
  }

  /** Whether the startup probe has succeeded; false where none is known. */
  hasStarted(containerId: string): boolean {
    return this.started(containerId) === true;
  }

  /** Ends all probes and subscriptions. What was found stays remembered. Idempotent. */
  async close(): Promise<void> {
    this.#closed = true;
    for (const { workers } of this.#pods.values()) for (const { abort } of workers.values()) abort.abort();
    for (const results of [...this.#subscriptions]) results.close();
    await Promise.all(this.#running);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #startWorker(probed: ProbedPod, key: string, subject: ProbeSubject): void {
    const { clock, targets } = this.#options;
    const { type, container } = subject;
    const worker: ProbeWorker = new ProbeWorker({
      subject,
      clock,
      targets,
      isStarted: (containerId) =>
        !probed.workers.has(probeKey(container.name, 'startup')) ||
        probed.found.get(containerId)?.started === true,
      run: (begin, signal) => this.#judge.run(begin, subject.pod.uid, signal),
      spreadMs: (startedAtMs, periodMs) => this.#spreadMs(startedAtMs, periodMs),
      onContainer: (containerId, replaces) => this.#takeUp(probed, type, containerId, replaces),
      onVerdict: (containerId, verdict, outcome) =>
        this.#settle(probed, worker.subject, containerId, verdict, outcome?.message),
    });
    const abort = new AbortController();
    probed.workers.set(key, { worker, abort });
    const running = worker
      .run(abort.signal)
      .catch((error: unknown) => {
        this.#logger.error('Probe worker ended, this is a fault in podloop', error, {
          podUID: subject.pod.uid,
        });
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #dropWorker(probed: ProbedPod, key: string, { worker, abort }: Handle): void {
    abort.abort();
    probed.workers.delete(key);
    const found = probed.found.get(worker.containerId ?? '');
    if (found === undefined) return;
    if (worker.subject.type === 'readiness') delete found.ready;
    else if (worker.subject.type === 'startup') delete found.started;
    if (found.failure?.type === worker.subject.type) delete found.failure;
  }

  /** Only what ran before we did begins all at once; a container that starts now is probed when it is due. */
  #spreadMs(startedAtMs: number, periodMs: number): number {
    const { clock, random = Math.random } = this.#options;
    if (startedAtMs >= this.#startedAtMs || clock.monotonicMs() - this.#startedMs >= periodMs) return 0;
    return random() * Math.min(periodMs, LONGEST_SPREAD_MS);
  }

  #takeUp(
    probed: ProbedPod,
    type: ProbeType,
    containerId: string,
    replaces: string | undefined,
  ): boolean | undefined {
    const { memory } = this.#options;
    const podUid = probed.pod.metadata.uid;
    if (replaces !== undefined) {
      probed.found.delete(replaces);
      this.#podOfContainer.delete(replaces);
      memory?.forget(podUid, replaces);
    }
    let found = probed.found.get(containerId);
    if (found === undefined) probed.found.set(containerId, (found = {}));
    this.#podOfContainer.set(containerId, probed);
    const remembered = memory?.recall(podUid, containerId);
    if (type === 'readiness') found.ready = remembered?.ready ?? false;
    else if (type === 'startup') found.started = remembered?.started ?? false;
    return type === 'readiness' ? found.ready : found.started;
  }

  #settle(
    probed: ProbedPod,
    { type, container, pod, probe }: ProbeSubject,
    containerId: string,
    result: 'success' | 'failure',
    output: string | undefined,
  ): void {
    const found = probed.found.get(containerId);
    // A pod that was removed has nothing more to say.
    if (found === undefined || this.#pods.get(pod.uid) !== probed) return;
    const isGood = result === 'success';
    const message = isGood || output === undefined ? '' : `${titleOf(type)} probe failed: ${output}`;
    const grace = isGood ? undefined : probe.terminationGracePeriodSeconds;
    const withGrace = grace === undefined ? {} : { terminationGracePeriodSeconds: grace };
    if (type === 'readiness') {
      if (found.ready === isGood) return;
      found.ready = isGood;
      this.#options.memory?.remember(pod.uid, containerId, { ready: isGood });
    } else {
      if (type === 'liveness' && isGood) return;
      if (type === 'startup') this.#settleStartup(probed, found, pod.uid, containerId, isGood);
      if (!isGood) found.failure = { type, message, ...withGrace };
    }
    const { name: containerName } = container;
    this.#hand({ podUid: pod.uid, containerId, containerName, type, result, message, ...withGrace });
  }

  #settleStartup(
    probed: ProbedPod,
    found: Found,
    podUid: string,
    containerId: string,
    hasStarted: boolean,
  ): void {
    found.started = hasStarted;
    if (!hasStarted) return;
    this.#options.memory?.remember(podUid, containerId, { started: true });
    // Liveness and readiness have waited for this.
    for (const { worker } of probed.workers.values()) worker.look();
  }

  #hand(result: ProbeResult): void {
    for (const results of this.#subscriptions) results.push(result);
  }
}
