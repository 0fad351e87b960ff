/**
 * Snapshots of what the node and its pods use, for pages with several scrapers.
 *
 * In: the runtime's statistics, /proc, and the cached containers of pods. Out: snapshots, each shared by all
 * callers while it is under way and for a second after it. It assumes that the runtime may hang: a snapshot
 * has a deadline, and then comes without pods and with the reason. Nothing else in the agent waits for it,
 * and no second call is sent before the first is answered.
 *
 * @module
 */
import { type ContainerStatus, type ContainerUsage, type PodStatus, type PodUsage } from '#watch';
import { Cached } from '#base/async/cached.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { type NodeUsage } from './node-usage.js';

/** A container with what other sources know of it. */
export interface LookedContainer extends ContainerUsage {
  /** As last inspected; undefined until then. */
  readonly status: ContainerStatus | undefined;
}

/** A pod with something running, and its running containers. */
export interface LookedPod extends Omit<PodUsage, 'containers'> {
  /** As last inspected; without containers until then. */
  readonly status: PodStatus;
  readonly containers: readonly LookedContainer[];
}

/** One snapshot. */
export interface UsageLook {
  readonly atMs: number;
  readonly node: NodeUsage;
  /** By namespace and name, each once. */
  readonly pods: readonly LookedPod[];
  /** Why nothing is known of pods; undefined when it is. */
  readonly problem: string | undefined;
}

/** What {@link UsageLooks} needs. */
export interface UsageLooksOptions {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly listPods: () => Promise<readonly PodUsage[]>;
  readonly readNode: (nowMs: number) => Promise<NodeUsage>;
  /** As last inspected; empty for a pod that was not. Never waits. */
  readonly statusOf: (podUid: string) => PodStatus;
}

/** How long a snapshot stays valid. */
const FRESH_MS = 1_000;

/** See the module. */
export class UsageLooks {
  readonly #options: UsageLooksOptions;
  readonly #cached: Cached<UsageLook>;
  #problem: string | undefined;

  constructor(options: UsageLooksOptions) {
    this.#options = options;
    const read = (): Promise<UsageLook> => this.#lookNow();
    this.#cached = new Cached({ clock: options.clock, freshMs: FRESH_MS, read });
  }

  /** The usage now, or of a second ago. The signal only ends the wait. */
  async look(signal: AbortSignal): Promise<UsageLook> {
    return await this.#cached.get(signal);
  }

  async #lookNow(): Promise<UsageLook> {
    const { clock, listPods, readNode } = this.#options;
    const atMs = clock.now();
    const [pods, node] = await Promise.all([
      listPods().catch((error: unknown) => messageOf(error)),
      readNode(atMs),
    ]);
    const problem = typeof pods === 'string' ? pods : undefined;
    this.#logChange(problem);
    return { atMs, node, problem, pods: typeof pods === 'string' ? [] : this.#join(pods) };
  }

  /** Logs once when it begins and once when it is over, however often somebody scrapes. */
  #logChange(problem: string | undefined): void {
    const { logger } = this.#options;
    if (problem !== undefined && this.#problem === undefined) {
      logger.warn('Statistics of pods cannot be read', { err: problem });
    } else if (problem === undefined && this.#problem !== undefined) {
      logger.info('Statistics of pods can be read again');
    }
    this.#problem = problem;
  }

  #join(usages: readonly PodUsage[]): readonly LookedPod[] {
    const pods = new Map<string, LookedPod>();
    for (const usage of usages) {
      const running = usage.containers.filter(isRunning);
      // Runtimes may still report the usage of a sandbox that has ended.
      if (running.length === 0 && usage.cpu === undefined && usage.memory === undefined) continue;
      const status = this.#options.statusOf(usage.uid);
      const sandbox = status.sandboxes.find(({ id }) => id === usage.sandboxId);
      if (sandbox?.state === 'exited' && running.length === 0) continue;
      const key = `${usage.namespace}/${usage.name}`;
      const other = pods.get(key);
      if (other !== undefined && !isNewer(usage, other)) continue;
      pods.set(key, {
        ...usage,
        status,
        containers: newestOf(running).map((each) => withStatus(each, status)),
      });
    }
    return [...pods.values()];
  }
}

function isRunning({ cpu, memory }: ContainerUsage): boolean {
  return cpu !== undefined || memory !== undefined;
}

/** Of two sandboxes under the same name: the one in which something runs, otherwise the later. */
function isNewer(usage: PodUsage, other: LookedPod): boolean {
  const [own, others] = [usage.containers.some(isRunning), other.containers.length > 0];
  if (own !== others) return own;
  return usage.uid === other.uid
    ? usage.attempt > other.attempt
    : (usage.cpu?.atMs ?? 0) > (other.cpu?.atMs ?? 0);
}

/** The last attempt of each name. */
function newestOf(containers: readonly ContainerUsage[]): ContainerUsage[] {
  const newest = new Map<string, ContainerUsage>();
  for (const container of containers) {
    const other = newest.get(container.name);
    if (other === undefined || container.attempt >= other.attempt) newest.set(container.name, container);
  }
  return [...newest.values()];
}

function withStatus(container: ContainerUsage, { containers }: PodStatus): LookedContainer {
  return { ...container, status: containers.find(({ id }) => id === container.id) };
}
