import { definePublishingChannel } from './publishing-channel.js';

/** This node has rejected a pod. */
export interface PodRejected {
  /** CamelCase: OutOfcpu, NodeAffinity … */
  readonly reason: string;
}

/** See {@link PodRejected}. */
export const podRejected = definePublishingChannel<PodRejected>('podloop:sync:pod:rejected');

/** A pod is ended to make room for a critical pod. */
export interface PodPreempted {
  /** The resource that was short. */
  readonly resource: string;
}

/** See {@link PodPreempted}. */
export const podPreempted = definePublishingChannel<PodPreempted>('podloop:sync:pod:preempted');
