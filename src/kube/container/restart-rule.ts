import { type Container, type ContainerRestartRule, type RestartPolicy } from './container.js';
import { type PodSpec } from '../pod/pod.js';

/**
 * The role of a container in its pod.
 *
 * `init` runs to its end before the next one starts; a `sidecar` is an init container that keeps running; an
 * `ephemeral` one joins a running pod, and is started once.
 */
export type ContainerKind = 'init' | 'sidecar' | 'regular' | 'ephemeral';

/**
 * After which exits a container is restarted.
 *
 * Source: https://kubernetes.io/docs/concepts/workloads/pods/pod-lifecycle/#restart-policy and KEP-5307.
 */
export interface RestartRule {
  readonly kind: ContainerKind;
  /** The container's own, else the pod's. */
  readonly policy: RestartPolicy;
  /** Evaluated before the policy; the first rule that matches the exit code decides. */
  readonly rules: readonly ContainerRestartRule[];
}

/** The init containers of a pod that keep running, in order. */
export function sidecarsOf({ initContainers = [] }: Pick<PodSpec, 'initContainers'>): readonly Container[] {
  return initContainers.filter((container) => initKindOf(container) === 'sidecar');
}

/** Kubernetes' default is Always. */
function restartPolicyOf(spec: PodSpec): RestartPolicy {
  return spec.restartPolicy ?? 'Always';
}

/** The kind of a container in spec.initContainers. */
export function initKindOf(container: Container): 'init' | 'sidecar' {
  return container.restartPolicy === 'Always' ? 'sidecar' : 'init';
}

/** The rule for a container of the spec. */
export function restartRuleOf(kind: ContainerKind, container: Container, spec: PodSpec): RestartRule {
  const { restartPolicy = restartPolicyOf(spec), restartPolicyRules: rules = [] } = container;
  return { kind, policy: restartPolicy, rules };
}

/** Whether a container that ended with this exit code should be restarted. Pure. */
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
 * Whether a failed container without a meaningful exit code should be restarted: its probes ended it, or
 * nobody knows how it ended. Pure.
 */
export function mayRestartFailed({ kind, policy }: RestartRule): boolean {
  return kind === 'sidecar' || (kind !== 'ephemeral' && policy !== 'Never');
}

/** Whether it is never restarted, whatever its exit. Pure. */
export function runsOnce(rule: RestartRule): boolean {
  return !mayRestartFailed(rule) && (rule.kind === 'ephemeral' || rule.rules.length === 0);
}

/**
 * Whether no regular container of a pod is ever restarted, so that the pod's work ends with its sandbox.
 * Pure.
 */
export function isRunOnce(spec: PodSpec): boolean {
  return spec.containers.every((container) => runsOnce(restartRuleOf('regular', container, spec)));
}

/** Whether the end of some container may restart all of the pod, whatever their own policies. Pure. */
export function mayRestartAll({ containers, initContainers = [] }: PodSpec): boolean {
  return [...initContainers, ...containers].some(mayAskToRestartAll);
}

/** Whether some end of this container restarts all of its pod. Pure. */
export function mayAskToRestartAll({ restartPolicyRules = [] }: Container): boolean {
  return restartPolicyRules.some(({ action }) => action === 'RestartAllContainers');
}

/** Whether the end of this container with this exit code restarts all of its pod: the first rule that fits decides. Pure. */
export function asksToRestartAll({ restartPolicyRules = [] }: Container, exitCode: number): boolean {
  return restartPolicyRules.find((rule) => fits(rule, exitCode))?.action === 'RestartAllContainers';
}

/** Whether every regular container of a pod is restarted after any exit. Pure. */
export function restartsAlways(spec: PodSpec): boolean {
  return spec.containers.every((container) => isEndless(container, spec));
}

/** Whether a pod never ends by itself, because of one container. Pure. */
export function hasEndlessContainer(spec: PodSpec): boolean {
  return spec.containers.some((container) => isEndless(container, spec));
}

function isEndless({ restartPolicy }: Container, spec: PodSpec): boolean {
  return (restartPolicy ?? restartPolicyOf(spec)) === 'Always';
}

function fits({ exitCodes: { operator, values = [] } }: ContainerRestartRule, exitCode: number): boolean {
  return values.includes(exitCode) === (operator === 'In');
}
