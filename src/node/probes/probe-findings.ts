import { type ProbeMemory } from './probe-memory.js';
import { type ProbeResult, type ProbeType, titleOf } from './probe-result.js';
import { type ProbeSubject } from './probe-worker.js';

/** Why a container has to be replaced. */
export interface ProbeFailure {
  readonly type: 'liveness' | 'startup';
  readonly message: string;
  readonly terminationGracePeriodSeconds?: number;
}

interface Found {
  readonly podUid: string;
  ready?: boolean;
  started?: boolean;
  failure?: ProbeFailure;
}

/**
 * The findings of probes about each known container, by container id; lasting ones are also in {@link
 * ProbeMemory}.
 */
export class ProbeFindings {
  readonly #memory: ProbeMemory | undefined;
  readonly #found = new Map<string, Found>();

  /** Without a memory, nothing is remembered. */
  constructor({ memory }: { readonly memory: ProbeMemory | undefined }) {
    this.#memory = memory;
  }

  /**
   * Whether the readiness probe of a container says that it is ready; undefined without a known readiness
   * probe.
   *
   * False until the probe succeeds, until the container has started, and once it no longer runs.
   */
  readiness(containerId: string): boolean | undefined {
    const found = this.#found.get(containerId);
    return found?.ready === true && found.started === false ? false : found?.ready;
  }

  /** Whether the startup probe has succeeded; undefined without a known startup probe. */
  started(containerId: string): boolean | undefined {
    return this.#found.get(containerId)?.started;
  }

  /**
   * Why a container has to be replaced; undefined when it has not. Valid while the container is the newest.
   */
  failure(containerId: string): ProbeFailure | undefined {
    return this.#found.get(containerId)?.failure;
  }

  /** Starts a probe type for a container that replaces another one; returns what was remembered of it. */
  takeUp(
    podUid: string,
    type: ProbeType,
    containerId: string,
    replaces: string | undefined,
  ): boolean | undefined {
    if (replaces !== undefined) {
      this.#found.delete(replaces);
      this.#memory?.forget(podUid, replaces);
    }
    let found = this.#found.get(containerId);
    if (found === undefined) this.#found.set(containerId, (found = { podUid }));
    const remembered = this.#memory?.recall(podUid, containerId);
    if (type === 'readiness') found.ready = remembered?.ready ?? false;
    else if (type === 'startup') found.started = remembered?.started ?? false;
    return type === 'readiness' ? found.ready : found.started;
  }

  /**
   * Records that a threshold was reached; returns the result to publish, or undefined when nothing is new.
   */
  settle(
    { type, container, pod, probe }: ProbeSubject,
    containerId: string,
    result: 'success' | 'failure',
    output: string | undefined,
  ): ProbeResult | undefined {
    const found = this.#found.get(containerId);
    if (found === undefined) return undefined;
    const isGood = result === 'success';
    const message = isGood || output === undefined ? '' : `${titleOf(type)} probe failed: ${output}`;
    const grace = isGood ? undefined : probe.terminationGracePeriodSeconds;
    const withGrace = grace === undefined ? {} : { terminationGracePeriodSeconds: grace };
    if (type === 'readiness') {
      if (found.ready === isGood) return undefined;
      found.ready = isGood;
      this.#memory?.remember(pod.uid, containerId, { ready: isGood });
    } else {
      if (type === 'liveness' && isGood) return undefined;
      if (type === 'startup') found.started = isGood;
      if (type === 'startup' && isGood) this.#memory?.remember(pod.uid, containerId, { started: true });
      if (!isGood) found.failure = { type, message, ...withGrace };
    }
    const names = { podUid: pod.uid, containerId, containerName: container.name };
    return { ...names, type, result, message, ...withGrace };
  }

  /** The container has no such probe any more. */
  drop(type: ProbeType, containerId: string): void {
    const found = this.#found.get(containerId);
    if (found === undefined) return;
    if (type === 'readiness') delete found.ready;
    else if (type === 'startup') delete found.started;
    if (found.failure?.type === type) delete found.failure;
  }

  /** The pod is gone for good. */
  forgetPod(podUid: string): void {
    this.#memory?.forgetPod(podUid);
    for (const [containerId, found] of this.#found) {
      if (found.podUid === podUid) this.#found.delete(containerId);
    }
  }

  /** Every remembered pod, including those of an earlier agent. */
  rememberedPods(): readonly string[] {
    return this.#memory?.pods() ?? [];
  }
}
