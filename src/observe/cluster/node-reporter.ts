/**
 * Reports findings where people of a cluster look: as Events of the Node and, by option, in a condition of it.
 *
 * In: what examinations found. Out: requests to the API server, few and bounded; nobody waits for them. Events are folded and limited
 * as those of a kubelet are. While the API server is away they wait, as many as there is room for, and the rest is counted.
 *
 * @module
 */
import type {
  ClusterEvents,
  ClusterEventsStats,
  KubeClients,
  ProblemCondition,
  ProblemState,
} from '#cluster';
import { withinTime } from '#base/async/within-time.js';
import { type Channels } from '#base/channels/publishing-channel.js';
import { PodloopError } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { formatGoDuration } from '#base/time/go-duration.js';
import { type Logger } from '#base/log/logger.js';
import { formatPod } from '#kube/pod/pod-ref.js';
import { type Finding } from '#doctor';
import { type FindingChanges, type FindingSpell } from '../findings/finding-tracker.js';
import { type ClusterReportOptions } from '../observe-options.js';

/** What a {@link NodeReporter} needs. */
export interface NodeReporterOptions {
  readonly report: ClusterReportOptions;
  readonly nodeName: string;
  /** podloop's. */
  readonly version: string;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** What is reported with. */
export interface ReporterParts {
  readonly events: Pick<ClusterEvents, 'recordNode' | 'stats' | 'run'>;
  readonly condition: Pick<ProblemCondition, 'set' | 'stats' | 'run' | 'remove'> | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Stands for the service account of the pod that the observer runs in. */
const IN_CLUSTER = 'in-cluster';
/** In whose name events are written. */
const COMPONENT = 'podloop-observe';
/** Of different events that wait. */
const CAPACITY = 500;
const EVENTS_PER_SECOND = 1;
const EVENTS_AT_ONCE = 25;
/** An API server limits the notes of events. */
const MAX_MESSAGE_LENGTH = 1_000;
/** At the end nobody waits longer for an API server. */
const END_LIMIT_MS = 3_000;
const UNPRINTABLE = /[\p{C}\p{Zl}\p{Zp}]/gu;

/** See the module. */
export class NodeReporter {
  readonly #parts: ReporterParts;
  #hasLoggedRefusal = false;

  /**
   * Reads the kubeconfig and connects to nobody yet. Rejects with KUBECONFIG_INVALID or OPTION_INVALID.
   *
   * Loads what only those need who report to a cluster.
   */
  static async open(
    options: NodeReporterOptions,
  ): Promise<{ readonly reporter: NodeReporter; readonly close: KubeClients['close'] }> {
    const { report, nodeName, version, channels, clock, logger } = options;
    const { kubeconfig, condition: type, environment } = report;
    const { ClusterEvents, findTypeProblem, openKubeClients, ProblemCondition, serviceAccountConfig } =
      await import('#cluster');
    const problem = type === undefined ? undefined : findTypeProblem(type);
    if (problem !== undefined) throw new PodloopError('OPTION_INVALID', `--node-condition: ${problem}`);
    const clients = await openKubeClients({
      file: kubeconfig === IN_CLUSTER ? serviceAccountConfig(environment) : kubeconfig,
      ...{ rateLimit: { perSecond: 5, burst: 10 }, heartbeatTimeoutMs: END_LIMIT_MS },
      ...{ version, environment, channels, clock, logger },
    });
    const client = clients.api;
    const events = new ClusterEvents({
      ...{ client, nodeName, component: COMPONENT, keepsTrying: true, capacity: CAPACITY, clock, logger },
      ...{ eventRecordQps: EVENTS_PER_SECOND, eventBurst: EVENTS_AT_ONCE },
      // kubectl finds the events of a Node by its name, too, which takes no right to read it.
      ...{ nodeUid: () => undefined, findPod: () => undefined, hide: (message) => message },
    });
    const condition =
      type === undefined ? undefined : new ProblemCondition({ client, nodeName, type, clock, logger });
    logger.info('Reporting findings to the cluster', { server: clients.server, condition: type });
    const reporter = new NodeReporter({ events, condition, clock, logger });
    return { reporter, close: () => clients.close() };
  }

  constructor(parts: ReporterParts) {
    this.#parts = parts;
  }

  /** What became of events. */
  get eventStats(): ClusterEventsStats {
    return this.#parts.events.stats;
  }

  /** What became of the condition; undefined where none is written. */
  get conditionStats(): ProblemCondition['stats'] | undefined {
    return this.#parts.condition?.stats;
  }

  /** Reports what an examination has changed, and what is wrong by now. Never waits. */
  examined({ began, ended }: FindingChanges, active: readonly FindingSpell[]): void {
    const { events, condition } = this.#parts;
    for (const { finding } of began)
      events.recordNode({ type: 'Warning', reason: finding.code, message: describe(finding) });
    for (const { finding, beganAtMs, endedAtMs = beganAtMs } of ended) {
      const lasted = formatGoDuration(Math.round((endedAtMs - beganAtMs) / 1_000) * 1_000);
      const message = toLine(`Over after ${lasted}: ${describe(finding)}`);
      events.recordNode({ type: 'Normal', reason: finding.code, message });
    }
    condition?.set(toState(active.map(({ finding }) => finding)));
    this.#logRefusal();
  }

  /** Sends until the signal aborts; then takes the condition away. */
  async run(signal: AbortSignal): Promise<void> {
    const { events, condition, clock } = this.#parts;
    await Promise.all([events.run(signal), condition?.run(signal)]);
    if (condition === undefined) return;
    const limit = { clock, limitMs: END_LIMIT_MS, signal: new AbortController().signal };
    await withinTime(limit, async (late) => condition.remove(late)).catch(() => undefined);
  }

  /** Whoever asked for events has to hear that the API server takes none. */
  #logRefusal(): void {
    const { events, logger } = this.#parts;
    if (this.#hasLoggedRefusal || events.stats.rejected === 0) return;
    this.#hasLoggedRefusal = true;
    logger.warn(
      'The API server refuses events: it takes the rights to create and to patch events in the namespace default',
      {
        rejected: events.stats.rejected,
      },
    );
  }
}

/** The first critical finding; what is less than that does not make a node ill. */
function toState(findings: readonly Finding[]): ProblemState {
  const critical = findings.filter(({ severity }) => severity === 'critical');
  const [first, ...others] = critical;
  if (first === undefined) {
    const count = findings.length === 0 ? 'nothing is wrong' : `${findings.length} warnings`;
    return {
      isTrue: false,
      reason: 'NoCriticalFinding',
      message: `podloop observe finds nothing critical: ${count}`,
    };
  }
  const more = others.length === 0 ? '' : ` (and ${others.length} more)`;
  return { isTrue: true, reason: first.code, message: toLine(`${describe(first)}${more}`) };
}

/** What is wrong, with the pod and the container that it is about. */
function describe({ message, pod, container }: Finding): string {
  const name = pod === undefined ? '' : formatPod(pod);
  const about = [
    ...(name === '' || message.includes(name) ? [] : [`pod ${name}`]),
    ...(container === undefined || message.includes(container) ? [] : [`container ${container}`]),
  ];
  return toLine(about.length === 0 ? message : `${message} (${about.join(', ')})`);
}

/** What a runtime says may have any form, and anybody may read events. */
function toLine(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ').replaceAll(UNPRINTABLE, '\uFFFD').trim();
  return line.length <= MAX_MESSAGE_LENGTH ? line : `${line.slice(0, MAX_MESSAGE_LENGTH - 1)}…`;
}
