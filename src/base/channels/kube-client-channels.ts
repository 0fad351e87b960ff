import { definePublishingChannel } from './publishing-channel.js';

/** One request that was sent to an API server, or could not be; a watch once its answer has begun. */
export interface KubeRequestEnd {
  /** `GET`, `POST` … */
  readonly method: string;
  /** Host and port of the API server. */
  readonly host: string;
  /** HTTP's, or undefined when there was no answer. */
  readonly code: number | undefined;
  readonly durationMs: number;
  readonly requestBytes: number;
  /** Undefined for watches. */
  readonly responseBytes: number | undefined;
  /** How long it was held back by the client's own limit, in milliseconds. */
  readonly heldBackMs: number;
  /** How many times the same request was sent before. */
  readonly tries: number;
}

/** See {@link KubeRequestEnd}. */
export const kubeRequestEnded = definePublishingChannel<KubeRequestEnd>('podloop:kube:request:ended');

/** A program that hands out credentials was run. */
export interface KubeExecEnd {
  /** Undefined when it could not be run at all. */
  readonly exitCode: number | undefined;
  /** When its credentials end, in milliseconds since the epoch; undefined when they do not, or there are none. */
  readonly expiresAtMs: number | undefined;
}

/** See {@link KubeExecEnd}. */
export const kubeExecEnded = definePublishingChannel<KubeExecEnd>('podloop:kube:exec:ended');
