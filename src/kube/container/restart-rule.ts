import { type Container, type ContainerRestartRule, type RestartPolicy } from './container.js';
import { type PodSpec } from '../pod/pod.js';

/**
 * `init` runs to its end before the next one starts; a `sidecar` is an init container that is kept running; an `ephemeral`
 * one joins a pod that runs, and is started once.
 */
export type ContainerKind = 'init' | 'sidecar' | 'regular' | 'ephemeral';

/**
 * After which ends a container is started again.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy and KEP-5307.
 */
export interface RestartRule {
  readonly kind: ContainerKind;
  /** The container's own, else the pod's. */
  readonly policy: RestartPolicy;
  /** They count before the policy; the first that fits the exit code decides. */
  readonly rules: readonly ContainerRestartRule[];
}

/** The init containers of a pod that are kept running, in their order. */
export function sidecarsOf({ initContainers = [] }: Pick<PodSpec, 'initContainers'>): readonly Container[] {
  return initContainers.filter((container) => initKindOf(container) === 'sidecar');
}

/** Kubernetes' default is Always. */
function restartPolicyOf(spec: PodSpec): RestartPolicy {
  return spec.restartPolicy ?? 'Always';
}

/** Which kind a container of spec.initContainers is. */
export function initKindOf(container: Container): 'init' | 'sidecar' {
  return container.restartPolicy === 'Always' ? 'sidecar' : 'init';
}

/** The rule for a container of the spec. */
export function restartRuleOf(kind: ContainerKind, container: Container, spec: PodSpec): RestartRule {
  const { restartPolicy = restartPolicyOf(spec), restartPolicyRules: rules = [] } = container;
  return { kind, policy: restartPolicy, rules };
}

/** Whether a container that ended with that code is to be started again. Pure. */
export function mayRestart({ kind, policy, rules }: RestartRule, exitCode: number): boolean {
  const isWanted = rules.some((rule) => fits(rule, exitCode)) || policy === 'Always';
  switch (kind) {
    case 'sidecar':
      return true;
    case 'ephemeral':
      return false;
    case 'init':
      return exitCode !== 0 && (isWanted || policy === 'OnFailure');
    case 'regular':
      return isWanted || (policy === 'OnFailure' && exitCode !== 0);
  }
}

/**
 * Whether a container is to be started again that has failed without an exit code that says anything: it is ended for its
 * probes, or nobody knows how it ended. Pure.
 */
export function mayRestartFailed({ kind, policy }: RestartRule): boolean {
  return kind === 'sidecar' || (kind !== 'ephemeral' && policy !== 'Never');
}

/** Whether there is no end after which it is started again. Pure. */
export function runsOnce(rule: RestartRule): boolean {
  return !mayRestartFailed(rule) && (rule.kind === 'ephemeral' || rule.rules.length === 0);
}

/** Whether no regular container of a pod is ever started again: what it has begun is over with its sandbox. Pure. */
export function isRunOnce(spec: PodSpec): boolean {
  return spec.containers.every((container) => runsOnce(restartRuleOf('regular', container, spec)));
}

/** Whether every regular container of a pod is started again after any end. Pure. */
export function restartsAlways(spec: PodSpec): boolean {
  return spec.containers.every((container) => isEndless(container, spec));
}

/** Whether a pod never ends by itself, for the sake of one container. Pure. */
export function hasEndlessContainer(spec: PodSpec): boolean {
  return spec.containers.some((container) => isEndless(container, spec));
}

function isEndless({ restartPolicy }: Container, spec: PodSpec): boolean {
  return (restartPolicy ?? restartPolicyOf(spec)) === 'Always';
}

function fits({ exitCodes: { operator, values = [] } }: ContainerRestartRule, exitCode: number): boolean {
  return values.includes(exitCode) === (operator === 'In');
}
