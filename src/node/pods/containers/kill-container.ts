import { type Container, type LifecycleHandler } from '#kube/container/container.js';
import { type PodEventRecorder } from '#kube/pod/pod-event-recorder.js';
import { type PodRef } from '#kube/pod/pod-ref.js';
import { type RuntimeChanges } from '../../runtime/runtime-changes.js';
import { abortable } from '#base/async/abortable.js';
import { type Clock } from '#base/time/clock.js';
import { type LogFields, type Logger } from '#base/log/logger.js';

import { type LifecycleHooks } from '../hooks/lifecycle-hook.js';

/** Options of {@link ContainerKiller}. */
export interface ContainerKillerOptions {
  readonly changes: Pick<RuntimeChanges, 'stopContainer'>;
  readonly hooks: Pick<LifecycleHooks, 'run'>;
  readonly events: PodEventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
  /** A container's id as log lines show it. */
  readonly formatId: (containerId: string) => string;
}

/** A container to end. */
export interface ContainerKill {
  readonly pod: PodRef;
  readonly containerId: string;
  readonly containerName: string;
  /** For the hook, the wait for other containers, and the container's own end together. */
  readonly graceSeconds: number;
  /** The message of the event (default: `Stopping container NAME`). */
  readonly message?: string | undefined;
  readonly preStop?: LifecycleHandler | undefined;
  readonly ports?: Container['ports'];
  /** Where the container's ports are reachable. */
  readonly host: string;
  /** Resolves when the containers that must end before it have ended. */
  readonly turn?: Promise<void> | undefined;
}

interface RunningHook {
  /** True when the hook ended, well or not; false when its time was up. Never rejects. */
  readonly done: Promise<boolean>;
}

/** Minimum time for the container to react to its stop signal, however much was used up before. */
const LEAST_GRACE_SECONDS = 2;
/** Limit for remembered hooks; those of containers that somebody else ended are forgotten, oldest first. */
const MAX_HOOKS = 10_000;

/**
 * Ends single containers within the grace period: the preStop hook, then the stop signal, then SIGKILL.
 *
 * May be called again for the same container with a shorter grace period, after the previous call was
 * aborted. A hook that runs is not run twice, and a shorter stop overtakes one that is under way.
 */
export class ContainerKiller {
  readonly #options: ContainerKillerOptions;
  readonly #hooks = new Map<string, RunningHook>();

  constructor(options: ContainerKillerOptions) {
    this.#options = options;
  }

  /** Resolves when the container has ended. Rejects when it could not be stopped, or with the signal's reason. */
  async kill(kill: ContainerKill, signal: AbortSignal): Promise<void> {
    const { changes, clock, events, logger, formatId } = this.#options;
    const { pod, containerId, containerName, graceSeconds } = kill;
    const containerID = formatId(containerId);
    const names = { pod, podUID: pod.uid, containerName, containerID };
    const message = kill.message ?? `Stopping container ${containerName}`;
    const isFirst = !this.#hooks.has(containerId);
    if (isFirst) {
      events.record(pod, { type: 'Normal', reason: 'Killing', message, container: containerName });
    }
    const startedMs = clock.monotonicMs();
    const leftSeconds = (): number => graceSeconds - (clock.monotonicMs() - startedMs) / 1000;
    if (kill.preStop !== undefined && graceSeconds > 0) {
      await this.#runPreStop(kill, kill.preStop, names, signal);
    }
    if (kill.turn !== undefined && leftSeconds() > 0) {
      await this.#waitAtMost(
        kill.turn.then(() => true),
        leftSeconds() * 1000,
        signal,
      );
    }
    const gracePeriod = Math.max(LEAST_GRACE_SECONDS, Math.ceil(leftSeconds()));
    logger.info('Killing container with a grace period', { ...names, gracePeriod }, 2);
    try {
      await changes.stopContainer(containerId, gracePeriod, { signal, pod });
    } catch (error) {
      signal.throwIfAborted();
      logger.error('Container termination failed with gracePeriod', error, { ...names, gracePeriod });
      throw error;
    }
    this.#hooks.delete(containerId);
    logger.info('Container exited normally', names, 3);
  }

  async #runPreStop(
    kill: ContainerKill,
    handler: LifecycleHandler,
    names: LogFields,
    signal: AbortSignal,
  ): Promise<void> {
    const { logger } = this.#options;
    const { containerId, graceSeconds } = kill;
    const hook = this.#hooks.get(containerId) ?? this.#startPreStop(kill, handler, names);
    const isDone = await this.#waitAtMost(hook.done, graceSeconds * 1000, signal);
    if (isDone) logger.info('PreStop hook completed', names, 3);
    else {
      logger.info('PreStop hook not completed in grace period', { ...names, gracePeriod: graceSeconds }, 2);
    }
  }

  /** Continues after its caller has left: the next caller waits for the same hook. */
  #startPreStop(kill: ContainerKill, handler: LifecycleHandler, names: LogFields): RunningHook {
    const { hooks, events, logger, clock } = this.#options;
    const { pod, containerId, containerName, graceSeconds, ports = [], host } = kill;
    logger.info('Running preStop hook', names, 3);
    const timeoutSeconds = Math.max(1, Math.ceil(graceSeconds));
    const call = { pod, containerId, containerName, handler, ports, host, timeoutSeconds };
    const timesUp = new AbortController();
    const timer = clock.setTimer(timeoutSeconds * 1000, () => timesUp.abort(), { unref: true });
    const done = hooks
      .run(call, timesUp.signal)
      .then(
        (problem) => {
          if (problem === undefined) return true;
          logger.error('PreStop hook failed', problem, names);
          // The output of the hook may be secret.
          const message = 'PreStopHook failed';
          const event = { type: 'Warning', reason: 'FailedPreStopHook', message } as const;
          events.record(pod, { ...event, container: containerName });
          return true;
        },
        () => false,
      )
      .finally(() => timer.cancel());
    const hook = { done };
    this.#hooks.set(containerId, hook);
    if (this.#hooks.size > MAX_HOOKS) this.#hooks.delete(this.#hooks.keys().next().value!);
    return hook;
  }

  /** The result of `work`, or false when the time is up first. Rejects with the signal's reason. */
  async #waitAtMost(work: Promise<boolean>, ms: number, signal: AbortSignal): Promise<boolean> {
    let timer: { cancel(): void } | undefined;
    const timeout = new Promise<boolean>((resolve) => {
      timer = this.#options.clock.setTimer(ms, () => resolve(false));
    });
    try {
      return await abortable(Promise.race([work, timeout]), signal);
    } finally {
      timer?.cancel();
    }
  }
}
