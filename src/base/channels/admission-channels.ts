import { definePublishingChannel } from './publishing-channel.js';

/** A pod is not to run on this node. */
export interface PodRejected {
  /** CamelCase: OutOfcpu, NodeAffinity … */
  readonly reason: string;
}

/** See {@link PodRejected}. */
export const podRejected = definePublishingChannel<PodRejected>('podloop:sync:pod:rejected');

/** A pod is ended so that one that is critical for the node can be there. */
export interface PodPreempted {
  /** What the node was short of. */
  readonly resource: string;
}

/** See {@link PodPreempted}. */
export const podPreempted = definePublishingChannel<PodPreempted>('podloop:sync:pod:preempted');
