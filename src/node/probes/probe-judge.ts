import { type Slots } from '#base/async/slots.js';
import { type Clock } from '#base/time/clock.js';
import { messageOf } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { publishTo, type Publisher } from '#base/channels/publishing-channel.js';
import { probeEnded } from '#base/channels/probe-channels.js';
import { type LoopStallMonitor, type StallTime } from './loop-stall-monitor.js';
import { errored, type ProbeOutcome } from './probe-outcome.js';
import { titleOf } from './probe-result.js';
import { isVoid } from './probe-validity.js';
import { type JudgedOutcome, type ProbeRun } from './probe-worker.js';

/** Runs a probe once, within its timeout. A rejection means that the probe could not be run. */
export type RunProbe = (run: ProbeRun, signal: AbortSignal) => Promise<ProbeOutcome>;

/** Options of {@link ProbeJudge}. */
export interface ProbeJudgeOptions extends Publisher {
  readonly clock: Clock;
  readonly logger: Logger;
  /** By uids of pods. */
  readonly slots: Slots<string>;
  readonly stalls: LoopStallMonitor;
  readonly runProbe: RunProbe;
}

interface Trial {
  readonly outcome: ProbeOutcome;
  readonly isVoid: boolean;
  readonly durationMs: number;
  readonly stalled: StallTime;
}

/** How often a probe that could not be run is retried at once. */
const MAX_TRIES = 3;

/** Runs probes in their turn, and checks the outcomes against stalls of this process. */
export class ProbeJudge {
  readonly #options: ProbeJudgeOptions;
  #voided = 0;
  #unanswered = 0;
  #heldBack = 0;

  constructor(options: ProbeJudgeOptions) {
    this.#options = options;
  }

  /** How many outcomes did not count because this process was stalled. */
  get voided(): number {
    return this.#voided;
  }

  /** How many commands the runtime left unanswered while it answered other calls. */
  get unanswered(): number {
    return this.#unanswered;
  }

  /** How many probes were skipped, as too many of their commands were unanswered. */
  get heldBack(): number {
    return this.#heldBack;
  }

  /**
   * Waits for a turn, asks `begin` what to run, and runs it. Undefined when there is nothing to run any more.
   *
   * Rejects only with the signal's reason.
   */
  async run(
    begin: () => ProbeRun | undefined,
    podUid: string,
    signal: AbortSignal,
  ): Promise<JudgedOutcome | undefined> {
    return await this.#options.slots.run(podUid, async () => this.#runNow(begin, signal), signal);
  }

  async #runNow(begin: () => ProbeRun | undefined, signal: AbortSignal): Promise<JudgedOutcome | undefined> {
    for (let tries = 1; ; tries++) {
      const run = begin();
      if (run === undefined) return undefined;
      const trial = await this.#try(run, signal);
      const { result, isHeldBack } = trial.outcome;
      if (result === 'error' && isHeldBack === undefined && tries < MAX_TRIES) continue;
      this.#publish(run, trial);
      return trial.isVoid ? 'void' : trial.outcome;
    }
  }

  async #try(run: ProbeRun, signal: AbortSignal): Promise<Trial> {
    const { clock, stalls } = this.#options;
    const watch = stalls.watch();
    const startedMs = clock.monotonicMs();
    try {
      const outcome = await this.#ask(run, signal);
      const stalled = watch.stalled();
      const durationMs = clock.monotonicMs() - startedMs;
      return { outcome, isVoid: isVoid(outcome, stalled, run.timeoutMs), durationMs, stalled };
    } finally {
      watch.stop();
    }
  }

  async #ask(run: ProbeRun, signal: AbortSignal): Promise<ProbeOutcome> {
    const { runProbe, logger } = this.#options;
    if (run.probe.exec !== undefined && logger.enabled(4)) {
      const { uid, namespace, name } = run.pod;
      // Without the command, as its arguments may be secret.
      const names = { pod: { uid, namespace, name }, podUID: uid, containerName: run.container.name };
      logger.info('Exec-Probe runProbe', names, 4);
    }
    try {
      return await runProbe(run, signal);
    } catch (error) {
      signal.throwIfAborted();
      return errored(messageOf(error));
    }
  }

  #publish(run: ProbeRun, trial: Trial): void {
    const { pod, container, containerId, type } = run;
    const { outcome, durationMs, stalled } = trial;
    if (trial.isVoid) this.#voided++;
    else if (outcome.unansweredMs !== undefined) this.#unanswered++;
    if (outcome.isHeldBack === true) this.#heldBack++;
    this.#log(run, trial);
    publishTo(this.#options.channels, probeEnded, {
      podUid: pod.uid,
      namespace: pod.namespace,
      podName: pod.name,
      containerName: container.name,
      containerId,
      type,
      outcome: trial.isVoid ? 'void' : outcome.result,
      durationMs,
      stalledMs: stalled.totalMs,
      message: outcome.message,
    });
  }

  #log(run: ProbeRun, { outcome: { result, message }, isVoid: isVoided, stalled }: Trial): void {
    const { logger } = this.#options;
    const v = isVoided ? 2 : result === 'success' || result === 'warning' ? 4 : 1;
    if (!logger.enabled(v)) return;
    const fields = {
      probeType: titleOf(run.type),
      pod: { namespace: run.pod.namespace, name: run.pod.name },
      podUID: run.pod.uid,
      containerName: run.container.name,
    };
    if (isVoided) {
      logger.info(
        'Probe does not count, the agent itself stood still',
        { ...fields, output: message, stalledMs: Math.round(stalled.totalMs) },
        v,
      );
    } else if (result === 'error') {
      logger.error('Probe errored', message, { ...fields, probeResult: 'unknown' });
    } else if (result === 'failure') {
      logger.info('Probe failed', { ...fields, probeResult: 'failure', output: message }, v);
    } else if (result === 'warning') {
      logger.info('Probe succeeded with a warning', { ...fields, output: message }, v);
    } else {
      logger.info('Probe succeeded', fields, v);
    }
  }
}
