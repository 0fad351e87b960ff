import { definePublishingChannel } from './publishing-channel.js';

/**
 * One request that was sent to an API server, or could not be; a watch is published when its answer begins.
 */
export interface KubeRequestEnd {
  /** `GET`, `POST` … */
  readonly method: string;
  /** Host and port of the API server. */
  readonly host: string;
  /** HTTP's status, or undefined if there was no answer. */
  readonly code: number | undefined;
  readonly durationMs: number;
  readonly requestBytes: number;
  /** Undefined for watches. */
  readonly responseBytes: number | undefined;
  /** How long the client's own rate limit delayed it, in milliseconds. */
  readonly heldBackMs: number;
  /** How many times the same request was sent before. */
  readonly tries: number;
}

/** See {@link KubeRequestEnd}. */
export const kubeRequestEnded = definePublishingChannel<KubeRequestEnd>('podloop:kube:request:ended');

/** A credential plugin was run. */
export interface KubeExecEnd {
  /** Undefined if it could not be run at all. */
  readonly exitCode: number | undefined;
  /**
   * When its credentials expire, in milliseconds since the epoch; undefined if they do not, or there are
   * none.
   */
  readonly expiresAtMs: number | undefined;
}

/** See {@link KubeExecEnd}. */
export const kubeExecEnded = definePublishingChannel<KubeExecEnd>('podloop:kube:exec:ended');
