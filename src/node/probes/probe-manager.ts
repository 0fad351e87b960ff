/**
 * Probes the containers of pods and publishes the results.
 *
 * In: pods, from `addPod` to `removePod`, and the observed state of their containers. Out: results, and for
 * each container whether it is ready, has started, or has to be replaced. It assumes that a timeout says
 * something about the container. If this process was stalled meanwhile, that is not so, and such a probe
 * counts neither way.
 *
 * @module
 */
import { type NodePod } from '#kube/pod/node-pod.js';
import { FairLine } from '#base/async/slot-line.js';
import { Slots } from '#base/async/slots.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { probeNotRun } from '#base/channels/probe-channels.js';
import { LoopStallMonitor } from './loop-stall-monitor.js';
import { type ProbeFailure, ProbeFindings } from './probe-findings.js';
import { ProbeJudge, type RunProbe } from './probe-judge.js';
import { type ProbeMemory } from './probe-memory.js';
import { type ProbeResult, type ProbeType } from './probe-result.js';
import { ProbeResults } from './probe-results.js';
import { type ProbeTargets } from './probe-targets.js';
import { type ProbeSubject, ProbeWorker } from './probe-worker.js';
import { type Container } from '#kube/container/container.js';
import { mayRestartAll, restartRuleOf, runsOnce, sidecarsOf } from '#kube/container/restart-rule.js';

/** Options of {@link ProbeManager}. */
export interface ProbeManagerOptions extends Publisher {
  readonly clock: Clock;
  readonly targets: ProbeTargets;
  /** Runs one probe; see {@link probeRunner}. */
  readonly runProbe: RunProbe;
  /** Without it, nothing is remembered. */
  readonly memory?: ProbeMemory;
  readonly logger?: Logger;
  /** Maximum number of probes in flight, besides slow ones (default: 64). */
  readonly concurrency?: number;
  /** A number in [0, 1) (default: Math.random). */
  readonly random?: () => number;
}

/** Counters of the manager, for metrics. */
export interface ProbeManagerStats {
  readonly workers: number;
  readonly inFlight: number;
  /** Due probes that wait for their turn. */
  readonly waiting: number;
  /** Outcomes that did not count because this process was stalled. */
  readonly voided: number;
  /** Commands that the runtime left unanswered while it answered other calls. */
  readonly unanswered: number;
  /** Probes that were skipped, as too many of their commands were unanswered. */
  readonly heldBack: number;
}

interface Handle {
  readonly worker: ProbeWorker;
  readonly abort: AbortController;
  isRunning: boolean;
}

interface ProbedPod {
  pod: NodePod;
  /** Liveness and startup no longer matter. */
  isEnding: boolean;
  /** By container and type, including those that ended by themselves. */
  readonly workers: Map<string, Handle>;
}

const AT_ONCE = 64;
/** A probe that takes longer does not block those of other containers. */
const SLOW_AFTER_MS = 1_000;
const MAX_SLOW = 256;
/** At an agent's start, first probes are spread over their period, but over no more than this. */
const MAX_SPREAD_MS = 10_000;

/** See the module. Every method returns at once. */
export class ProbeManager implements AsyncDisposable {
  readonly #options: ProbeManagerOptions;
  readonly #logger: Logger;
  readonly #slots: Slots<string>;
  readonly #judge: ProbeJudge;
  readonly #pods = new Map<string, ProbedPod>();
  readonly #findings: ProbeFindings;
  readonly #subscriptions = new Set<ProbeResults>();
  readonly #running = new Set<Promise<void>>();
  readonly #startedAtMs: number;
  readonly #startedMs: number;
  #closed = false;

  constructor(options: ProbeManagerOptions) {
    const { clock, logger = SILENT_LOGGER, runProbe, concurrency = AT_ONCE } = options;
    this.#options = options;
    this.#logger = logger;
    // Each pod gets its turn, however many probes it has.
    this.#slots = new Slots({
      ...{ limit: concurrency, line: new FairLine<string>() },
      leave: { clock, afterMs: SLOW_AFTER_MS, maxOutside: MAX_SLOW },
    });
    const stalls = new LoopStallMonitor({ clock });
    this.#judge = new ProbeJudge({
      clock,
      logger,
      channels: options.channels,
      slots: this.#slots,
      stalls,
      runProbe,
    });
    this.#findings = new ProbeFindings({ memory: options.memory });
    this.#startedAtMs = clock.now();
    this.#startedMs = clock.monotonicMs();
  }

  /** Counters as of now. */
  get stats(): ProbeManagerStats {
    const { inside, outside, waiting } = this.#slots.facts;
    const inFlight = inside + outside;
    const { voided, unanswered, heldBack } = this.#judge;
    return { workers: this.#running.size, inFlight, waiting, voided, unanswered, heldBack };
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

  /** Starts new probes of a pod, applies changes to running ones, and ends removed ones. */
  addPod(pod: NodePod): void {
    if (this.#closed) return;
    const { uid } = pod.metadata;
    const known = this.#pods.get(uid);
    if (known?.pod === pod) return;
    const probed: ProbedPod = known ?? { pod, isEnding: false, workers: new Map() };
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

  /** The pod is ending: only readiness still matters. Lasts until {@link removePod}. */
  stopLivenessAndStartup(podUid: string): void {
    const probed = this.#pods.get(podUid);
    if (probed === undefined) return;
    probed.isEnding = true;
    for (const { worker, abort } of probed.workers.values()) {
      if (worker.subject.type !== 'readiness') abort.abort();
    }
  }

  /** Ends the probes of a pod and forgets their findings for good. */
  removePod(podUid: string): void {
    this.#findings.forgetPod(podUid);
    const probed = this.#pods.get(podUid);
    this.#pods.delete(podUid);
    for (const { abort } of probed?.workers.values() ?? []) abort.abort();
  }

  /** Removes every pod that is not desired, including remembered ones. Call it once all sources were read. */
  cleanUp(desiredUids: ReadonlySet<string>): void {
    for (const uid of [...this.#pods.keys(), ...this.#findings.rememberedPods()]) {
      if (!desiredUids.has(uid)) this.removePod(uid);
    }
  }

  /**
   * Checks at once, after a new view of the pod, for containers that are new or no longer run.
   *
   * Without this call, the next check comes after a second or a period.
   */
  podChanged(podUid: string): void {
    for (const handle of this.#pods.get(podUid)?.workers.values() ?? []) {
      if (handle.abort.signal.aborted) continue;
      handle.worker.look();
      // An edit starts a container once more that had ended for good.
      if (!handle.isRunning && !handle.worker.isOver) this.#run(handle);
    }
  }

  /** See {@link ProbeFindings.readiness}. */
  readiness(containerId: string): boolean | undefined {
    return this.#findings.readiness(containerId);
  }

  /** See {@link ProbeFindings.started}. */
  started(containerId: string): boolean | undefined {
    return this.#findings.started(containerId);
  }

  /** See {@link ProbeFindings.failure}. */
  failure(containerId: string): ProbeFailure | undefined {
    return this.#findings.failure(containerId);
  }

  /** Whether {@link failure} is that of the liveness probe. */
  hasFailedLiveness(containerId: string): boolean {
    return this.failure(containerId)?.type === 'liveness';
  }

  /** Whether {@link failure} is that of the startup probe. */
  hasFailedStartup(containerId: string): boolean {
    return this.failure(containerId)?.type === 'startup';
  }

  /** Whether the startup probe has succeeded; false without a known one. */
  hasStarted(containerId: string): boolean {
    return this.started(containerId) === true;
  }

  /** Ends all probes and subscriptions. Findings stay remembered. Idempotent. */
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
        !probed.workers.has(probeKey(container.name, 'startup')) || this.started(containerId) === true,
      run: (begin, signal) => this.#judge.run(begin, subject.pod.uid, signal),
      spreadMs: (startedAtMs, periodMs) => this.#spreadMs(startedAtMs, periodMs),
      onContainer: (containerId, replaces) =>
        this.#findings.takeUp(subject.pod.uid, type, containerId, replaces),
      onVerdict: (containerId, verdict, outcome) =>
        this.#settle(probed, worker.subject, containerId, verdict, outcome?.message),
      onNotRun: (containerId, times, message) =>
        publishNotRun(this.#options, worker.subject, containerId, times, message),
    });
    const handle: Handle = { worker, abort: new AbortController(), isRunning: false };
    probed.workers.set(key, handle);
    this.#run(handle);
  }

  #run(handle: Handle): void {
    const { worker, abort } = handle;
    handle.isRunning = true;
    const running = worker
      .run(abort.signal)
      .catch((error: unknown) => {
        this.#logger.error('Probe worker ended, this is a fault in podloop', error, {
          podUID: worker.subject.pod.uid,
        });
      })
      .finally(() => {
        handle.isRunning = false;
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  #dropWorker(probed: ProbedPod, key: string, { worker, abort }: Handle): void {
    abort.abort();
    probed.workers.delete(key);
    this.#findings.drop(worker.subject.type, worker.containerId ?? '');
  }

  /** Spreads only containers that ran before this agent; a new container is probed when that is due. */
  #spreadMs(startedAtMs: number, periodMs: number): number {
    const { clock, random = Math.random } = this.#options;
    if (startedAtMs >= this.#startedAtMs || clock.monotonicMs() - this.#startedMs >= periodMs) return 0;
    return random() * Math.min(periodMs, MAX_SPREAD_MS);
  }

  #settle(
    probed: ProbedPod,
    subject: ProbeSubject,
    containerId: string,
    verdict: 'success' | 'failure',
    output: string | undefined,
  ): void {
    // A removed pod publishes nothing more.
    if (this.#pods.get(subject.pod.uid) !== probed) return;
    const result = this.#findings.settle(subject, containerId, verdict, output);
    if (result === undefined) return;
    if (subject.type === 'startup' && verdict === 'success') {
      // Liveness and readiness have waited for this.
      for (const { worker } of probed.workers.values()) worker.look();
    }
    this.#hand(result);
  }

  #hand(result: ProbeResult): void {
    for (const results of this.#subscriptions) results.push(result);
  }
}

function publishNotRun(
  { channels }: Publisher,
  subject: ProbeSubject,
  containerId: string,
  times: number,
  message: string,
): void {
  const { pod, container, type } = subject;
  const { uid: podUid, namespace, name: podName } = pod;
  const containerName = container.name;
  publishTo(channels, probeNotRun, {
    podUid,
    namespace,
    podName,
    containerName,
    containerId,
    type,
    times,
    message,
  });
}

const FIELDS = [
  ['startup', 'startupProbe'],
  ['readiness', 'readinessProbe'],
  ['liveness', 'livenessProbe'],
] as const satisfies readonly (readonly [ProbeType, keyof Container])[];

/** Every probe of a pod's regular containers and sidecars, by container and type. Pure. */
function probeSubjects(pod: NodePod): Map<string, ProbeSubject> {
  const { uid, namespace, name } = pod.metadata;
  const probed = [
    ...sidecarsOf(pod.spec).map((container) => ['sidecar', container] as const),
    ...pod.spec.containers.map((container) => ['regular', container] as const),
  ];
  const subjects = new Map<string, ProbeSubject>();
  for (const [kind, container] of probed) {
    for (const [type, field] of FIELDS) {
      const probe = container[field];
      if (probe === undefined) continue;
      subjects.set(probeKey(container.name, type), {
        pod: { uid, namespace, name },
        container,
        type,
        probe,
        neverRestarts: runsOnce(restartRuleOf(kind, container, pod.spec)) && !mayRestartAll(pod.spec),
      });
    }
  }
  return subjects;
}

/** The name of a probe within its pod. */
function probeKey(containerName: string, type: ProbeType): string {
  return `${containerName}/${type}`;
}
