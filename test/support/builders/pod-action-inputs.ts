import { ANNOTATIONS, type ContainerStatus, LABELS, type PodStatus, type SandboxStatus } from '#watch';
import { type Container } from '#kube/container/container.js';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type PodSpec } from '#kube/pod/pod.js';
import { containerHash, sandboxHash } from '../../../src/node/pods/actions/container-hash.js';
import { type PodActionInputs, type PodActions } from '../../../src/node/pods/actions/pod-actions.js';
import { aContainer, aContainerStatus, aPodStatus, aSandbox, aSandboxStatus } from '#testing/builders.js';
import { aNodePod } from './node-pod-builder.js';

/** A container of a {@link PodActionsScene} as its runtime shows it. */
export interface BlueprintContainer extends Partial<ContainerStatus> {
  /** Made for what the pod said before somebody edited it. */
  readonly outdated?: boolean;
  /** What its creator wrote down for after its end. */
  readonly delayMs?: number;
  /** Another agent made it. */
  readonly foreign?: boolean;
  readonly ranForMs?: number;
  readonly endedForMs?: number;
}

/** What a {@link PodActionsScene} shows. */
export interface PodActionsBlueprint {
  readonly spec?: Partial<PodSpec>;
  readonly deleted?: boolean;
  /** Newest first (default: a ready one). */
  readonly sandboxes?: readonly Partial<SandboxStatus>[];
  /** By name; a list has the oldest first, and attempts count up. */
  readonly containers?: Readonly<Record<string, BlueprintContainer | readonly BlueprintContainer[]>>;
  readonly failedLiveness?: readonly string[];
  readonly failedStartup?: readonly string[];
  readonly started?: readonly string[];
  readonly findBaseline?: PodActionInputs['findBaseline'];
  readonly findLastRestartCount?: PodActionInputs['findLastRestartCount'];
}

/** The default sandbox of a scene's containers. */
const SCENE_SANDBOX = 'sandbox-0';

/** A container of the spec. Its image makes it the same definition every time. */
export function aBareContainer(name: string, fields: Partial<Container> = {}): Container {
  return { name, image: `registry.example/${name}:1`, ...fields };
}

/** A sidecar of the spec. */
export function aSidecar(name: string, fields: Partial<Container> = {}): Container {
  return aBareContainer(name, { restartPolicy: 'Always', ...fields });
}

/** The input of computePodActions, reduced to what matters. Ids of containers are `name-attempt`. */
export function somePodActionInputs(blueprint: PodActionsBlueprint = {}): PodActionInputs {
  const { spec, deleted = false, containers = {} } = blueprint;
  const pod = aNodePod({
    spec: { containers: [aBareContainer('main')], ...spec },
    ...(deleted ? { deletionTimestamp: '2026-01-02T03:04:05Z' } : {}),
  });
  const sandboxes = (blueprint.sandboxes ?? [{}]).map((fields, index, all) => {
    const attempt = fields.attempt ?? all.length - 1 - index;
    const state = fields.state ?? 'running';
    const annotations = { [ANNOTATIONS.sandboxHash]: sandboxHash(pod) };
    return aSandboxStatus(aSandbox({ id: `sandbox-${attempt}`, attempt, state }), { annotations, ...fields });
  });
  const shown = Object.entries(containers).flatMap(([name, given]) =>
    (Array.isArray(given) ? (given as readonly BlueprintContainer[]) : [given as BlueprintContainer]).map(
      (fields, attempt) => ({ fields, status: toStatus(pod, name, attempt, fields) }),
    ),
  );
  const find = ({ id }: ContainerStatus): BlueprintContainer | undefined =>
    shown.find(({ status }) => status.id === id)?.fields;
  const { findBaseline, findLastRestartCount, failedLiveness, failedStartup, started } = blueprint;
  return {
    pod,
    observed: observe(
      pod,
      sandboxes,
      shown.map(({ status }) => status),
    ),
    probes: {
      hasFailedLiveness: (id) => failedLiveness?.includes(id) === true,
      hasFailedStartup: (id) => failedStartup?.includes(id) === true,
      hasStarted: (id) => started?.includes(id) === true,
    },
    runTimes: {
      ranForMs: (container) => find(container)?.ranForMs ?? 0,
      endedForMs: (container) => find(container)?.endedForMs ?? 0,
    },
    ...(findBaseline === undefined ? {} : { findBaseline }),
    ...(findLastRestartCount === undefined ? {} : { findLastRestartCount }),
  };
}

/** In a few words: what is stopped, removed, made, started, waited for. */
export function sayActions(actions: PodActions): string {
  const words = [
    actions.killPod && 'kill pod',
    ...actions.containersToKill.map(({ id, reason }) => `kill ${id} (${reason})`),
    ...actions.containersToRemove.map(({ id }) => `remove ${id}`),
    actions.createSandbox && `sandbox ${actions.sandboxAttempt}`,
    ...[...actions.initContainersToStart, ...actions.containersToStart].map(
      ({ container, restartCount, createdId }) =>
        createdId === undefined ? `start ${container.name}/${restartCount}` : `take up ${createdId}`,
    ),
    ...actions.containersInBackoff.map(({ container }) => `wait ${container.name}`),
  ];
  return words.filter(Boolean).join(', ') || 'nothing';
}

function observe(
  { metadata }: NodePod,
  sandboxes: readonly SandboxStatus[],
  containers: readonly ContainerStatus[],
): PodStatus {
  const { uid, namespace, name } = metadata;
  return { ...aPodStatus(), uid, namespace, name, owner: 'podloop', sandboxes, containers };
}

function toStatus(pod: NodePod, name: string, index: number, fields: BlueprintContainer): ContainerStatus {
  const { outdated = false, delayMs, foreign = false, ranForMs: _ran, endedForMs: _ended, ...facts } = fields;
  const { attempt = index, state = 'running', sandboxId = SCENE_SANDBOX } = facts;
  const { spec, metadata } = pod;
  const container = [...(spec.initContainers ?? []), ...spec.containers].find((each) => each.name === name);
  const hash = container === undefined || outdated ? 'feedfeedfeedfeed' : containerHash(container, spec);
  return aContainerStatus(aContainer({ id: `${name}-${attempt}`, name, attempt, state, sandboxId }), {
    labels: {
      [LABELS.podUid]: metadata.uid,
      [LABELS.containerName]: name,
      ...(foreign ? {} : { [LABELS.nodeInstance]: 'node-instance-1' }),
    },
    annotations: {
      [ANNOTATIONS.hash]: foreign ? 'beef' : hash,
      ...(delayMs === undefined ? {} : { [ANNOTATIONS.restartDelayMs]: String(delayMs) }),
    },
    ...facts,
  });
}
