import { definePublishingChannel } from './publishing-channel.js';

/** A desired pod arrived at this node, or arrived again. */
export interface PodAddition {
  readonly uid: string;
  /** Without init and ephemeral containers, as the kubelet counts. */
  readonly containers: number;
  /** Whether it has addresses of its own. */
  readonly hasNetwork: boolean;
}

/** The sync loop got a pod that was not desired before, or is desired again. */
export const podAdded = definePublishingChannel<PodAddition>('podloop:sync:pod:added');

/** One attempt to create a pod's sandbox. */
export interface SandboxStartEnd {
  /** The handler of its runtime class; empty for the runtime's default. */
  readonly runtimeHandler: string;
  /** How long the runtime took; undefined if it was not called. */
  readonly durationMs: number | undefined;
  readonly isStarted: boolean;
}

/** The runtime created a sandbox, or that failed. */
export const sandboxStartEnded = definePublishingChannel<SandboxStartEnd>('podloop:sync:sandbox:start:ended');

/**
 * A sync begins to start a sandbox for a pod with users of its own, or that sync failed: no sandbox was made, or
 * one of its containers did not start.
 */
export const userNamespacedStart = definePublishingChannel<{ readonly step: 'begun' | 'failed' }>(
  'podloop:sync:user-namespaced:start',
);

/** One attempt to start a container. */
export interface ContainerStartEnd {
  /** The kubelet's label container_type; sidecars are init containers. */
  readonly containerType: 'container' | 'init_container' | 'ephemeral_container';
  /** Why it was not started, as in its status: ErrImagePull, RunContainerError …; undefined if it was. */
  readonly failure: string | undefined;
}

/** A container was started, or the start failed. */
export const containerStartEnded = definePublishingChannel<ContainerStartEnd>(
  'podloop:sync:container:start:ended',
);

/** A pod whose uid was torn down starts again under it. */
export const podStartedAgain = definePublishingChannel<{ readonly isStatic: boolean }>(
  'podloop:sync:pod:started-anew',
);

/** One of podloop's pods runs although it is not desired and has no worker: it is being ended. */
export const orphanFound = definePublishingChannel<{ readonly uid: string }>('podloop:sync:orphan:found');

/** A pod is evicted because of its use of the node's resources. */
export const podEvicted = definePublishingChannel<{
  /** The kubelet's label eviction_signal. */
  readonly signal: string;
  /** How old the measurement was by which it was chosen, for a shortage of the node. */
  readonly statsAgeMs?: number | undefined;
}>('podloop:sync:pod:evicted');
