import { type Container } from '#kube/container/container.js';
import { DEFAULT_GRACE_SECONDS } from '#kube/pod/default-grace.js';
import { type ContainerStatus } from '#watch';
import {
  asksToRestartAll,
  type ContainerKind,
  isRunOnce,
  mayAskToRestartAll,
  mayRestart,
  mayRestartFailed,
  restartRuleOf,
  type RestartRule,
} from '#kube/container/restart-rule.js';
import { type ContainerDefinitions } from '../actions/container-definition.js';
import { computeNextRestartCount } from '../actions/next-restart-count.js';
import {
  type ContainerInBackoff,
  type ContainerToKill,
  type ContainerToRemove,
  type ContainerToResize,
  type ContainerToStart,
  type KillReason,
  type PodActionInputs,
} from '../actions/pod-actions.js';
import { type ContainerHistory, hasRun, mayBeAlive, PodContainers } from '../../status/pod-containers.js';
import {
  computeRestartStep,
  DEFAULT_RESTART_BACKOFF,
  formatBackoffMessage,
  readRestartDelayMs,
} from '../actions/restart-backoff.js';

/**
 * What happens to one container of the spec.
 *
 * - `kept`: runs and goes on
 * - `starting`: starts now
 * - `waiting`: starts once a back-off is over or another container is dead
 * - `stopping`: is killed, and will not restart
 * - `ended`: will not restart
 * - `failed`: an init container that ended the pod
 */
export type ContainerOutcome = 'kept' | 'starting' | 'waiting' | 'stopping' | 'ended' | 'failed';

/** A container of the spec and its index there. */
export interface PlannedContainer {
  readonly kind: ContainerKind;
  readonly container: Container;
  readonly index: number;
}

/** Plans containers one by one, and collects the actions. */
export class ContainerPlanner {
  readonly containers: PodContainers;
  /** No regular container ever restarts. */
  readonly isRunOnce: boolean;
  readonly definitions: ContainerDefinitions;
  readonly starts: ContainerToStart[] = [];
  readonly kills: ContainerToKill[] = [];
  readonly resizes: ContainerToResize[] = [];
  readonly waits: ContainerInBackoff[] = [];
  readonly #inputs: PodActionInputs;
  readonly #sandboxId: string | undefined;

  /** `sandboxId`: the present sandbox; undefined when there is none or it has to be created. */
  constructor(inputs: PodActionInputs, definitions: ContainerDefinitions, sandboxId: string | undefined) {
    this.#inputs = inputs;
    this.definitions = definitions;
    this.#sandboxId = sandboxId;
    this.containers = new PodContainers(inputs.observed, sandboxId);
    this.isRunOnce = isRunOnce(inputs.pod.spec);
  }

  /** Plans a container of a pod whose sandbox is in use. */
  plan(planned: PlannedContainer): ContainerOutcome {
    const { kind, container } = planned;
    const history = this.containers.of(container.name);
    // An init container has to run again in a new sandbox; the end of a regular one stays valid.
    const newest = findNewest(history, kind === 'regular');
    if (newest === undefined) return this.start(planned, this.#delayOfRemoved(planned.container));
    switch (newest.state) {
      case 'created':
        return this.#planCreated(planned, newest, history);
      case 'running':
        return this.#planRunning(planned, newest);
      case 'exited':
        return this.planExited(planned, newest);
      case 'unknown':
        return this.#planUnknown(planned, newest);
    }
  }

  /** Plans a container that ended, with nothing newer alive. */
  planExited(planned: PlannedContainer, ended: ContainerStatus): ContainerOutcome {
    const { kind } = planned;
    // The present definition has never run, whatever happened to the former one.
    if (!this.isCurrent(planned, ended)) return this.start(planned);
    const rule = this.#ruleOf(planned);
    // A container that was ended for its probes has failed, whatever its exit code.
    const isRestarted = this.#findFailedProbe(planned, ended) !== undefined && mayRestartFailed(rule);
    if (isRestarted || mayRestart(rule, ended.exitCode)) {
      return this.startAfter(planned, ended, this.#inputs.runTimes.endedForMs(ended));
    }
    return kind === 'init' && ended.exitCode !== 0 ? 'failed' : 'ended';
  }

  /** Whether a container was created from the present definition. */
  isCurrent({ container }: PlannedContainer, status: ContainerStatus): boolean {
    return this.definitions.isCurrent(status, container);
  }

  /**
   * Whether a container of that name has run since the pod was last recreated for an edit.
   *
   * If the runtime has lost it, its log still shows that.
   */
  hasBeenStarted({ name }: Container): boolean {
    const { all } = this.containers.of(name);
    if (all.length === 0) return this.#inputs.findLastRestartCount?.(name) !== undefined;
    return all.some((each) => hasRun(each) && !this.definitions.isOfFormerPod(each));
  }

  /**
   * Starts now; `restartDelayMs` is written on the container, and `createdId` is an existing one to start.
   */
  start(planned: PlannedContainer, restartDelayMs = 0, createdId?: string): ContainerOutcome {
    const { name } = planned.container;
    const restartCount =
      this.containers.of(name).all.find(({ id }) => id === createdId)?.restartCount ??
      this.#nextRestartCount(name);
    const hash = this.definitions.hashOf(planned.container);
    this.starts.push({ ...planned, restartCount, restartDelayMs, hash, createdId });
    return 'starting';
  }

  /** Starts as soon as the back-off after that container allows. */
  startAfter(planned: PlannedContainer, ended: ContainerStatus, endedForMs: number): ContainerOutcome {
    const { pod, runTimes, backoff = DEFAULT_RESTART_BACKOFF } = this.#inputs;
    const restartDelayMs = readRestartDelayMs(ended, backoff);
    const run = { restartDelayMs, ranForMs: runTimes.ranForMs(ended), endedForMs };
    const { delayMs, remainingMs, nextDelayMs } = computeRestartStep(run, backoff);
    const { kind, container } = planned;
    // Its back-off may have ended within this sync: the next one restarts all.
    const isHeld = this.#inputs.isRestartingAll === true && asksToRestartAll(container, ended.exitCode);
    if (remainingMs === 0 && !isHeld) return this.start(planned, nextDelayMs);
    const message = formatBackoffMessage(delayMs, container.name, pod.metadata);
    this.waits.push({ kind, container, delayMs, remainingMs: Math.max(1, remainingMs), message });
    return 'waiting';
  }

  /** Starts in place of a container that did nothing wrong: the back-off stays as it was. */
  startInPlaceOf(planned: PlannedContainer, replaced: ContainerStatus): ContainerOutcome {
    const { runTimes, backoff = DEFAULT_RESTART_BACKOFF } = this.#inputs;
    const ranWell = runTimes.ranForMs(replaced) >= backoff.resetAfterMs;
    return this.start(planned, ranWell ? 0 : readRestartDelayMs(replaced, backoff));
  }

  /**
   * Kills what should not be there and was not planned: containers of another sandbox, second ones of a name,
   * removed ones.
   *
   * Call it last.
   */
  killStrays(names: ReadonlySet<string>): void {
    for (const stray of this.containers.owned()) {
      if (!mayBeAlive(stray) || this.kills.some(({ id }) => id === stray.id)) continue;
      const { id, name } = stray;
      if (!names.has(name)) {
        this.#kill(stray, undefined, 'NotInPod', `Container ${name} is no longer part of the pod`);
      } else if (this.containers.of(name).current.find(mayBeAlive)?.id !== id) {
        this.#kill(stray, undefined, 'Duplicate', `Container ${name} runs a second time`);
      }
    }
  }

  /** Containers that were created, never started, and are not used. Call it last. */
  get removals(): ContainerToRemove[] {
    const takenUp = new Set(this.starts.map(({ createdId }) => createdId));
    return this.containers
      .owned()
      .filter((container) => !hasRun(container) && !takenUp.has(container.id))
      .map(({ id, name }) => ({ id, name }));
  }

  #planCreated(
    planned: PlannedContainer,
    created: ContainerStatus,
    history: ContainerHistory,
  ): ContainerOutcome {
    const isUsable = created.sandboxId === this.#sandboxId && this.isCurrent(planned, created);
    if (isUsable) return this.start(planned, 0, created.id);
    const ended = history.all.find(hasRun);
    return ended === undefined ? this.start(planned) : this.planExited(planned, ended);
  }

  #planRunning(planned: PlannedContainer, running: ContainerStatus): ContainerOutcome {
    const { kind, container } = planned;
    // A stray: see killStrays.
    if (running.sandboxId !== this.#sandboxId) return 'waiting';
    const what = `${kind === 'regular' ? 'Container' : 'Init container'} ${container.name}`;
    if (!this.isCurrent(planned, running)) {
      this.#kill(running, container, 'DefinitionChanged', `${what} definition changed, will be restarted`);
      return this.start(planned);
    }
    if (kind === 'init') return 'kept';
    const failed = this.#findFailedProbe(planned, running);
    if (failed === undefined) return this.#planResize(planned, running);
    const probe = failed === 'StartupProbe' ? 'startup' : 'liveness';
    return this.#restart(planned, running, failed, `${what} failed ${probe} probe`);
  }

  /** Of the probes that the container has now. */
  #findFailedProbe(
    { container }: PlannedContainer,
    { id }: ContainerStatus,
  ): 'StartupProbe' | 'LivenessProbe' | undefined {
    const { probes } = this.#inputs;
    if (container.startupProbe !== undefined && probes.hasFailedStartup(id)) return 'StartupProbe';
    return container.livenessProbe !== undefined && probes.hasFailedLiveness(id)
      ? 'LivenessProbe'
      : undefined;
  }

  #planResize(planned: PlannedContainer, running: ContainerStatus): ContainerOutcome {
    const { pod, resizes } = this.#inputs;
    const { container } = planned;
    if (resizes === undefined || !this.definitions.isResizable(running)) return 'kept';
    const change = resizes.findChange(pod, container, running);
    if (change === undefined) return 'kept';
    const { resizePolicy = [] } = container;
    const isRestarted = resizePolicy.some(
      ({ resourceName, restartPolicy }) => restartPolicy === 'RestartContainer' && change[resourceName],
    );
    if (!isRestarted && !resizes.isRefused(pod.metadata.uid, running.id)) {
      this.resizes.push({ id: running.id, container, change });
      return 'kept';
    }
    this.#kill(running, container, 'Resize', `Container ${container.name} resize requires restart`);
    return this.startInPlaceOf(planned, running);
  }

  #planUnknown(planned: PlannedContainer, unknown: ContainerStatus): ContainerOutcome {
    const { kind, container } = planned;
    // It may have run, and nobody can say how it ended: in a pod that runs once, that is a failure.
    if (kind === 'init' && !mayRestartFailed(this.#ruleOf(planned))) return 'failed';
    if (unknown.sandboxId !== this.#sandboxId) return 'waiting';
    const what = kind === 'regular' ? 'Container' : 'Init container';
    const message = `${what} is in "unknown" state, try killing it before restart`;
    this.#kill(unknown, container, 'Unknown', message);
    if (!this.isCurrent(planned, unknown)) return this.start(planned);
    if (!mayRestartFailed(this.#ruleOf(planned))) return 'stopping';
    return this.startAfter(planned, unknown, this.#inputs.runTimes.endedForMs(unknown));
  }

  #restart(
    planned: PlannedContainer,
    running: ContainerStatus,
    reason: KillReason,
    message: string,
  ): ContainerOutcome {
    const isRestarted = mayRestartFailed(this.#ruleOf(planned));
    this.#kill(running, planned.container, reason, isRestarted ? `${message}, will be restarted` : message);
    return isRestarted ? this.startAfter(planned, running, 0) : 'stopping';
  }

  #ruleOf({ kind, container }: PlannedContainer): RestartRule {
    return restartRuleOf(kind, container, this.#inputs.pod.spec);
  }

  #kill(
    { id, name }: ContainerStatus,
    container: Container | undefined,
    reason: KillReason,
    message: string,
  ): void {
    const gracePeriodSeconds = this.#gracePeriodSeconds(container, reason);
    this.kills.push({ id, name, container, reason, message, gracePeriodSeconds });
  }

  #gracePeriodSeconds(container: Container | undefined, reason: KillReason): number {
    const ofPod = this.#inputs.pod.spec.terminationGracePeriodSeconds ?? DEFAULT_GRACE_SECONDS;
    if (reason === 'LivenessProbe') return container?.livenessProbe?.terminationGracePeriodSeconds ?? ofPod;
    if (reason === 'StartupProbe') return container?.startupProbe?.terminationGracePeriodSeconds ?? ofPod;
    return ofPod;
  }

  /**
   * The delay to write on a container when the runtime has no earlier one of its name. Where the last may have been removed
   * because it restarted all, only the restart count still says how long its back-off was.
   */
  #delayOfRemoved(container: Container): number {
    if (!mayAskToRestartAll(container) || this.containers.of(container.name).all.length > 0) return 0;
    const restartCount = this.#nextRestartCount(container.name);
    return readRestartDelayMs({ annotations: {}, restartCount }, this.#inputs.backoff);
  }

  #nextRestartCount(name: string): number {
    const last = this.#inputs.findLastRestartCount?.(name);
    return computeNextRestartCount(this.containers.of(name).all, last);
  }
}

/** From the present sandbox or from all; a container that may be alive goes before a newer dead one. */
function findNewest({ current, all }: ContainerHistory, ofAll: boolean): ContainerStatus | undefined {
  const alive = current.find(mayBeAlive);
  if (alive !== undefined || !ofAll) return alive ?? current[0];
  return all.find(mayBeAlive) ?? all[0];
}
