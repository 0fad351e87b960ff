/**
 * The composition root of `podloop observe`: one quiet process that watches a node for good.
 *
 * ```
 * runtime ◄─ reading transport ◄─ client ◄─ event generator ─► history ─► disk
 *                                               └─► pods, report, metrics ─► socket and port
 * ```
 *
 * In: options. Out: what happened to every pod, on the disk and over a socket. It starts, stops and removes nothing, and
 * needs nothing of a kubelet. It runs whatever state the runtime is in, and when its root folder
 * cannot be written, or its disk hangs, it keeps the history in memory, says so, and tries again.
 *
 * @module
 */
import { join } from 'node:path';
import { abortable } from '#base/async/abortable.js';
import { Channels } from '#base/channels/publishing-channel.js';
import { settlesWithin } from '#base/async/settles-within.js';
import { DisposalStack } from '#base/async/disposal-stack.js';
import { type FolderLock, lockFolder, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { type Clock } from '#base/time/clock.js';
import { isUnwritable } from '#base/fs/disk-errors.js';
import { type Logger } from '#base/log/logger.js';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type LogState, type MetricsRegistry } from '#node/telemetry';
import { findStoppedDaemons, HostFiles, portOf, type SilentPaths } from '#doctor';
import { CriClient, CriRuntime, GrpcTransport, parseEndpoint, Pleg, PlegReporter } from '#watch';
import { NodeReporter } from './cluster/node-reporter.js';
import { addFindingMetrics } from './findings/finding-metrics.js';
import { toCutOffRecords, toFindingRecords } from './findings/finding-records.js';
import { FindingWatch } from './findings/finding-watch.js';
import { ObservedPort } from './findings/observed-port.js';
import { QuickCheck } from './findings/quick-check.js';
import { CallRing } from './incidents/call-ring.js';
import { IncidentKeeper } from './incidents/incident-keeper.js';
import { sampleCalls } from './incidents/sample-calls.js';
import { addIncidentRoutes } from './node/incident-routes.js';
import { ObserverApi } from './node/observer-api.js';
import { ObserverHistory } from './node/observer-history.js';
import { addReportMetrics, makeObserverMetrics } from './node/observer-metrics.js';
import { SeenPods } from './node/seen-pods.js';
import { type ObserveOptions } from './observe-options.js';
import { withContainerdEvents } from './runtime/containerd-events.js';
import { ReadingTransport } from './runtime/reading-transport.js';
import { RuntimeIdentity } from './runtime/runtime-identity.js';

/** What a {@link NodeObserver} gets besides its options. */
export interface NodeObserverPorts {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly log: LogState;
  /** podloop's. */
  readonly version: string;
}

/** The name of the socket in the root folder; the same as an agent's, so that the same commands find it. */
const SOCKET_NAME = 'podloop.sock';
/** Calls that read are answered within milliseconds: one that takes so long hangs. */
const REQUEST_TIMEOUT_MS = 120_000;
/** A kubelet asks one after another; so few are no burden, and a pod that hangs delays hardly anybody. */
const INSPECT_CONCURRENCY = 4;
/** Lists of all pods take at most this share of the time, however slow they get. */
const MAX_LIST_SHARE = 0.1;
/** While events announce every change, lists come this often: one that hangs has to be noticed soon. */
const MAX_PERIOD_MS = 10_000;
/** The flight recorder: the calls of the last minutes, in memory. */
const RING = { maxBytes: 16 * 2 ** 20, maxAgeMs: 5 * 60_000 };
/** At the end nobody waits longer for a disk. */
const DISK_LIMIT_MS = 5_000;
/** A root folder that takes longer to be claimed is on a disk that hangs; another owner may take ten seconds to exit. */
const CLAIM_LIMIT_MS = 15_000;
/** How often an unwritable root folder is tried again. */
const RETRY_MS = 30_000;

/** See the module. */
export class NodeObserver implements AsyncDisposable {
  readonly #options: ObserveOptions;
  readonly #ports: NodeObserverPorts;
  readonly #disposal = new DisposalStack();
  readonly #pleg: Pleg;
  readonly #identity: RuntimeIdentity;
  readonly #history: ObserverHistory;
  readonly #api: ObserverApi;
  readonly #findings: FindingWatch;
  readonly #incidents: IncidentKeeper;
  readonly #channels = new Channels();
  readonly #registry: MetricsRegistry;
  /** Undefined where findings are reported to no cluster. */
  #reporter: NodeReporter | undefined;
  /** Of the root folder; undefined while that cannot be written. */
  #lock: FolderLock | undefined;
  /** A claim that the disk has not answered yet. */
  #claiming: Promise<void> = Promise.resolve();
  #isListening = false;
  #isEnded = false;

  /**
   * Claims the root folder and listens. A disk that hangs delays it by {@link CLAIM_LIMIT_MS}.
   *
   * Rejects with NODE_ROOT_IN_USE, ENDPOINT_IN_USE, ENDPOINT_INVALID or PORT_UNUSABLE, and with KUBECONFIG_INVALID or
   * OPTION_INVALID where it is to report to a cluster and cannot.
   */
  static async start(
    options: ObserveOptions,
    ports: NodeObserverPorts,
    signal: AbortSignal,
  ): Promise<NodeObserver> {
    const observer = new NodeObserver(options, ports);
    try {
      await observer.#openReporter();
      await observer.#claimInTime(signal);
      if (options.metricsAddress !== undefined) await observer.#api.listenAtPort(options.metricsAddress);
      return observer;
    } catch (error) {
      await observer[Symbol.asyncDispose]();
      throw error;
    }
  }

  private constructor(options: ObserveOptions, ports: NodeObserverPorts) {
    const { clock, logger, log, version } = ports;
    const {
      nodeName,
      rootDir,
      podLogsDir,
      journalMaxSizeBytes: maxBytes,
      journalMaxAgeMs: maxAgeMs,
    } = options;
    this.#options = options;
    this.#ports = ports;
    const channels = this.#channels;
    const { socketPath, url: endpoint } = parseEndpoint(options.runtimeEndpoint);
    const ring = new CallRing({ ...RING, clock });
    const transport = new ReadingTransport(new GrpcTransport({ socketPath, clock }), ring);
    const client = new CriClient({
      ...{ endpoint, transport, channels, clock, logger, timeoutMs: REQUEST_TIMEOUT_MS },
    });
    this.#disposal.defer(() => client.close());
    const runtime = withContainerdEvents(new CriRuntime({ client, clock, logger }), {
      ...{ transport, logger, findPodUid: (id) => findPodUid(this.#pleg, id) },
    });
    const pleg = new Pleg({
      ...{ runtime, channels, clock, logger, mode: 'auto', longestStretchedPeriodMs: MAX_PERIOD_MS },
      ...{ maxListShare: MAX_LIST_SHARE, inspectConcurrency: INSPECT_CONCURRENCY },
    });
    this.#pleg = pleg;
    this.#disposal.defer(() => pleg.closeSubscriptions());
    this.#identity = new RuntimeIdentity({
      ...{ client, channels },
      onKnown: (name, runtimeVersion) =>
        logger.info('Runtime found', { endpoint, runtime: `${name} ${runtimeVersion}` }),
    });
    this.#disposal.defer(() => this.#identity[Symbol.dispose]());
    this.#history = new ObserverHistory({
      ...{ rootDir, maxBytes, maxAgeMs, nodeName, version, client, pleg, channels, clock, logger },
      requestTimeoutMs: REQUEST_TIMEOUT_MS,
    });
    this.#disposal.defer(() => this.#history[Symbol.dispose]());
    const identity = this.#identity;
    const { registry, loopDelay } = makeObserverMetrics({
      ...{ client, pleg, history: this.#history, runtime: identity, log, nodeName, version, channels, clock },
    });
    this.#registry = registry;
    this.#disposal.defer(() => registry[Symbol.dispose]());
    const reporter = new PlegReporter({
      ...{ channels, clock, pleg, loopDelay, runtime: reportedRuntime(identity) },
      ...{ uids: () => pleg.cache.uids(), callsInFlight: () => client.callsInFlight() },
    });
    this.#disposal.defer(() => reporter[Symbol.dispose]());
    const place = {
      nodeName,
      get runtimeName() {
        return identity.name;
      },
    };
    this.#api = new ObserverApi({
      ...{
        history: this.#history,
        pleg,
        pods: new SeenPods({ pleg, place }),
        podLogsDir,
        registry,
        reporter,
      },
      ...{ findLogProblem: () => log.findProblem(), nodeName, version, channels, clock, logger },
    });
    this.#disposal.use(this.#api);
    const { hostRoot, readKubelet, healthzUrl } = options;
    const reported = reportedRuntime(identity);
    this.#incidents = new IncidentKeeper({
      ...{ rootDir, ring, hostRoot, nodeName, version, clock, logger },
      runtime: () => ({ ...reported }),
      onCutOff: async (incident) => {
        for (const record of toCutOffRecords(incident, clock.now())) this.#history.append(record);
        await this.#history.flush();
      },
    });
    this.#disposal.use(this.#incidents);
    addIncidentRoutes(this.#api.router, this.#incidents);
    const port = new ObservedPort({ client, pleg, channels, clock });
    this.#disposal.defer(() => port[Symbol.dispose]());
    // Each read of a file that hangs takes a thread, whoever reads it.
    const silentPaths: SilentPaths = new Map();
    const quickCheck = new QuickCheck({
      ...{ pleg, client, channels, healthzUrl, hostRoot, silentPaths, clock },
    });
    this.#disposal.defer(() => quickCheck[Symbol.dispose]());
    const countChanges = addFindingMetrics(registry, () => this.#findings);
    this.#findings = new FindingWatch({
      ...{ port, quickCheck, readKubelet, hostRoot, silentPaths, clock, logger },
      findStopped: async (signal) =>
        findStoppedDaemons(new HostFiles({ root: hostRoot, clock, signal, silentPaths }), {
          ...{ socketPath, kubeletPort: portOf(healthzUrl) },
        }),
      onChecked: (facts) => this.#incidents.checked(facts, { callsInFlight: sampleCalls(client, clock) }),
      onExamined: (examination) => {
        countChanges(examination.changes);
        for (const record of toFindingRecords(examination.changes)) this.#history.append(record);
        this.#incidents.examined(examination, this.#findings.active);
        this.#reporter?.examined(examination.changes, this.#findings.active);
      },
    });
  }

  /** Observes until the signal aborts; then writes the rest of the history and resolves. */
  async run(signal: AbortSignal): Promise<void> {
    await this.#identity.ask(signal);
    const observing = new AbortController();
    const history = this.#history.run(observing.signal);
    // The disk may hang, and nothing waits for it. Each use of one that hangs takes a thread, so this waits for the claim.
    void this.#claiming.then(async () => this.#readIncidents(signal)).catch(() => undefined);
    await Promise.all([
      ...[this.#pleg.run(signal), this.#api.run(signal), this.#findings.run(signal)],
      ...[this.#claimLater(signal), this.#reporter?.run(signal)],
    ]);
    // The history ends last: it records what the others have still seen.
    observing.abort();
    await history;
  }

  /** Ends all connections and releases the root folder. Idempotent. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isEnded = true;
    try {
      await this.#disposal[Symbol.asyncDispose]();
    } finally {
      // Nothing of this observer writes there any more.
      const { clock } = this.#ports;
      await settlesWithin(Promise.resolve(this.#lock?.release()), DISK_LIMIT_MS, clock);
    }
  }

  async #openReporter(): Promise<void> {
    const { nodeName, report } = this.#options;
    if (report === undefined) return;
    const { clock, logger, version } = this.#ports;
    const { reporter, close } = await NodeReporter.open({
      ...{ report, nodeName, version, channels: this.#channels, clock, logger },
    });
    this.#disposal.defer(close);
    this.#reporter = reporter;
    addReportMetrics(this.#registry, reporter);
  }

  /** Does not wait for a disk that hangs: the claim goes on, and is settled whenever the disk answers. */
  async #claimInTime(signal: AbortSignal): Promise<void> {
    const { rootDir } = this.#options;
    const { clock, logger } = this.#ports;
    this.#claiming = this.#claim(signal);
    if (await abortable(settlesWithin(this.#claiming, CLAIM_LIMIT_MS, clock), signal)) {
      await this.#claiming;
      return;
    }
    logger.error('Root directory does not answer: the history stays in memory for now', undefined, {
      path: rootDir,
    });
    await this.#listenElsewhere();
  }

  #hasEnded(): boolean {
    return this.#isEnded;
  }

  /** Claims the root folder and opens the socket in it; an unwritable disk is reported and claimed later. */
  async #claim(signal: AbortSignal): Promise<void> {
    const { rootDir } = this.#options;
    const { clock, logger } = this.#ports;
    let lock: FolderLock | undefined;
    try {
      lock = await lockFolder(rootDir, NODE_ROOT_LOCK, { clock, signal });
      if (this.#isEnded) {
        await lock.release();
        return;
      }
      await this.#listen();
      // It may have ended while it began to listen.
      if (this.#hasEnded()) await lock.release();
      else this.#lock = lock;
    } catch (error) {
      await lock?.release();
      if (!isUnwritable(error)) throw error;
      logger.error('Root directory cannot be written: the history stays in memory for now', error, {
        path: rootDir,
      });
      await this.#listenElsewhere();
    }
  }

  /** Opens a socket that is not in the root folder although nothing can be written there. */
  async #listenElsewhere(): Promise<void> {
    if (this.#options.socket === '') return;
    await this.#listen().catch((error: unknown) => {
      if (!isUnwritable(error)) throw error;
    });
  }

  async #listen(): Promise<void> {
    if (this.#isListening) return;
    const { rootDir, socket } = this.#options;
    this.#isListening = true;
    try {
      await this.#api.listenAtSocket(socket === '' ? join(rootDir, SOCKET_NAME) : socket);
    } catch (error) {
      this.#isListening = false;
      throw error;
    }
  }

  /** Until they are known no number can be given to another one. */
  async #readIncidents(signal: AbortSignal): Promise<void> {
    const { clock, logger } = this.#ports;
    const { rootDir } = this.#options;
    for (let tries = 1; ; tries++) {
      try {
        await this.#incidents.start();
        return;
      } catch (error) {
        if (tries === 1)
          logger.error('Incidents of earlier observers cannot be read', error, { path: rootDir });
      }
      await clock.sleep(RETRY_MS, signal);
    }
  }

  async #claimLater(signal: AbortSignal): Promise<void> {
    const { clock } = this.#ports;
    const rests = async (): Promise<boolean> =>
      clock.sleep(RETRY_MS, signal).then(
        () => true,
        () => false,
      );
    try {
      await abortable(this.#claiming, signal);
      while (this.#lock === undefined && (await rests())) {
        this.#claiming = this.#claim(signal);
        await abortable(this.#claiming, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** The pod of a container or sandbox that a list has shown. */
function findPodUid(pleg: Pleg, id: string): string | undefined {
  const isMeant = (each: { readonly id: string }): boolean => each.id === id;
  for (const uid of pleg.cache.uids()) {
    const pod = pleg.findObserved(uid);
    if (pod?.containers.some(isMeant) === true || pod?.sandboxes.some(isMeant) === true) return uid;
  }
  return undefined;
}

/** Read at each report, as the runtime may be found later. */
function reportedRuntime(identity: RuntimeIdentity): PlegReport['runtime'] {
  return {
    endpoint: identity.endpoint,
    get name() {
      return identity.name;
    },
    get version() {
      return identity.version;
    },
  };
}
