/**
 * Objects of the observed model with every field filled in: a test names only what it is about.
 *
 * Ids are made of names, so that they are readable in a failure and the same in every run.
 *
 * @module
 */
import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type PodStatus,
  type RuntimeEvent,
  type SandboxStatus,
} from '../watch/observed/runtime.js';

/** When everything in a test was created: 2026-01-02T03:04:00Z, five seconds before a FakeClock starts. */
export const BUILT_AT_NS = 1_767_323_040_000_000_000n;

/** What {@link aPod} takes: any field of a pod, its containers and sandboxes by what matters of them. */
export interface PodBlueprint extends Partial<Omit<ObservedPod, 'containers' | 'sandboxes'>> {
  /** A name alone is a running container. Default: one running container `main`. */
  readonly containers?: readonly (string | Partial<ObservedContainer>)[];
  /** Newest first. Default: one running sandbox. */
  readonly sandboxes?: readonly Partial<ObservedContainer>[];
}

/** A pod `default/web` with one running sandbox and one running container `main`. Its uid follows its name. */
export function aPod(blueprint: PodBlueprint = {}): ObservedPod {
  const { namespace = 'default', name = 'web', owner = 'kubernetes' } = blueprint;
  const uid = blueprint.uid ?? `uid-${name}`;
  const newestAttempt = (blueprint.sandboxes?.length ?? 1) - 1;
  const sandboxes = (blueprint.sandboxes ?? [{}]).map((sandbox, index) =>
    aSandbox({
      id: `${uid}-sandbox-${sandbox.attempt ?? newestAttempt - index}`,
      name,
      attempt: newestAttempt - index,
      ...sandbox,
    }),
  );
  const sandboxId = sandboxes[0]?.id ?? `${uid}-sandbox-0`;
  const containers = (blueprint.containers ?? ['main']).map((given) => {
    const container = typeof given === 'string' ? { name: given } : given;
    const { name: containerName = 'main', attempt = 0 } = container;
    return aContainer({
      id: `${uid}-${containerName}-${attempt}`,
      name: containerName,
      sandboxId,
      ...container,
    });
  });
  return { uid, namespace, name, owner, sandboxes, containers };
}

/** A running container `main` of the pod `web`. */
export function aContainer(fields: Partial<ObservedContainer> = {}): ObservedContainer {
  const { name = 'main', attempt = 0 } = fields;
  return {
    kind: 'container',
    id: `uid-web-${name}-${attempt}`,
    name,
    attempt,
    state: 'running',
    sandboxId: 'uid-web-sandbox-0',
    createdAtNs: BUILT_AT_NS,
    ...fields,
  };
}

/** A running (ready) sandbox of the pod `web`. */
export function aSandbox(fields: Partial<ObservedContainer> = {}): ObservedContainer {
  const { name = 'web', attempt = 0 } = fields;
  const id = fields.id ?? `uid-${name}-sandbox-${attempt}`;
  return {
    kind: 'sandbox',
    id,
    name,
    attempt,
    state: 'running',
    sandboxId: id,
    createdAtNs: BUILT_AT_NS,
    ...fields,
  };
}

/** The status of a container as a list shows it; of one that exited: exit code 0, Completed, after a second. */
export function aContainerStatus(
  container: ObservedContainer = aContainer(),
  fields: Partial<ContainerStatus> = {},
): ContainerStatus {
  const exited = container.state === 'exited';
  const started = exited || container.state === 'running';
  const exitCode = fields.exitCode ?? 0;
  return {
    id: container.id,
    name: container.name,
    attempt: container.attempt,
    sandboxId: container.sandboxId,
    state: container.state,
    createdAtNs: container.createdAtNs,
    startedAtNs: started ? container.createdAtNs : 0n,
    finishedAtNs: exited ? container.createdAtNs + 1_000_000_000n : 0n,
    exitCode,
    reason: exited ? (exitCode === 0 ? 'Completed' : 'Error') : '',
    message: '',
    image: 'registry.example/app:1',
    imageRef: 'registry.example/app@sha256:1111',
    imageId: 'sha256:2222',
    restartCount: container.attempt,
    labels: {},
    annotations: {},
    logPath: '',
    ...fields,
  };
}

/** The status of a sandbox as a list shows it; a running one has the address 10.88.0.2. */
export function aSandboxStatus(
  sandbox: ObservedContainer = aSandbox(),
  fields: Partial<SandboxStatus> = {},
): SandboxStatus {
  return {
    id: sandbox.id,
    name: sandbox.name,
    attempt: sandbox.attempt,
    state: sandbox.state,
    createdAtNs: sandbox.createdAtNs,
    ips: sandbox.state === 'running' ? ['10.88.0.2'] : [],
    labels: {},
    annotations: {},
    runtimeHandler: '',
    hostNetwork: false,
    ...fields,
  };
}

/** The full status of a pod as a list shows it. */
export function aPodStatus(pod: ObservedPod = aPod(), fields: Partial<PodStatus> = {}): PodStatus {
  const sandboxes = fields.sandboxes ?? pod.sandboxes.map((sandbox) => aSandboxStatus(sandbox));
  return {
    uid: pod.uid,
    namespace: pod.namespace,
    name: pod.name,
    owner: pod.owner,
    ips: sandboxes.find((sandbox) => sandbox.state === 'running')?.ips ?? [],
    sandboxes,
    containers: pod.containers.map((container) => aContainerStatus(container)),
    ...fields,
  };
}

/** An event that says that the container `main` of the pod `web` started. */
export function aRuntimeEvent(fields: Partial<RuntimeEvent> = {}): RuntimeEvent {
  return {
    type: 'started',
    containerId: 'uid-web-main-0',
    podUid: 'uid-web',
    createdAtNs: BUILT_AT_NS,
    ...fields,
  };
}
