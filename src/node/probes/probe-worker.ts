import { type Container, type Probe } from '#kube/container/container.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type ProbeOutcome } from './probe-outcome.js';
import { type ProbeType } from './probe-result.js';
import { type ProbeTarget, type ProbeTargets } from './probe-targets.js';
import { countOutcome, EMPTY_TALLY, type ProbeTally, probeTiming } from './probe-tally.js';

/** The subject of one probe. */
export interface ProbeSubject {
  readonly pod: PodRef;
  readonly container: Container;
  readonly type: ProbeType;
  readonly probe: Probe;
  /** A container that ended does not restart. */
  readonly neverRestarts: boolean;
}

/** One run of a probe, about to start. */
export interface ProbeRun extends ProbeSubject {
  readonly containerId: string;
  /** Where the container's ports are, unless the probe names a host itself. */
  readonly host: string;
  readonly timeoutMs: number;
}

/** An outcome, or why there is none: see {@link isVoid}. */
export type JudgedOutcome = ProbeOutcome | 'void';

/** Options of {@link ProbeWorker}. All callbacks return at once, except `run`. */
export interface ProbeWorkerOptions {
  readonly subject: ProbeSubject;
  readonly clock: Clock;
  readonly targets: ProbeTargets;
  /** Whether the container's startup probe has succeeded. Not called by startup probes. */
  readonly isStarted: (containerId: string) => boolean;
  /** Waits for its turn, asks `begin` what to run (undefined: nothing any more), and runs it. */
  readonly run: (
    begin: () => ProbeRun | undefined,
    signal: AbortSignal,
  ) => Promise<JudgedOutcome | undefined>;
  /** How many milliseconds to delay the first probe of this container, so that not all start at once. */
  readonly spreadMs: (startedAtMs: number, periodMs: number) => number;
  /** A new container of that name; returns what was known of it from this probe type, if anything. */
  readonly onContainer: (containerId: string, replaces: string | undefined) => boolean | undefined;
  /** A threshold was reached, or for readiness probes, the container no longer runs (without an outcome). */
  readonly onVerdict: (containerId: string, verdict: 'success' | 'failure', outcome?: ProbeOutcome) => void;
  /** The probe could not be run as often in a row as it may fail. Called once per such series. */
  readonly onNotRun: (containerId: string, times: number, message: string) => void;
}

interface Current {
  /** How often it could not be run since its last run. */
  errorsInARow: number;
  readonly containerId: string;
  target: ProbeTarget;
  /** Monotonic milliseconds; undefined until it runs. */
  dueMs: number | undefined;
  /** Its first probe has started. */
  hasBegun: boolean;
  tally: ProbeTally;
  /** For a startup probe: it succeeded under this agent or an earlier one. */
  hasStarted: boolean;
  /** It failed for good and waits for its replacement. */
  isOnHold: boolean;
  voidsInARow: number;
}

/** How often to check for a container that does not exist yet. */
const LOOK_MS = 1_000;
/** Maximum age of a view, in milliseconds; generous. */
const MAX_LAG_MS = 60_000;
/** A void probe is repeated at once this often in a row, then after its period. */
const MAX_REPEATS = 5;

/**
 * Runs one probe of one pod, over all successive containers of one name.
 *
 * ```text
 *  absent ─► waiting ─► delayed ─► probing ◄─► due later
 *    ▲                     (delay from its own start)  │ liveness or startup failed, or startup succeeded
 *    └──── another container id ◄── resting ◄──────────┘
 * ```
 *
 * The states are derived from the newest view of the container, not stored. Only {@link run} waits.
 */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  readonly #wakeup = new Wakeup();
  #subject: ProbeSubject;
  #current: Current | undefined;
  /** When a check last got an answer, in monotonic milliseconds. */
  #lookedMs: number | undefined;

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
    this.#subject = options.subject;
  }

  /** The subject of the probe. */
  get subject(): ProbeSubject {
    return this.#subject;
  }

  /** The container that it knows of. */
  get containerId(): string | undefined {
    return this.#current?.containerId;
  }

  /** The known container has ended and does not restart; {@link run} ends then. */
  get isOver(): boolean {
    return this.#current?.target.state === 'exited' && this.#subject.neverRestarts;
  }

  /** The manifest has changed; the counts of outcomes stay, and a shorter period applies at once. */
  update(subject: ProbeSubject): void {
    const current = this.#current;
    const { initialDelayMs: delayBeforeMs } = probeTiming(this.#subject.probe);
    this.#subject = subject;
    if (current?.dueMs !== undefined) {
      const { initialDelayMs, periodMs } = probeTiming(subject.probe);
      // A container that waits for its first probe waits as long as the new manifest says; other edits do not
      // shorten that.
      if (!current.hasBegun) current.dueMs += initialDelayMs - delayBeforeMs;
      else current.dueMs = Math.min(current.dueMs, this.#options.clock.monotonicMs() + periodMs);
    }
    this.#wakeup.wake();
  }

  /** Checks the state of the container at once, and probes it when that is due. */
  look(): void {
    this.#observe();
    this.#wakeup.wake();
  }

  /** Probes until the signal aborts, or until the container has ended and does not restart. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    try {
      for (;;) {
        const step = this.#nextStep();
        if (step === 'end') return;
        if (step === 'probe') await this.#probe(signal);
        else await this.#wakeup.wait(this.#options.clock, step.waitMs, signal);
      }
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }

  /**
   * Reads the container's state and switches to a new container. Leaves `#current` undefined when there is
   * none.
   */
  #observe(): void {
    const { pod, container } = this.#subject;
    const target = this.#options.targets.find(pod.uid, container.name);
    if (target === 'unknown') return;
    this.#take(target);
    this.#lookedMs = this.#options.clock.monotonicMs();
  }

  #take(target: ProbeTarget | 'absent'): void {
    if (target === 'absent') {
      // Removed, and perhaps recreated: nobody can say that this was its end.
      if (this.#current !== undefined)
        this.#setTarget(this.#current, { ...this.#current.target, state: 'waiting' });
      return;
    }
    if (this.#current?.containerId !== target.containerId) {
      const known = this.#options.onContainer(target.containerId, this.#current?.containerId);
      this.#current = {
        containerId: target.containerId,
        target,
        dueMs: undefined,
        hasBegun: false,
        tally: EMPTY_TALLY,
        hasStarted: this.#subject.type === 'startup' && known === true,
        isOnHold: false,
        voidsInARow: 0,
        errorsInARow: 0,
      };
    }
    this.#setTarget(this.#current, target);
  }

  #setTarget(current: Current, target: ProbeTarget): void {
    current.target = target;
    if (target.state === 'running') current.dueMs ??= this.#firstDueMs(target);
    else if (this.#subject.type === 'readiness') this.#options.onVerdict(current.containerId, 'failure');
  }

  /**
   * When the initial delay is over, counted from the container's own start.
   *
   * The wall clock is read once per container: after that it may jump. A container that did not run in the
   * previous view has not run much longer than since then. If its wall time says so, the clock has jumped in
   * between, and that costs no delay either.
   */
  #firstDueMs({ startedAtMs }: ProbeTarget): number {
    const { clock, spreadMs } = this.#options;
    const { initialDelayMs, periodMs } = probeTiming(this.#subject.probe);
    const oldestMs = this.#lookedMs === undefined ? Infinity : clock.monotonicMs() - this.#lookedMs;
    const byWallMs = Math.max(0, clock.now() - startedAtMs);
    const ageMs = byWallMs > oldestMs + MAX_LAG_MS ? oldestMs : byWallMs;
    const delayMs = Math.max(0, initialDelayMs - ageMs);
    return clock.monotonicMs() + Math.max(delayMs, spreadMs(startedAtMs, periodMs));
  }

  #nextStep(): 'end' | 'probe' | { readonly waitMs: number } {
    this.#observe();
    const current = this.#current;
    if (current === undefined) return { waitMs: LOOK_MS };
    const { state } = current.target;
    if (this.isOver) return 'end';
    if (state !== 'running' || current.isOnHold) return { waitMs: LOOK_MS };
    const { periodMs } = probeTiming(this.#subject.probe);
    // Events wake a resting probe; this wait is only for changes without an event.
    if (!this.#isWanted(current)) return { waitMs: Math.max(LOOK_MS, periodMs) };
    const waitMs = current.dueMs! - this.#options.clock.monotonicMs();
    return waitMs <= 0 ? 'probe' : { waitMs };
  }

  #isWanted(current: Current): boolean {
    return this.#subject.type === 'startup'
      ? !current.hasStarted
      : this.#options.isStarted(current.containerId);
  }

  async #probe(signal: AbortSignal): Promise<void> {
    const current = this.#current!;
    current.hasBegun = true;
    const outcome = await this.#options.run(() => this.#begin(current), signal);
    signal.throwIfAborted();
    const nowMs = this.#options.clock.monotonicMs();
    const { periodMs } = probeTiming(this.#subject.probe);
    // Like a ticker: missed probes are made up for once.
    const nextDueMs = Math.max((current.dueMs ?? nowMs) + periodMs, nowMs);
    if (outcome === 'void') {
      current.voidsInARow++;
      const isRepeatedAtOnce = current.voidsInARow % (MAX_REPEATS + 1) !== 0;
      current.dueMs = isRepeatedAtOnce ? nowMs : nextDueMs;
      return;
    }
    current.voidsInARow = 0;
    current.dueMs = nextDueMs;
    if (outcome === undefined) return;
    if (outcome.result === 'error') {
      // A probe that was skipped because earlier ones hang is no evidence that it cannot run.
      if (outcome.isHeldBack === undefined) this.#countError(current, outcome.message);
      return;
    }
    current.errorsInARow = 0;
    this.#observe();
    // The container may have been replaced meanwhile, or have ended: then the outcome is out of date.
    if (this.#current !== current || current.target.state !== 'running') return;
    this.#count(current, outcome);
  }

  #countError(current: Current, message: string): void {
    const times = probeTiming(this.#subject.probe).failureThreshold;
    if (++current.errorsInARow === times) this.#options.onNotRun(current.containerId, times, message);
  }

  /** What to run now, as the turn may have taken a while to come. */
  #begin(current: Current): ProbeRun | undefined {
    this.#observe();
    if (this.#current !== current || current.target.state !== 'running') return undefined;
    const { timeoutMs } = probeTiming(this.#subject.probe);
    const { containerId, host } = current.target;
    return { ...this.#subject, containerId, host, timeoutMs };
  }

  #count(current: Current, outcome: ProbeOutcome): void {
    const { type, probe } = this.#subject;
    const counted = countOutcome(
      current.tally,
      outcome.result === 'failure' ? 'failure' : 'success',
      probeTiming(probe),
    );
    current.tally = counted.tally;
    const { verdict } = counted;
    if (verdict === undefined) return;
    if (type === 'startup' && verdict === 'success') current.hasStarted = true;
    if (type !== 'readiness' && verdict === 'failure') current.isOnHold = true;
    this.#options.onVerdict(current.containerId, verdict, outcome);
  }
}
