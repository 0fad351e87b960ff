import { definePublishingChannel } from './publishing-channel.js';

/** A container needs its image. */
export interface ImageRequest {
  /** Always, IfNotPresent or Never. */
  readonly pullPolicy: string;
  /** Undefined if that could not be determined. */
  readonly isPresent: boolean | undefined;
  readonly mustPull: boolean | undefined;
}

/** It was determined whether an image is present and has to be pulled, or that failed. */
export const imageRequested = definePublishingChannel<ImageRequest>('podloop:images:request');

/** One attempt of a pod to have an image pulled, including the wait for its turn. */
export interface ImagePullEnd {
  readonly podUid: string;
  /** Wall-clock milliseconds at which it was requested. */
  readonly startedAtMs: number;
  readonly durationMs: number;
  /** The size of the image; undefined if there is none. */
  readonly sizeBytes: bigint | undefined;
}

/** An image was pulled, or the pull failed. */
export const imagePullEnded = definePublishingChannel<ImagePullEnd>('podloop:images:pull:ended');

/** A credential provider plugin ran. */
export interface CredentialPluginEnd {
  /** Its name in the configuration. */
  readonly plugin: string;
  readonly durationMs: number;
  readonly isFailed: boolean;
}

/** See {@link CredentialPluginEnd}. */
export const credentialPluginEnded = definePublishingChannel<CredentialPluginEnd>(
  'podloop:images:credential-plugin:ended',
);

/** It was decided whether a pod may use an image that is on the node, in the kubelet's words. */
export interface ImageAccessJudgement {
  readonly result: 'credentialPolicyAllowed' | 'credentialRecordFound' | 'mustAuthenticate';
}

/** See {@link ImageAccessJudgement}. */
export const imageAccessJudged = definePublishingChannel<ImageAccessJudgement>('podloop:images:access');

/** An image was removed because its disk is too full, or because nobody has used it for long. */
export const imageCollected = definePublishingChannel<{ readonly reason: 'age' | 'space' }>(
  'podloop:images:collected',
);
