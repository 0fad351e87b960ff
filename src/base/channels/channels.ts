/**
 * What a CRI client publishes: its calls, and the state of its connection.
 *
 * @module
 */
import { definePublishingChannel } from './publishing-channel.js';

/** The pod that a CRI call is about. */
export interface CriCallPod {
  readonly uid: string;
  readonly namespace: string;
  readonly name: string;
}

/** A CRI call that was sent but not answered yet. Immutable. */
export interface CriCall {
  /** Increases within one client. */
  readonly id: number;
  /** The method as CRI names it: ListContainers. */
  readonly method: string;
  /** The kubelet's value of the label operation_type: list_containers. */
  readonly operation: string;
  /** The pod that it is about, if the caller named it. */
  readonly pod: CriCallPod | undefined;
  /** The container that it is about. */
  readonly containerId: string | undefined;
  /** The sandbox that it is about. */
  readonly sandboxId: string | undefined;
  /** Milliseconds of the client's monotonic clock: subtract from its `monotonicMs()` for the age. */
  readonly startedAtMonotonicMs: number;
  /** Wall-clock milliseconds since the epoch, for people. */
  readonly startedAtMs: number;
  /** Its deadline in milliseconds; undefined if only its caller ends it. */
  readonly deadlineMs: number | undefined;
  /**
   * How long it may take when all is well, in milliseconds: a stop's grace period, a pull's limit (default:
   * 0).
   */
  readonly ownMs?: number;
  /** True for calls whose answer is a stream of messages. */
  readonly streaming: boolean;
  /** True for a list that asks for a part alone. */
  readonly filtered?: boolean;
}

/** A CRI call that ended. */
export interface CriCallEnd {
  readonly call: CriCall;
  readonly durationMs: number;
  /** `ok`, a PodloopError's code, or `aborted` if its caller cancelled it. */
  readonly outcome: string;
  /** The message of its error; absent if it succeeded. */
  readonly error?: string;
  /** Fields in the answer that this version of podloop does not know. */
  readonly unknownFields: number;
  /** Size of the answer in bytes, before decoding. */
  readonly responseBytes: number;
}

/** A CRI call is about to be sent. */
export const criCallStarted = definePublishingChannel<CriCall>('podloop:cri:call:started');

/** A CRI call was answered, failed, or was cancelled. */
export const criCallEnded = definePublishingChannel<CriCallEnd>('podloop:cri:call:ended');

/** The connection to a runtime came up or broke. */
export interface CriConnectionChange {
  readonly endpoint: string;
  readonly state: 'idle' | 'connecting' | 'ready' | 'failing' | 'closed';
  /** How many times the connection has come up so far. */
  readonly generation: number;
}

/** See {@link CriConnectionChange}. */
export const criConnectionChanged = definePublishingChannel<CriConnectionChange>(
  'podloop:cri:connection:changed',
);
