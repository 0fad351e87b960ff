/**
 * Computes what to do to a pod so that it matches its manifest: the heart of a sync, and pure.
 *
 * In: the desired pod, what the runtime shows of it, the results of probes, and how long ago things happened.
 * Out: {@link PodActions}. It assumes that the view is newer than the changes of the last sync. A call of
 * that sync that was cut short shows as a container that was created and never started; this plan starts it.
 *
 * The rules are the kubelet's (computePodActions of its runtime manager), with these differences: a created
 * container is started, not created again; back-off is decided here; a pod that runs once restarts nothing,
 * whatever its state; a second container of the same name, and one that an edit removed from the pod, are
 * stopped.
 *
 * @module
 */
import { type PodStatus } from '#watch';
import { findSandboxFlaw } from '../../status/sandbox-flaw.js';
import { planNewSandbox } from './compute-actions-sandbox.js';
import { ContainerDefinitions } from './container-definition.js';
import { ContainerPlanner, type PlannedContainer } from '../containers/container-planner.js';
import { type PodActionInputs, type PodActions, type ProbeVerdicts } from './pod-actions.js';
import { mayBeAlive } from '../../status/pod-containers.js';
import { type Container, type EphemeralContainer } from '#kube/container/container.js';
import { initKindOf } from '#kube/container/restart-rule.js';

const DEFINITION_CHANGED = 'Sandbox for pod has changed. Need to start a new one';

/** See {@link PodActions}. Never throws, whatever the runtime shows. */
export function computePodActions(inputs: PodActionInputs): PodActions {
  const { pod, observed } = inputs;
  const definitions = new ContainerDefinitions(pod, inputs);
  const problem = findSandboxProblem(inputs, definitions);
  const sandboxId = problem === undefined ? observed.sandboxes[0]?.id : undefined;
  const planner = new ContainerPlanner(inputs, definitions, sandboxId);
  if (pod.metadata.deletionTimestamp !== undefined) return endPod(inputs, planner);
  const { containers, initContainers = [] } = pod.spec;
  const regular = containers.map((container, index): PlannedContainer => ({
    kind: 'regular',
    container,
    index,
  }));
  if (problem !== undefined) {
    const createSandbox = planNewSandbox(planner, regular, initContainers, problem.lost);
    if (!createSandbox) return endPod(inputs, planner, problem.message);
    const killPod = observed.sandboxes.length > 0 || hasLife(observed);
    return toActions(inputs, planner, { killPod, createSandbox, sandboxMessage: problem.message });
  }
  // Independent of the others: they may be there to find out why those do not start.
  planEphemeralContainers(planner, pod.spec.ephemeralContainers ?? []);
  const progress = planInitContainers(planner, initContainers, regular, inputs.probes);
  if (progress === 'failed') return endPod(inputs, planner);
  if (progress === 'initialized') {
    const outcomes = regular.map((each) => planner.plan(each));
    // Containers that are being stopped and will not restart do not keep a pod alive; neither do sidecars.
    const isOver = outcomes.every((outcome) => outcome === 'ended' || outcome === 'stopping');
    if (isOver) {
      const failed = planner.kills.filter(({ reason, name }) => {
        const isProbed = reason === 'LivenessProbe' || reason === 'StartupProbe';
        return isProbed && containers.some((container) => container.name === name);
      });
      return { ...endPod(inputs, planner), containersToKill: failed };
    }
  }
  planner.killStrays(new Set([...initContainers, ...containers].map(({ name }) => name)));
  return toActions(inputs, planner, { killPod: false, createSandbox: false, sandboxId });
}

/** Whether these actions change nothing in the runtime. */
export function isNothingToDo(actions: PodActions): boolean {
  return (
    !actions.killPod &&
    !actions.createSandbox &&
    actions.ephemeralContainersToStart.length === 0 &&
    actions.initContainersToStart.length === 0 &&
    actions.containersToStart.length === 0 &&
    actions.containersToKill.length === 0 &&
    actions.containersToResize.length === 0 &&
    actions.containersToRemove.length === 0
  );
}

interface SandboxProblem {
  readonly message: string;
  /** Nobody changed the pod: the sandbox disappeared. */
  readonly lost: boolean;
}

function findSandboxProblem(
  { pod, observed }: PodActionInputs,
  definitions: ContainerDefinitions,
): SandboxProblem | undefined {
  const [newest] = observed.sandboxes;
  // First, so that a sandbox that was ended for an edit is still known as such if the agent was killed
  // meanwhile.
  if (newest !== undefined && !definitions.isSandboxCurrent(newest)) {
    return { message: DEFINITION_CHANGED, lost: false };
  }
  const flaw = findSandboxFlaw(pod, observed);
  if (flaw === undefined) return undefined;
  return { message: flaw.message, lost: flaw.kind !== 'network' };
}

/** Stops everything and starts nothing. */
function endPod(inputs: PodActionInputs, planner: ContainerPlanner, sandboxMessage?: string): PodActions {
  planner.starts.length = 0;
  planner.waits.length = 0;
  const isReady = inputs.observed.sandboxes.some(({ state }) => state !== 'exited');
  const killPod = isReady || hasLife(inputs.observed);
  return toActions(inputs, planner, { killPod, createSandbox: false, sandboxMessage });
}

function hasLife(observed: PodStatus): boolean {
  return observed.containers.some(mayBeAlive);
}

function toActions(
  { observed }: PodActionInputs,
  planner: ContainerPlanner,
  plan: Pick<PodActions, 'killPod' | 'createSandbox'> &
    Partial<Pick<PodActions, 'sandboxMessage' | 'sandboxId'>>,
): PodActions {
  const { starts, kills, resizes, waits, removals, definitions } = planner;
  const newestAttempt = Math.max(-1, ...observed.sandboxes.map(({ attempt }) => attempt));
  return {
    killPod: plan.killPod,
    createSandbox: plan.createSandbox,
    sandboxMessage: plan.sandboxMessage,
    sandboxId: plan.sandboxId,
    sandboxAttempt: plan.createSandbox ? newestAttempt + 1 : Math.max(0, newestAttempt),
    ephemeralContainersToStart: starts.filter(({ kind }) => kind === 'ephemeral'),
    initContainersToStart: starts.filter(({ kind }) => kind === 'init' || kind === 'sidecar'),
    containersToStart: starts.filter(({ kind }) => kind === 'regular'),
    containersToKill: plan.killPod ? [] : kills,
    containersToResize: plan.killPod ? [] : resizes,
    containersToRemove: removals,
    containersInBackoff: waits,
    requeueAfterMs: waits.length === 0 ? undefined : Math.min(...waits.map(({ remainingMs }) => remainingMs)),
    baselinesToKeep: definitions.baselinesToKeep,
  };
}

/**
 * Plans the ephemeral containers of the present sandbox: each starts once, whatever happens to it or is
 * edited later.
 */
function planEphemeralContainers(
  planner: ContainerPlanner,
  ephemeralContainers: readonly EphemeralContainer[],
): void {
  for (const [index, container] of ephemeralContainers.entries()) {
    if (planner.hasBeenStarted(container)) continue;
    const created = planner.containers.of(container.name).current.find(({ state }) => state === 'created');
    planner.start({ kind: 'ephemeral', container, index }, 0, created?.id);
  }
}

/** The progress of the init containers of a sandbox; `failed` ends the pod. */
type InitProgress = 'initialized' | 'under-way' | 'failed';

/**
 * Plans the init containers of the present sandbox: the next one to run, and sidecars that keep running.
 *
 * Completed ones may have been removed, so the last one that exists shows the progress. Once the sandbox has
 * a regular container, all init containers are through.
 */
function planInitContainers(
  planner: ContainerPlanner,
  initContainers: readonly Container[],
  regular: readonly PlannedContainer[],
  probes: ProbeVerdicts,
): InitProgress {
  const init = initContainers.map((container, index): PlannedContainer => ({
    kind: initKindOf(container),
    container,
    index,
  }));
  const isThere = ({ container }: PlannedContainer): boolean =>
    planner.containers.of(container.name).current.length > 0;
  if (regular.some(isThere)) {
    for (const each of init) if (each.kind === 'sidecar') planner.plan(each);
    return 'initialized';
  }
  const last = init.findLastIndex(isThere);
  for (const each of init.slice(0, Math.max(0, last))) if (each.kind === 'sidecar') planner.plan(each);
  const lastThere = init[last];
  if (lastThere !== undefined) {
    const outcome = planner.plan(lastThere);
    if (outcome === 'failed') return 'failed';
    const isThrough = outcome === 'ended' || (outcome === 'kept' && hasStarted(planner, lastThere, probes));
    if (!isThrough) return 'under-way';
  }
  const next = init[last + 1];
  if (next === undefined) return 'initialized';
  planner.plan(next);
  return 'under-way';
}

/** A started sidecar lets the next one start; an init container has to end first. */
function hasStarted(
  planner: ContainerPlanner,
  { kind, container }: PlannedContainer,
  probes: ProbeVerdicts,
): boolean {
  if (kind !== 'sidecar') return false;
  if (container.startupProbe === undefined) return true;
  const running = planner.containers.of(container.name).current.find(({ state }) => state === 'running');
  return running !== undefined && probes.hasStarted(running.id);
}
