import { composePodStatus } from '../watch/observed/compose-pod-status.js';
import {
  type ContainerStatus,
  type ObservedContainer,
  type ObservedPod,
  type ObservedState,
  type PodStatus,
  type RuntimeEvent,
  type SandboxStatus,
} from '../watch/observed/runtime.js';
import { type Clock } from '#base/time/clock.js';
import { aContainer, aContainerStatus, aSandbox, aSandboxStatus } from './builders.js';

const EVENT_OF_STATE = {
  created: 'created',
  running: 'started',
  exited: 'stopped',
  unknown: 'unknown',
} as const satisfies Record<ObservedState, RuntimeEvent['type']>;

/** What a {@link FakePods} is made of. */
export interface FakePodsOptions {
  /** For timestamps. */
  readonly clock: Clock;
  /** Called after each change, as a runtime would announce it. */
  readonly onChange: (event: RuntimeEvent) => void;
}

/**
 * The pods that a fake runtime holds: observed objects, made anew only by a change, and what their statuses say
 * beyond them.
 */
export class FakePods {
  readonly #clock: Clock;
  readonly #onChange: (event: RuntimeEvent) => void;
  readonly #pods = new Map<string, ObservedPod>();
  readonly #containerFacts = new Map<string, Partial<ContainerStatus>>();
  readonly #sandboxFacts = new Map<string, Partial<SandboxStatus>>();

  constructor(options: FakePodsOptions) {
    this.#clock = options.clock;
    this.#onChange = options.onChange;
  }

  /** Every pod, in the order in which they were put in. */
  list(): ObservedPod[] {
    return [...this.#pods.values()];
  }

  /** One pod. */
  find(uid: string): ObservedPod | undefined {
    return this.#pods.get(uid);
  }

  /** The status of what `pod` names and is still there, as it is now. */
  statusOf(pod: ObservedPod): PodStatus {
    const now = this.#pods.get(pod.uid);
    const sandboxes = present(now?.sandboxes, pod.sandboxes);
    const containers = present(now?.containers, pod.containers);
    return composePodStatus(
      pod,
      sandboxes.map((sandbox) => aSandboxStatus(sandbox, this.#sandboxFacts.get(sandbox.id))),
      containers.map((container) => aContainerStatus(container, this.#containerFacts.get(container.id))),
    );
  }

  /** Puts a pod in, or another in place of the one of that uid. */
  set(pod: ObservedPod): void {
    this.#pods.set(pod.uid, pod);
    for (const { id, state } of [...pod.sandboxes, ...pod.containers])
      this.#say(EVENT_OF_STATE[state], id, pod.uid);
  }

  /** Puts these pods in and takes all others out. */
  setAll(pods: readonly ObservedPod[]): void {
    const uids = new Set(pods.map((pod) => pod.uid));
    for (const uid of [...this.#pods.keys()]) if (!uids.has(uid)) this.remove(uid);
    for (const pod of pods) this.set(pod);
  }

  /** Takes a pod out with all that is in it. */
  remove(uid: string): void {
    const pod = this.#pods.get(uid);
    this.#pods.delete(uid);
    for (const { id } of [...(pod?.containers ?? []), ...(pod?.sandboxes ?? [])]) {
      this.#containerFacts.delete(id);
      this.#sandboxFacts.delete(id);
      this.#say('deleted', id, uid);
    }
  }

  /**
   * Brings a container into a state; `facts` is what its status says beyond that. A name means the newest
   * container of that name; a name that is new, or an attempt that is, makes a container.
   */
  setContainer(
    uid: string,
    nameOrId: string,
    state: ObservedState,
    facts: Partial<ContainerStatus> = {},
  ): ObservedContainer {
    const pod = this.#getPod(uid);
    const old = findContainer(pod, nameOrId, facts.attempt);
    const attempt = facts.attempt ?? old?.attempt ?? 0;
    const container: ObservedContainer = old
      ? { ...old, state }
      : aContainer({
          id: facts.id ?? `${uid}-${nameOrId}-${attempt}`,
          name: nameOrId,
          attempt,
          state,
          sandboxId: facts.sandboxId ?? pod.sandboxes[0]?.id ?? `${uid}-sandbox-0`,
          createdAtNs: facts.createdAtNs ?? this.#nowNs(),
        });
    const times: Partial<ContainerStatus> = {};
    if (state === 'running') Object.assign(times, { startedAtNs: this.#nowNs() });
    if (state === 'exited') Object.assign(times, { finishedAtNs: this.#nowNs() });
    this.#containerFacts.set(container.id, { ...this.#containerFacts.get(container.id), ...times, ...facts });
    const containers = old
      ? pod.containers.map((other) => (other === old ? container : other))
      : [...pod.containers, container];
    this.#pods.set(uid, { ...pod, containers });
    this.#say(EVENT_OF_STATE[state], container.id, uid);
    return container;
  }

  /** Takes a container out. A name means the newest of that name. The pod stays, empty or not. */
  removeContainer(uid: string, nameOrId: string): void {
    const pod = this.#getPod(uid);
    const container = findContainer(pod, nameOrId, undefined);
    if (!container) throw new Error(`pod ${uid} has no container ${nameOrId}`);
    this.#containerFacts.delete(container.id);
    this.#pods.set(uid, { ...pod, containers: pod.containers.filter((other) => other !== container) });
    this.#say('deleted', container.id, uid);
  }

  /** Brings a sandbox into a state (running is ready): the newest unless `facts.id` names one; a new id makes one. */
  setSandbox(uid: string, state: ObservedState, facts: Partial<SandboxStatus> = {}): ObservedContainer {
    const pod = this.#getPod(uid);
    const old = facts.id === undefined ? pod.sandboxes[0] : pod.sandboxes.find(({ id }) => id === facts.id);
    const attempt = facts.attempt ?? old?.attempt ?? pod.sandboxes.length;
    const sandbox: ObservedContainer = old
      ? { ...old, state }
      : aSandbox({
          id: facts.id ?? `${uid}-sandbox-${attempt}`,
          name: pod.name,
          attempt,
          state,
          createdAtNs: this.#nowNs(),
        });
    this.#sandboxFacts.set(sandbox.id, { ...this.#sandboxFacts.get(sandbox.id), ...facts });
    const sandboxes = old
      ? pod.sandboxes.map((other) => (other === old ? sandbox : other))
      : [sandbox, ...pod.sandboxes];
    this.#pods.set(uid, { ...pod, sandboxes });
    this.#say(EVENT_OF_STATE[state], sandbox.id, uid);
    return sandbox;
  }

  /** Takes a sandbox out and leaves its containers. */
  removeSandbox(uid: string, id: string): void {
    const pod = this.#getPod(uid);
    this.#sandboxFacts.delete(id);
    this.#pods.set(uid, { ...pod, sandboxes: pod.sandboxes.filter((sandbox) => sandbox.id !== id) });
    this.#say('deleted', id, uid);
  }

  #getPod(uid: string): ObservedPod {
    const pod = this.#pods.get(uid);
    if (!pod) throw new Error(`the fake runtime has no pod ${uid}`);
    return pod;
  }

  #nowNs(): bigint {
    return BigInt(Math.trunc(this.#clock.now())) * 1_000_000n;
  }

  #say(type: RuntimeEvent['type'], containerId: string, podUid: string): void {
    this.#onChange({ type, containerId, podUid, createdAtNs: this.#nowNs() });
  }
}

/** What of the things asked for is there, as it is now. */
function present(
  now: readonly ObservedContainer[] | undefined,
  asked: readonly ObservedContainer[],
): ObservedContainer[] {
  const byId = new Map(now?.map((container) => [container.id, container]));
  return asked.flatMap(({ id }) => byId.get(id) ?? []);
}

/** By id, else the newest of that name; with an attempt, only that one. */
function findContainer(
  pod: ObservedPod,
  nameOrId: string,
  attempt: number | undefined,
): ObservedContainer | undefined {
  return (
    pod.containers.find(({ id }) => id === nameOrId) ??
    pod.containers
      .filter(({ name }) => name === nameOrId)
      .filter((container) => attempt === undefined || container.attempt === attempt)
      .sort((one, other) => other.attempt - one.attempt)[0]
  );
}
