import { toV1Time, type V1ContainerState, type V1ContainerStatus } from '#kube/pod/v1-pod-status.js';
import { type PodPhase } from '#kube/pod/v1-pod-status.js';
import { type ServedPod } from '#node/api';
import { type ContainerStatus, type ObservedPod, type PodStatus } from '#watch';

/** What is known of the node that the pods are on. */
export interface PodPlace {
  readonly nodeName: string;
  /** For ids such as `containerd://…`. */
  readonly runtimeName: string;
}

const NS_PER_MS = 1_000_000n;
/** Labels that kubelets put on sandboxes to find them again. */
const RUNTIME_LABEL = /^io\.kubernetes\./;

/**
 * A pod of the runtime as Kubernetes' API shows pods. Pure.
 *
 * A runtime knows less than a kubelet: no probes, no limits, no restart policy. So a container counts as ready
 * when it runs, and one that succeeded before all others were made counts as an init container. Annotations
 * and commands may hold secrets and are left out.
 */
export function toServedPod(status: PodStatus, observed: ObservedPod, place: PodPlace): ServedPod {
  const { uid, namespace, name } = observed;
  const [sandbox] = status.sandboxes;
  const isUp = observed.sandboxes.some(({ state }) => state === 'running');
  const { init, regular } = splitByKind(groupByName(listContainers(status, observed)));
  const containerStatuses = regular.map((attempts) => toContainerStatus(attempts, place));
  const createdAtMs = Number(
    [...observed.sandboxes, ...observed.containers]
      .map(({ createdAtNs }) => createdAtNs)
      .reduce(
        (oldest, each) => (each < oldest ? each : oldest),
        BigInt(Number.MAX_SAFE_INTEGER) * NS_PER_MS,
      ) / NS_PER_MS,
  );
  const labels = Object.entries(sandbox?.labels ?? {}).filter(([key]) => !RUNTIME_LABEL.test(key));
  const specOf = ([newest]: readonly ContainerStatus[]) => ({ name: newest!.name, image: newest!.image });
  const startTime = toV1Time(createdAtMs);
  const [podIP] = status.ips;
  return {
    pod: {
      ...{ apiVersion: 'v1', kind: 'Pod' },
      metadata: { uid, namespace, name, labels: Object.fromEntries(labels) },
      spec: {
        ...(init.length === 0 ? {} : { initContainers: init.map(specOf) }),
        ...{ containers: regular.map(specOf), nodeName: place.nodeName },
        ...(sandbox?.hostNetwork === true ? { hostNetwork: true } : {}),
      },
    },
    status: {
      phase: computePhase(regular, isUp),
      conditions: computeConditions(containerStatuses, startTime),
      ...(podIP === undefined ? {} : { podIP, podIPs: status.ips.map((ip) => ({ ip })) }),
      startTime,
      ...(init.length === 0
        ? {}
        : { initContainerStatuses: init.map((attempts) => toContainerStatus(attempts, place)) }),
      containerStatuses,
      qosClass: 'BestEffort',
    },
    createdAtMs,
    deletion: undefined,
  };
}

/** Its containers by their statuses; while the runtime returns none, as the list shows them. */
function listContainers({ containers }: PodStatus, observed: ObservedPod): readonly ContainerStatus[] {
  const known = new Map(containers.map((each) => [each.id, each]));
  return observed.containers.map((listed) => {
    const found = known.get(listed.id);
    return found?.state === listed.state ? found : { ...(found ?? UNKNOWN), ...listed };
  });
}

const UNKNOWN = {
  ...{ startedAtNs: 0n, finishedAtNs: 0n, exitCode: 0, reason: '', message: '', image: '', imageRef: '' },
  ...{ imageId: '', restartCount: 0, labels: {}, annotations: {}, logPath: '' },
} as const;

/** The attempts of each container, newest first; in the order of creation of the first. */
function groupByName(containers: readonly ContainerStatus[]): (readonly ContainerStatus[])[] {
  const groups = new Map<string, ContainerStatus[]>();
  for (const container of containers) {
    const group = groups.get(container.name);
    if (group === undefined) groups.set(container.name, [container]);
    else group.push(container);
  }
  const byAge = (one: ContainerStatus, other: ContainerStatus): number =>
    Number(other.createdAtNs - one.createdAtNs) || other.attempt - one.attempt;
  return [...groups.values()].map((group) => [...group].sort(byAge));
}

function splitByKind(groups: readonly (readonly ContainerStatus[])[]): {
  readonly init: readonly (readonly ContainerStatus[])[];
  readonly regular: readonly (readonly ContainerStatus[])[];
} {
  const firstStarts = groups.map((group) => group.at(-1)!.createdAtNs);
  const isInit = ([newest]: readonly ContainerStatus[], index: number): boolean =>
    newest!.state === 'exited' &&
    newest!.exitCode === 0 &&
    newest!.finishedAtNs > 0n &&
    firstStarts.some((startNs, other) => other !== index && startNs >= newest!.finishedAtNs);
  const init = groups.filter(isInit);
  return { init, regular: groups.filter((group) => !init.includes(group)) };
}

function computePhase(regular: readonly (readonly ContainerStatus[])[], isUp: boolean): PodPhase {
  const newest = regular.map(([each]) => each!);
  const hasEnded = newest.length > 0 && newest.every(({ state }) => state === 'exited');
  if (hasEnded && !isUp) return newest.every(({ exitCode }) => exitCode === 0) ? 'Succeeded' : 'Failed';
  return newest.some(({ startedAtNs, state }) => startedAtNs > 0n || state === 'running')
    ? 'Running'
    : 'Pending';
}

function computeConditions(
  containers: readonly V1ContainerStatus[],
  since: string,
): ServedPod['status']['conditions'] {
  const isReady = containers.length > 0 && containers.every(({ ready }) => ready);
  const common = { lastProbeTime: null, lastTransitionTime: since } as const;
  return [
    { type: 'Initialized', status: 'True', ...common },
    { type: 'Ready', status: isReady ? 'True' : 'False', ...common },
  ];
}

function toContainerStatus(
  [newest, before]: readonly ContainerStatus[],
  { runtimeName }: PodPlace,
): V1ContainerStatus {
  const { id, name, state, restartCount, image, imageRef } = newest!;
  return {
    ...{ name, state: toState(newest!, runtimeName), restartCount, image, imageID: imageRef },
    lastState: before === undefined ? {} : toState(before, runtimeName),
    ...{ ready: state === 'running', started: state === 'running' },
    containerID: `${runtimeName}://${id}`,
  };
}

function toState(container: ContainerStatus, runtimeName: string): V1ContainerState {
  const { id, state, startedAtNs, finishedAtNs, createdAtNs, exitCode, reason } = container;
  switch (state) {
    case 'created':
      return { waiting: { reason: 'ContainerCreating' } };
    case 'running':
      return { running: { startedAt: toTime(startedAtNs > 0n ? startedAtNs : createdAtNs)! } };
    case 'exited':
      return {
        terminated: {
          ...{ exitCode, reason: reason === '' ? (exitCode === 0 ? 'Completed' : 'Error') : reason },
          ...{ startedAt: toTime(startedAtNs), finishedAt: toTime(finishedAtNs) },
          containerID: `${runtimeName}://${id}`,
        },
      };
    case 'unknown':
      return { waiting: { reason: 'ContainerStatusUnknown' } };
  }
}

function toTime(ns: bigint): string | null {
  return ns > 0n ? toV1Time(Number(ns / NS_PER_MS)) : null;
}
