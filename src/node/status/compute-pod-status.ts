/**
 * The status of a pod in Kubernetes' form. Pure.
 *
 * In: the desired pod, what the runtime shows of it, findings of probes, failed starts, and the previous
 * status. Out: {@link V1PodStatus}. The previous status fills in what the runtime has lost meanwhile (removed
 * containers, addresses of an ended sandbox) and keeps the times of transitions. A terminal phase stays.
 * After a restart of the agent there is no previous status, and the data on sandboxes and containers is
 * enough.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/
 *
 * @module
 */
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { computePodQos } from '#kube/pod/pod-qos.js';
import {
  isTerminalPhase,
  type PodPhase,
  toV1Time,
  type V1ContainerStatus,
  type V1ContainerWaiting,
  type V1PodStatus,
} from '#kube/pod/v1-pod-status.js';
import { quotesSecrets } from '../runtime/quotes-secrets.js';
import { ANNOTATIONS, type ContainerLimits, type ContainerStatus, type PodStatus } from '#watch';
import { areAllRemoved, isRestartingAll, type RestartAllInputs } from './all-containers-restart.js';
import { computeConditions, type PendingResize } from './compute-conditions.js';
import {
  computeContainerStatus,
  type ContainerStatusInputs,
  type ProbeStates,
} from './compute-container-statuses.js';
import { computePhase, type ContainerStatuses, type FindRule } from './compute-phase.js';
import { cutMessages } from './cut-messages.js';
import { hasRun, PodContainers } from './pod-containers.js';
import { choosePodIps } from './pod-ips.js';
import {
  initKindOf,
  isRunOnce,
  mayRestartAll,
  mayRestartFailed,
  restartRuleOf,
} from '#kube/container/restart-rule.js';
import { findSandboxFlaw } from './sandbox-flaw.js';

/** Why a pod ends that does not end by itself. */
export interface PodEnd {
  readonly phase: 'Failed' | 'Succeeded';
  /** DeadlineExceeded, Evicted … */
  readonly reason: string;
  readonly message: string;
  /** The node ends it for the sake of others: the reason of its condition DisruptionTarget. */
  readonly disruption?: string;
}

/** Facts about the node that appear in the status of its pods. */
export interface NodeFacts {
  /** The primary one first. May be empty. */
  readonly hostIps: readonly string[];
  /** `containerd`: the prefix of container ids. */
  readonly runtimeName: string;
}

/** All inputs of {@link computePodStatus}. */
export interface PodStatusInputs {
  readonly pod: NodePod;
  readonly observed: PodStatus;
  /** From the same life of the pod. */
  readonly previous: V1PodStatus | undefined;
  /** Milliseconds since the epoch. */
  readonly nowMs: number;
  readonly node: NodeFacts;
  readonly probes: ProbeStates;
  /** See {@link StartFailures}. */
  readonly findStartFailure?: (containerName: string) => V1ContainerWaiting | undefined;
  /** What the pod waits for before it starts: shown on each container that is to start. */
  readonly waitsFor?: string | undefined;
  /** The end of what a container wrote to its terminationMessagePath. */
  readonly findTerminationMessage?: (containerId: string) => string | undefined;
  /** Whether a container was created from the present definition (default: all were). */
  readonly isCurrent?: (container: ContainerStatus) => boolean;
  /** The actual limits of a running container (default: those in its status). */
  readonly findLimits?: (container: ContainerStatus) => ContainerLimits | undefined;
  /** Whether the runtime supports recursive read-only mounts for the pod (default: it does not). */
  readonly canMountRecursivelyReadOnly?: boolean;
  /** Why the pod waits for the resources of its last edit. */
  readonly pendingResize?: PendingResize | undefined;
  /** The pod is being ended: nothing restarts. */
  readonly isEnding?: boolean;
  /** Replaces phase, reason and message. */
  readonly end?: PodEnd | undefined;
}

/** See the module. */
export function computePodStatus(inputs: PodStatusInputs): V1PodStatus {
  const { pod, observed, previous, nowMs, end } = inputs;
  const findRule = rulesOf(pod.spec);
  const restartAll = restartAllOf(inputs, findRule);
  const { init, regular, ephemeral, hasBegun } = computeStatuses(inputs, findRule, restartAll);
  const statuses = groupByKind(pod.spec, init, regular, hasBegun);
  const computed = computePhase(statuses, findRule, inputs.isEnding === true);
  const phase = choosePhase(computed, inputs);
  const startMs = findPodStartMs(observed) ?? nowMs;
  const sandboxFlaw = findSandboxFlaw(pod, observed)?.condition;
  const conditionsBefore = previous?.conditions ?? [];
  return cutMessages({
    phase,
    conditions: computeConditions({
      ...{ phase, statuses, sandboxFlaw, nowMs },
      previous: conditionsBefore,
      restartAll: restartAll?.condition,
      pendingResize: inputs.isEnding === true ? undefined : inputs.pendingResize,
      disruption: end?.disruption,
    }),
    ...chooseReason(phase, end, previous),
    ...chooseAddresses(inputs),
    startTime: previous?.startTime ?? toV1Time(startMs),
    ...(init.length === 0 ? {} : { initContainerStatuses: init }),
    containerStatuses: regular,
    ...(ephemeral.length === 0 ? {} : { ephemeralContainerStatuses: ephemeral }),
    qosClass: computePodQos(pod.spec),
  });
}

/** `init` in the order of the spec. */
export function groupByKind(
  { initContainers = [] }: PodSpec,
  init: readonly V1ContainerStatus[],
  regular: readonly V1ContainerStatus[],
  hasBegun: boolean,
): ContainerStatuses {
  const ofKind = (kind: 'init' | 'sidecar'): V1ContainerStatus[] =>
    init.filter((_, index) => initKindOf(initContainers[index]!) === kind);
  return { init: ofKind('init'), sidecars: ofKind('sidecar'), regular, hasBegun };
}

/** The names are those of the spec's containers, of each kind. */
function rulesOf(spec: PodSpec): FindRule {
  const { containers, initContainers = [], ephemeralContainers = [] } = spec;
  const rules = [
    ...initContainers.map((each) => [each.name, restartRuleOf(initKindOf(each), each, spec)] as const),
    ...containers.map((each) => [each.name, restartRuleOf('regular', each, spec)] as const),
    ...ephemeralContainers.map((each) => [each.name, restartRuleOf('ephemeral', each, spec)] as const),
  ];
  const byName = new Map(rules);
  return (name) => byName.get(name)!;
}

/** How far a restart of all containers is; undefined for a pod in which nothing can ask for one. */
interface RestartAll {
  readonly condition: 'started' | 'none';
  readonly isUnderWay: boolean;
}

function restartAllOf(inputs: PodStatusInputs, findRule: FindRule): RestartAll | undefined {
  const { pod, observed, isCurrent, probes, previous } = inputs;
  if (!mayRestartAll(pod.spec)) return undefined;
  if (inputs.isEnding === true) return { condition: 'none', isUnderWay: false };
  const facts: RestartAllInputs = {
    spec: pod.spec,
    containers: new PodContainers(observed, observed.sandboxes[0]?.id),
    isOwnEnd: ({ name }, status) =>
      isCurrent?.(status) !== false &&
      (probes.failure?.(status.id) === undefined || !mayRestartFailed(findRule(name))),
  };
  const isUnderWay = isRestartingAll(facts, previous?.conditions ?? []);
  return { condition: isUnderWay && !areAllRemoved(facts) ? 'started' : 'none', isUnderWay };
}

function computeStatuses(
  inputs: PodStatusInputs,
  findRule: FindRule,
  restartAll: RestartAll | undefined,
): {
  readonly init: readonly V1ContainerStatus[];
  readonly regular: readonly V1ContainerStatus[];
  readonly ephemeral: readonly V1ContainerStatus[];
  readonly hasBegun: boolean;
} {
  const { pod, observed, previous, node, probes, waitsFor: message } = inputs;
  const { containers, initContainers = [], ephemeralContainers = [] } = pod.spec;
  const waitingReason = initContainers.length > 0 ? 'PodInitializing' : 'ContainerCreating';
  const findStartFailure =
    message === undefined ? inputs.findStartFailure : () => ({ reason: waitingReason, message });
  const podContainers = new PodContainers(observed, observed.sandboxes[0]?.id);
  const isThere = ({ name }: { readonly name: string }): boolean => podContainers.of(name).all.length > 0;
  const allBefore = [
    ...(previous?.initContainerStatuses ?? []),
    ...(previous?.containerStatuses ?? []),
    ...(previous?.ephemeralContainerStatuses ?? []),
  ];
  const inputsFor = (container: Container, isBehind = false, isAhead = false): ContainerStatusInputs => {
    const { name } = container;
    const before = allBefore.find((status) => status.name === name);
    return {
      containers: podContainers,
      rule: findRule(name),
      probes,
      isEnding: inputs.isEnding === true || pod.metadata.deletionTimestamp !== undefined,
      findStartFailure: findStartFailure ?? (() => undefined),
      isCurrent: inputs.isCurrent ?? (() => true),
      findLimits: inputs.findLimits ?? (({ resources }) => resources),
      canMountRecursivelyReadOnly: inputs.canMountRecursivelyReadOnly === true,
      ...{ waitingReason, isBehind, isAhead, isRestartingAll: restartAll?.isUnderWay === true },
      previous: before,
      runtimeName: node.runtimeName,
      quotesSecrets: quotesSecrets(container),
      findTerminationMessage: inputs.findTerminationMessage ?? (() => undefined),
      wasRunning: (id) =>
        before?.containerID?.endsWith(`://${id}`) === true && before.state.waiting === undefined,
    };
  };
  const findLast = (isIn: typeof isThere): number =>
    containers.some(isIn) ? initContainers.length : initContainers.findLastIndex(isIn);
  const lastThere = findLast(isThere);
  const lastInUse = findLast(({ name }) => podContainers.of(name).current.length > 0);
  const regular = containers.map((container) => computeContainerStatus(container, inputsFor(container)));
  return {
    init: initContainers.map((container, index) =>
      computeContainerStatus(container, inputsFor(container, index < lastThere, index > lastInUse)),
    ),
    regular: isLost(inputs, regular) ? regular.map(asLost) : regular,
    ephemeral: ephemeralContainers.map((container) => {
      const own = { ...inputsFor(container), waitingReason: 'ContainerCreating' };
      return computeContainerStatus(container, own);
    }),
    hasBegun: containers.some(({ name }) => podContainers.of(name).current.some(hasRun)),
  };
}

/** Whether a pod that runs once has begun and lost its sandbox: what has not run yet never will. */
function isLost({ pod, observed }: PodStatusInputs, regular: readonly V1ContainerStatus[]): boolean {
  if (!isRunOnce(pod.spec) || !regular.some(({ state }) => state.terminated)) return false;
  const flaw = findSandboxFlaw(pod, observed);
  return flaw !== undefined && flaw.kind !== 'network';
}

function asLost(status: V1ContainerStatus): V1ContainerStatus {
  const { state, lastState } = status;
  if (state.waiting === undefined || lastState.terminated !== undefined) return status;
  const message = 'The sandbox of the pod was lost before the container could be started';
  const terminated = { exitCode: 137, reason: 'SandboxLost', message, startedAt: null, finishedAt: null };
  return { ...status, state: { terminated } };
}

function choosePhase(computed: PodPhase, { end, previous }: PodStatusInputs): PodPhase {
  if (previous !== undefined && isTerminalPhase(previous.phase)) return previous.phase;
  return end?.phase ?? computed;
}

function chooseReason(
  phase: PodPhase,
  end: PodEnd | undefined,
  previous: V1PodStatus | undefined,
): Pick<V1PodStatus, 'reason' | 'message'> {
  if (end?.phase === phase) return { reason: end.reason, message: end.message };
  if (previous?.phase !== phase) return {};
  const { reason, message } = previous;
  return { ...(reason === undefined ? {} : { reason }), ...(message === undefined ? {} : { message }) };
}

function chooseAddresses({
  pod,
  observed,
  previous,
  node,
}: PodStatusInputs): Pick<V1PodStatus, 'hostIP' | 'hostIPs' | 'podIP' | 'podIPs'> {
  const hostIps = choosePodIps(node.hostIps, node.hostIps);
  const hasSandbox = observed.sandboxes.some(({ state }) => state === 'running');
  const observedIps = choosePodIps(observed.ips, hostIps);
  const before = hasSandbox ? [] : (previous?.podIPs ?? []).map(({ ip }) => ip);
  const shown = observedIps.length > 0 ? observedIps : before;
  // A runtime that cannot make a network for pods puts them on the host's.
  const isOnHost = pod.spec.hostNetwork === true || observed.sandboxes[0]?.hostNetwork === true;
  const podIps = isOnHost ? hostIps : shown;
  return {
    ...(hostIps[0] === undefined ? {} : { hostIP: hostIps[0], hostIPs: hostIps.map((ip) => ({ ip })) }),
    ...(podIps[0] === undefined ? {} : { podIP: podIps[0], podIPs: podIps.map((ip) => ({ ip })) }),
  };
}

/**
 * Since when a pod is on this node, in milliseconds since the epoch; undefined when the runtime has nothing
 * of it.
 *
 * It comes from the annotation podloop.dev/pod-start-time, which is passed on from sandbox to sandbox,
 * otherwise from the creation of the oldest remaining sandbox or container.
 */
function findPodStartMs({ sandboxes, containers }: PodStatus): number | undefined {
  const written = sandboxes
    .map(({ annotations }) => Date.parse(annotations[ANNOTATIONS.podStartTime] ?? ''))
    .filter((ms) => !Number.isNaN(ms));
  if (written.length > 0) return Math.min(...written);
  const created = [...sandboxes, ...containers]
    .map(({ createdAtNs }) => createdAtNs)
    .filter((ns) => ns > 0n)
    .map((ns) => Number(ns / 1_000_000n));
  return created.length === 0 ? undefined : Math.min(...created);
}
