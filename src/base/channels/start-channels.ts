import { definePublishingChannel } from './publishing-channel.js';

/** A pod that a source wants came to this node, or came again. */
export interface PodAddition {
  readonly uid: string;
  /** Init and ephemeral containers not counted, as the kubelet counts. */
  readonly containers: number;
  /** It has addresses of its own. */
  readonly hasNetwork: boolean;
}

/** A pod was handed to the sync loop that was not wanted before, or is wanted once more. */
export const podAdded = definePublishingChannel<PodAddition>('podloop:sync:pod:added');

/** One try to make the sandbox of a pod. */
export interface SandboxStartEnd {
  /** The handler of its runtime class; empty for the runtime's default. */
  readonly runtimeHandler: string;
  /** How long the runtime took; undefined when it was not even asked. */
  readonly durationMs: number | undefined;
  readonly isStarted: boolean;
}

/** The runtime made a sandbox, or there is none. */
export const sandboxStartEnded = definePublishingChannel<SandboxStartEnd>('podloop:sync:sandbox:start:ended');

/** One try to start a container. */
export interface ContainerStartEnd {
  /** As the kubelet's label container_type has it; sidecars are init containers. */
  readonly containerType: 'container' | 'init_container' | 'ephemeral_container';
  /** Why it was not started, as its status says: ErrImagePull, RunContainerError …; undefined when it was. */
  readonly failure: string | undefined;
}

/** A container was started, or could not be. */
export const containerStartEnded = definePublishingChannel<ContainerStartEnd>(
  'podloop:sync:container:start:ended',
);

/** A pod whose uid was torn down starts once more under it. */
export const podStartedAnew = definePublishingChannel<{ readonly isStatic: boolean }>(
  'podloop:sync:pod:started-anew',
);

/** A pod of ours runs that nobody wants and nobody works on: it is being ended. */
export const orphanFound = definePublishingChannel<{ readonly uid: string }>('podloop:sync:orphan:found');

/** A pod is ended for what it uses of the node. */
export const podEvicted = definePublishingChannel<{
  /** As the kubelet's label eviction_signal has it. */
  readonly signal: string;
}>('podloop:sync:pod:evicted');
