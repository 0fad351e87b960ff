import { type Container, type Probe } from '#kube/container/container.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type Clock } from '#base/time/clock.js';
import { Wakeup } from '#base/async/wakeup.js';
import { type ProbeOutcome } from './probe-outcome.js';
import { type ProbeType } from './probe-result.js';
import { type ProbeTarget, type ProbeTargets } from './probe-targets.js';
import { countOutcome, EMPTY_TALLY, type ProbeTally, probeTiming } from './probe-tally.js';

/** What one probe is about. */
export interface ProbeSubject {
  readonly pod: PodRef;
  readonly container: Container;
  readonly type: ProbeType;
  readonly probe: Probe;
  /** A container that ended is not started again. */
  readonly neverRestarts: boolean;
}

/** One run of a probe, about to begin. */
export interface ProbeRun extends ProbeSubject {
  readonly containerId: string;
  /** Where the container's ports are, unless the probe names a host itself. */
  readonly host: string;
  readonly timeoutMs: number;
}

/** An outcome, or why it is none: see {@link isVoid}. */
export type JudgedOutcome = ProbeOutcome | 'void';

/** What {@link ProbeWorker} needs. Whatever it calls here returns at once, but for `run`. */
export interface ProbeWorkerOptions {
  readonly subject: ProbeSubject;
  readonly clock: Clock;
  readonly targets: ProbeTargets;
  /** Whether the container has started as far as its startup probe is concerned. Not asked by startup probes. */
  readonly isStarted: (containerId: string) => boolean;
  /** Waits for its turn, asks `begin` what to run (undefined: nothing any more), and runs it. */
  readonly run: (
    begin: () => ProbeRun | undefined,
    signal: AbortSignal,
  ) => Promise<JudgedOutcome | undefined>;
  /** From how many milliseconds the first probe of this container is to wait, to spread what begins at once. */
  readonly spreadMs: (startedAtMs: number, periodMs: number) => number;
  /** A new container of that name; gives what was known of it by this type of probe, if anything was. */
  readonly onContainer: (containerId: string, replaces: string | undefined) => boolean | undefined;
  /**
   * A threshold was reached; or the container no longer runs (of readiness probes only), and then there is no outcome.
   */
  readonly onVerdict: (containerId: string, verdict: 'success' | 'failure', outcome?: ProbeOutcome) => void;
  /** It could not be run as often in a row as it may fail. Called once for each row. */
  readonly onNotRun: (containerId: string, times: number, message: string) => void;
}

interface Current {
  /** How often it could not be run since it was run last. */
  errorsInARow: number;
  readonly containerId: string;
  target: ProbeTarget;
  /** Monotonic milliseconds; undefined until it runs. */
  dueMs: number | undefined;
  /** The first probe of it was begun. */
  hasBegun: boolean;
  tally: ProbeTally;
  /** Of a startup probe: it succeeded, now or under an agent before. */
  hasStarted: boolean;
  /** It failed for good and waits for its replacement. */
  isOnHold: boolean;
  voidsInARow: number;
}

/** How often somebody is looked for who is not there yet. */
const LOOK_MS = 1_000;
/** How old at most what a look shows is, in milliseconds; generous. */
const LONGEST_LAG_MS = 60_000;
/** A void probe is repeated at once this often in a row, then after its period. */
const MOST_REPEATS = 5;

/**
 * Probes one container of one pod in one way, over all containers that follow one another under that name.
 *
 * ```text
 *  absent ─► waiting ─► delayed ─► probing ◄─► due later
 *    ▲                     (delay from its own start)  │ liveness or startup failed, or startup succeeded
 *    └──── another container id ◄── resting ◄──────────┘
 * ```
 *
 * The states are read off the newest look at the container, not kept. Nothing but {@link run} waits.
 */
export class ProbeWorker {
  readonly #options: ProbeWorkerOptions;
  readonly #wakeup = new Wakeup();
  #subject: ProbeSubject;
  #current: Current | undefined;
  /** When it was last looked and an answer came, in monotonic milliseconds. */
  #lookedMs: number | undefined;

  constructor(options: ProbeWorkerOptions) {
    this.#options = options;
    this.#subject = options.subject;
  }

  /** What it probes. */
  get subject(): ProbeSubject {
    return this.#subject;
  }

  /** The container that it knows of. */
  get containerId(): string | undefined {
    return this.#current?.containerId;
  }

  /** The container that it knows of has ended and is not started again; {@link run} ends then. */
  get isOver(): boolean {
    return this.#current?.target.state === 'exited' && this.#subject.neverRestarts;
  }

  /** The manifest changed; the counts of outcomes stay, and a shorter period holds from now on. */
  update(subject: ProbeSubject): void {
    const current = this.#current;
    const { initialDelayMs: delayBeforeMs } = probeTiming(this.#subject.probe);
    this.#subject = subject;
    if (current?.dueMs !== undefined) {
      const { initialDelayMs, periodMs } = probeTiming(subject.probe);
      // Whoever still waits for the first probe waits as long as is said now, and no edit of anything else cuts it short.
      if (!current.hasBegun) current.dueMs += initialDelayMs - delayBeforeMs;
      else current.dueMs = Math.min(current.dueMs, this.#options.clock.monotonicMs() + periodMs);
    }
    this.#wakeup.wake();
  }

  /** Takes note of what has become of the container, at once, and probes it when that is due. */
  look(): void {
    this.#observe();
    this.#wakeup.wake();
  }

  /** Probes until the signal aborts, or the container ended and is not started again. Never rejects. */
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

  /** Looks at the container and takes up a new one. Leaves `#current` undefined when there is none. */
  #observe(): void {
    const { pod, container } = this.#subject;
    const target = this.#options.targets.find(pod.uid, container.name);
    if (target === 'unknown') return;
    this.#take(target);
    this.#lookedMs = this.#options.clock.monotonicMs();
  }

  #take(target: ProbeTarget | 'absent'): void {
    if (target === 'absent') {
      // Removed, and perhaps made anew: nobody can tell that this was its end.
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
   * When the initial delay is over, counted from the container's own start. The clock on the wall is read once per
   * container: after that it may jump. What did not run at the look before has not run for much longer than since then:
   * where the wall says so, it has jumped in between, and that costs no delay either.
   */
  #firstDueMs({ startedAtMs }: ProbeTarget): number {
    const { clock, spreadMs } = this.#options;
    const { initialDelayMs, periodMs } = probeTiming(this.#subject.probe);
    const oldestMs = this.#lookedMs === undefined ? Infinity : clock.monotonicMs() - this.#lookedMs;
    const byWallMs = Math.max(0, clock.now() - startedAtMs);
    const ageMs = byWallMs > oldestMs + LONGEST_LAG_MS ? oldestMs : byWallMs;
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
    // Whoever rests is woken when something happens; the wait is only for what nobody told.
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
    // As a ticker does: what was missed is made up for once.
    const nextDueMs = Math.max((current.dueMs ?? nowMs) + periodMs, nowMs);
    if (outcome === 'void') {
      current.voidsInARow++;
      const isRepeatedAtOnce = current.voidsInARow % (MOST_REPEATS + 1) !== 0;
      current.dueMs = isRepeatedAtOnce ? nowMs : nextDueMs;
      return;
    }
    current.voidsInARow = 0;
    current.dueMs = nextDueMs;
    if (outcome === undefined) return;
    if (outcome.result === 'error') {
      // What could not be begun for earlier ones that hang is not run now, which is no reason why it cannot be.
      if (outcome.isHeldBack === undefined) this.#countError(current, outcome.message);
      return;
    }
    current.errorsInARow = 0;
    this.#observe();
    // It may have been replaced meanwhile, or have ended: then the outcome is of the past.
    if (this.#current !== current || current.target.state !== 'running') return;
    this.#count(current, outcome);
  }

  #countError(current: Current, message: string): void {
    const times = probeTiming(this.#subject.probe).failureThreshold;
    if (++current.errorsInARow === times) this.#options.onNotRun(current.containerId, times, message);
  }

  /** What to run now that it is our turn; a turn may have taken a while to come. */
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
