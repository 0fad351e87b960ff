/**
 * The doctor's rules, all the time and at a bounded cost.
 *
 * ```
 * quick check ─► suspicions ─┐
 *                routine ────┴► examination ─► tracker ─► begins and ends
 * ```
 *
 * A quick check is made every five seconds. A whole examination comes when it raises a suspicion; without one it comes every two
 * minutes, and more seldom on a node with so many pods that this would take more than a small share of a core. While a
 * suspicion lasts and nothing changes, examinations come less and less often. When the suspicions are gone, and while an
 * examination has left a doubt, the next one comes at once, so that ends are known soon. A process that is stopped is named
 * without an examination.
 *
 * @module
 */
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import {
  BundleCache,
  CERTIFICATE_FOLDERS,
  diagnose,
  examineNode,
  type Finding,
  type KubeletAddresses,
  type NodeExamination,
  type NodeFacts,
  type SilentPaths,
} from '#doctor';
import { findSuspicions, mayBeStopped, type QuickFacts } from './find-suspicions.js';
import { type FindingChanges, type FindingSpell, FindingTracker } from './finding-tracker.js';
import { type ObservedPort } from './observed-port.js';
import { type QuickCheck } from './quick-check.js';

/** One examination: what was seen, and what of it is news. */
export interface Examination {
  /** Undefined for what was found without an examination. */
  readonly facts: NodeFacts | undefined;
  readonly changes: FindingChanges;
}

/** What {@link FindingWatch} works with. */
export interface FindingWatchOptions {
  readonly port: ObservedPort;
  readonly quickCheck: Pick<QuickCheck, 'read'>;
  /** Where the kubelet is; read for each examination, as tokens are renewed. */
  readonly readKubelet: () => Promise<KubeletAddresses>;
  /** The root of the machine: `/`, or where it is mounted. */
  readonly hostRoot: string;
  /** Files that hang, from one examination to the next and for whoever else reads them (default: for examinations alone). */
  readonly silentPaths?: SilentPaths;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each quick check. */
  readonly onChecked: (facts: QuickFacts) => void;
  /** A runtime or a kubelet whose process is stopped; called while lists hang or nothing is connected. */
  readonly findStopped: (signal: AbortSignal) => Promise<readonly Finding[]>;
  /** Called after each examination, and with what was found without one. */
  readonly onExamined: (examination: Examination) => void;
  /** Examines a node (default: the doctor); for tests. */
  readonly examine?: (options: Parameters<typeof examineNode>[0]) => Promise<Pick<NodeExamination, 'facts'>>;
  /** The CPU time of this process in microseconds (default: as the kernel counts it); for tests. */
  readonly readCpuUs?: () => number;
}

/** Counts for metrics. */
export interface FindingWatchStats {
  readonly examinations: number;
  /** Milliseconds since the epoch; undefined before the first. */
  readonly lastExaminedAtMs: number | undefined;
}

const CHECK_MS = 5_000;
const ROUTINE_MS = 120_000;
/** What examinations without a suspicion may take of a core; they come at least as often as {@link LONGEST_ROUTINE_MS}. */
const ROUTINE_SHARE = 0.001;
const LONGEST_ROUTINE_MS = 600_000;
const SUSPICIOUS_MS = 15_000;
const CALM_MS = 60_000;
/** The lists have to come first. */
const FIRST_AFTER_MS = 10_000;
/** How long the runtime is watched in an examination. */
const WATCH_MS = 3_000;
/** After how long a call counts as hung. */
const HUNG_MS = 5_000;

/** See the module. */
export class FindingWatch {
  readonly #options: FindingWatchOptions;
  readonly #tracker = new FindingTracker();
  readonly #silentPaths: SilentPaths;
  readonly #bundles = new BundleCache();
  #examinations = 0;
  #lastExaminedAtMs: number | undefined;
  /** Examinations in a row that changed nothing although something seemed wrong. */
  #unchanged = 0;
  #examining: Promise<void> | undefined;
  /** When to examine while something seems wrong, when for a suspicion that is new, and when in any case. */
  #dueMs = 0;
  #firstDueMs = 0;
  #routineMs = 0;
  /** What the last examination took of a core. */
  #tookCpuMs = 0;
  #isSuspicious = false;
  /** Whether there was a suspicion when the last examination began. */
  #wasSuspicious = false;
  /** Whether the suspicions have gone since the last examination. */
  #hasCleared = false;

  constructor(options: FindingWatchOptions) {
    this.#options = options;
    this.#silentPaths = options.silentPaths ?? new Map<string, number>();
  }

  /** What is wrong now, in the order of the begin. */
  get active(): readonly FindingSpell[] {
    return this.#tracker.active;
  }

  get stats(): FindingWatchStats {
    return { examinations: this.#examinations, lastExaminedAtMs: this.#lastExaminedAtMs };
  }

  /** Checks and examines until the signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock, quickCheck, logger, onChecked } = this.#options;
    this.#dueMs = this.#firstDueMs = this.#routineMs = clock.monotonicMs() + FIRST_AFTER_MS;
    while (await this.#rests(signal)) {
      // The next check makes up for one that fails.
      const facts = await quickCheck.read(signal).catch(() => undefined);
      if (facts === undefined) continue;
      try {
        onChecked(facts);
      } catch (error) {
        logger.error('The result of a quick check could not be stored', error);
      }
      const suspicions = findSuspicions(facts);
      if (mayBeStopped(facts)) await this.#nameStopped(signal);
      if (suspicions.length === 0 && this.#isSuspicious) this.#hasCleared = true;
      this.#isSuspicious = suspicions.length > 0;
      this.#examineIfDue(suspicions, signal);
    }
    await this.#examining;
  }

  /** Resolves with false as soon as the signal aborts. */
  async #rests(signal: AbortSignal): Promise<boolean> {
    return await this.#options.clock.sleep(CHECK_MS, signal).then(
      () => true,
      () => false,
    );
  }

  /** Checks go on while an examination waits for what hangs. */
  #examineIfDue(suspicions: readonly string[], signal: AbortSignal): void {
    const { clock, logger } = this.#options;
    if (this.#examining !== undefined) return;
    const isWorthIt = suspicions.length > 0 || this.active.length > 0;
    const isOver = this.#hasCleared && this.active.length > 0;
    if (!isOver && clock.monotonicMs() < this.#nextMs(suspicions)) return;
    this.#hasCleared = false;
    this.#wasSuspicious = suspicions.length > 0;
    if (suspicions.length > 0) logger.info('Examining the node', { because: suspicions.join(', ') }, 4);
    this.#examining = this.#examine(signal, isWorthIt)
      .catch((error: unknown) => {
        if (!signal.aborted) logger.error('The node could not be examined', error);
      })
      .finally(() => {
        this.#examining = undefined;
        const nowMs = clock.monotonicMs();
        this.#routineMs =
          nowMs + Math.min(LONGEST_ROUTINE_MS, Math.max(ROUTINE_MS, this.#tookCpuMs / ROUTINE_SHARE));
        // What the last examination did not find is over soon, or is not.
        const restMs = this.#tracker.isDoubtful
          ? CHECK_MS
          : Math.min(CALM_MS, SUSPICIOUS_MS * 2 ** Math.min(this.#unchanged, 2));
        this.#dueMs = nowMs + restMs;
        this.#firstDueMs = nowMs + Math.min(restMs, SUSPICIOUS_MS);
      });
  }

  /** When to examine next, by what is wrong now. */
  #nextMs(suspicions: readonly string[]): number {
    if (suspicions.length > 0) return this.#wasSuspicious ? this.#dueMs : this.#firstDueMs;
    if (this.active.length === 0) return this.#routineMs;
    // What lasts and raises no suspicion, such as a certificate that expires next week, is no reason to hurry.
    return this.#unchanged > 2 && !this.#tracker.isDoubtful ? this.#routineMs : this.#dueMs;
  }

  /** An examination needs half a minute when every call hangs, but the state of the process is known at once. */
  async #nameStopped(signal: AbortSignal): Promise<void> {
    const { clock, findStopped, onExamined } = this.#options;
    const findings = await findStopped(signal).catch(() => []);
    const changes = this.#tracker.begin(findings, clock.now());
    if (changes.began.length === 0) return;
    this.#log(changes);
    onExamined({ facts: undefined, changes });
  }

  async #examine(signal: AbortSignal, isSuspicious: boolean): Promise<void> {
    const { port, readKubelet, hostRoot, clock, onExamined } = this.#options;
    const { examine = examineNode, readCpuUs = readOwnCpuUs } = this.#options;
    const startedCpuUs = readCpuUs();
    const kubelet = await readKubelet();
    port.beginExamination();
    const { facts } = await examine({
      ...{ runtime: port, kubelet, hostRoot, clock, signal },
      readAgent: async () => askNoAgent(),
      readAgentPods: async () => askNoAgent(),
      ...{ timeoutMs: HUNG_MS, watchMs: WATCH_MS, events: 'never', mayWrite: false },
      ...{ certificateFolders: CERTIFICATE_FOLDERS, silentPaths: this.#silentPaths, bundles: this.#bundles },
    });
    this.#tookCpuMs = (readCpuUs() - startedCpuUs) / 1_000;
    this.#examinations++;
    this.#lastExaminedAtMs = clock.now();
    const changes = this.#tracker.update(diagnose(facts), clock.now());
    const isNews = changes.began.length + changes.ended.length > 0;
    this.#unchanged = isNews || !isSuspicious ? 0 : this.#unchanged + 1;
    this.#log(changes);
    onExamined({ facts, changes });
  }

  #log({ began, ended }: FindingChanges): void {
    const { logger } = this.#options;
    for (const { finding } of began) {
      const { code, severity, message, pod, remedy } = finding;
      logger.warn('Finding began', { code, severity, message, pod, remedy });
    }
    for (const { finding, beganAtMs, endedAtMs = beganAtMs } of ended) {
      const { code, pod } = finding;
      logger.info('Finding is over', { code, pod, lastedMs: endedAtMs - beganAtMs });
    }
  }
}

function readOwnCpuUs(): number {
  const { user, system } = process.cpuUsage();
  return user + system;
}

async function askNoAgent(): Promise<never> {
  return await Promise.reject(new Error('an observer asks no agent'));
}
