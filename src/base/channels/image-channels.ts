import { definePublishingChannel } from './publishing-channel.js';

/** A container's image was asked for. */
export interface ImageRequest {
  /** Always, IfNotPresent or Never. */
  readonly pullPolicy: string;
  /** Undefined when that could not be found out. */
  readonly isPresent: boolean | undefined;
  readonly mustPull: boolean | undefined;
}

/** Whether an image is there, and has to be pulled, was found out, or cannot be. */
export const imageRequested = definePublishingChannel<ImageRequest>('podloop:images:request');

/** One try of a pod to have an image pulled, the wait for its turn included. */
export interface ImagePullEnd {
  readonly podUid: string;
  /** Wall-clock milliseconds at which it was asked for. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** Of the image; undefined when there is none. */
  readonly sizeBytes: bigint | undefined;
}

/** An image was pulled, or could not be. */
export const imagePullEnded = definePublishingChannel<ImagePullEnd>('podloop:images:pull:ended');

/** Whether a pod may use an image that is on the node was found out, in the kubelet's words. */
export interface ImageAccessJudgement {
  readonly result: 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';
}

/** See {@link ImageAccessJudgement}. */
export const imageAccessJudged = definePublishingChannel<ImageAccessJudgement>('podloop:images:access');
