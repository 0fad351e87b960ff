import {
  ANNOTATIONS,
  type ContainerStatus,
  LABELS,
  type ObservedState,
  type PodStatus,
  type SandboxStatus,
} from '#watch';
import { type NodePod } from '#kube/pod/node-pod.js';
import { type Container } from '#kube/container/container.js';
import { sandboxHash } from '../../../src/node/pods/actions/container-hash.js';
import { type ContainerToStart, type PodActions } from '../../../src/node/pods/actions/pod-actions.js';
import { aContainer, aContainerStatus, aPodStatus, aSandbox, aSandboxStatus } from '#testing/builders.js';
import { type FakeClock } from '#testing/fake-clock.js';

/** A container of a {@link PodModel}, with what only the model knows. */
export interface ModelContainer {
  status: ContainerStatus;
  readonly start: ContainerToStart;
  /** Monotonic milliseconds: when it really ended. */
  endedAtMs: number | undefined;
  startedAtMs: number | undefined;
}

/**
 * One pod in a runtime that does at once what {@link PodActions} say, and breaks the test when they ask for what a
 * runtime would refuse or a pod must not suffer.
 */
export class PodModel {
  readonly #clock: FakeClock;
  pod: NodePod;
  containers: ModelContainer[] = [];
  sandboxes: SandboxStatus[] = [];
  #lastId = 0;

  constructor(options: { readonly clock: FakeClock; readonly pod: NodePod }) {
    this.#clock = options.clock;
    this.pod = options.pod;
  }

  get observed(): PodStatus {
    const { uid, namespace, name } = this.pod.metadata;
    return {
      ...aPodStatus(),
      ...{ uid, namespace, name, owner: 'podloop', ips: [] },
      sandboxes: [...this.sandboxes],
      containers: this.containers.map(({ status }) => status),
    };
  }

  /** Containers that have a process. */
  get alive(): ModelContainer[] {
    return this.containers.filter(({ status }) => status.state === 'running' || status.state === 'unknown');
  }

  /** Does at most `steps` of them, as when the agent dies in between. */
  apply(actions: PodActions, steps = Infinity): void {
    for (const step of this.#stepsOf(actions).slice(0, steps)) step();
  }

  /** A container ends by itself. */
  end(name: string, exitCode: number): void {
    for (const each of this.alive) if (each.status.name === name) this.#stop(each, exitCode);
  }

  /** The pod's network and processes go, as in a reboot. */
  loseSandbox(): void {
    this.sandboxes = this.sandboxes.map((sandbox) => ({ ...sandbox, state: 'exited' }));
    for (const each of this.alive) this.#stop(each, 255);
  }

  /** The runtime loses sight of a container that runs. */
  blur(name: string): void {
    for (const each of this.alive)
      if (each.status.name === name) each.status = { ...each.status, state: 'unknown' };
  }

  /** Removes what is dead, but for the newest of each name, as clean-up does. */
  collect(): void {
    const newest = new Map(this.containers.map((each) => [each.status.name, each]));
    this.containers = this.containers.filter(
      (each) => each.status.state !== 'exited' || newest.get(each.status.name) === each,
    );
    this.sandboxes = this.sandboxes.filter(
      (sandbox, index) =>
        index === 0 || this.containers.some(({ status }) => status.sandboxId === sandbox.id),
    );
  }

  #stepsOf(actions: PodActions): (() => void)[] {
    const { pod } = this;
    const kills = actions.killPod
      ? [...this.alive.map((each) => () => this.#stop(each, 137)), () => this.#stopSandboxes()]
      : actions.containersToKill.map(
          ({ id }) =>
            () =>
              this.#stop(this.#get(id), 137),
        );
    const removals = actions.containersToRemove.map(({ id }) => () => {
      const removed = this.#get(id);
      if (removed.status.state !== 'created')
        throw new Error(`${id} was removed, and is ${removed.status.state}`);
      this.containers = this.containers.filter((each) => each !== removed);
    });
    const sandbox = actions.createSandbox ? [() => this.#makeSandbox(pod, actions)] : [];
    const starts = [...actions.initContainersToStart, ...actions.containersToStart].flatMap((start) => [
      () => this.#create(start, actions),
      () => this.#start(start),
    ]);
    return [...kills, ...removals, ...sandbox, ...starts];
  }

  #makeSandbox(pod: NodePod, { sandboxAttempt: attempt }: PodActions): void {
    if (this.sandboxes.some((sandbox) => sandbox.attempt === attempt || sandbox.state === 'running')) {
      throw new Error(
        `sandbox ${attempt} was made beside ${JSON.stringify(this.sandboxes.map(({ id }) => id))}`,
      );
    }
    const id = `sandbox-${attempt}`;
    const made = aSandboxStatus(aSandbox({ id, attempt }), {
      hostNetwork: pod.spec.hostNetwork === true,
      annotations: { [ANNOTATIONS.sandboxHash]: sandboxHash(pod) },
    });
    this.sandboxes = [made, ...this.sandboxes];
  }

  #create(start: ContainerToStart, { sandboxId }: PodActions): void {
    const { container, restartCount, hash, restartDelayMs, createdId } = start;
    const inSandbox = sandboxId ?? this.sandboxes[0]?.id;
    if (inSandbox === undefined || this.sandboxes[0]?.state !== 'running')
      throw new Error('there is no sandbox');
    if (createdId !== undefined) {
      if (this.#get(createdId).status.sandboxId !== inSandbox) throw new Error(`${createdId} is elsewhere`);
      return;
    }
    const { name } = container;
    const isReserved = this.containers.some(
      ({ status }) => status.name === name && status.attempt === restartCount,
    );
    if (isReserved) throw new Error(`the name ${name}_${restartCount} is reserved`);
    const id = `${name}-${restartCount}-${++this.#lastId}`;
    const made = aContainer({ id, name, attempt: restartCount, state: 'created', sandboxId: inSandbox });
    const status = aContainerStatus(made, {
      createdAtNs: this.#wallNs(),
      labels: { [LABELS.podUid]: this.pod.metadata.uid, [LABELS.nodeInstance]: 'node-instance-1' },
      annotations: { [ANNOTATIONS.hash]: hash, [ANNOTATIONS.restartDelayMs]: String(restartDelayMs) },
    });
    this.containers.push({ status, start, endedAtMs: undefined, startedAtMs: undefined });
  }

  #start({ container: { name }, restartCount, createdId }: ContainerToStart): void {
    const created = this.containers.find(({ status }) =>
      createdId === undefined
        ? status.name === name && status.attempt === restartCount
        : status.id === createdId,
    );
    if (created?.status.state !== 'created') throw new Error(`${name} is not there to be started`);
    if (this.alive.some(({ status }) => status.name === name)) throw new Error(`${name} runs already`);
    created.startedAtMs = this.#clock.monotonicMs();
    created.status = { ...created.status, state: 'running', startedAtNs: this.#wallNs() };
  }

  #stop(each: ModelContainer, exitCode: number): void {
    if (each.status.state === 'exited') return;
    const state: ObservedState = 'exited';
    each.endedAtMs = this.#clock.monotonicMs();
    each.status = { ...each.status, state, exitCode, finishedAtNs: this.#wallNs() };
  }

  #stopSandboxes(): void {
    this.sandboxes = this.sandboxes.map((sandbox) => ({ ...sandbox, state: 'exited' }));
  }

  #get(id: string): ModelContainer {
    const found = this.containers.find(({ status }) => status.id === id);
    if (found === undefined) throw new Error(`there is no ${id}`);
    return found;
  }

  #wallNs(): bigint {
    return BigInt(Math.round(this.#clock.now())) * 1_000_000n;
  }
}

/** All containers of a pod's spec. */
export function specContainersOf({ spec }: NodePod): Container[] {
  return [...(spec.initContainers ?? []), ...spec.containers];
}
