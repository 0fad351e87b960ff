import { definePublishingChannel } from './publishing-channel.js';

/** A step in the registration of this machine as a cluster's node; times are in wall-clock milliseconds. */
export type NodeRegistrationStep =
  | { readonly step: 'attempt'; readonly atMs: number }
  /** `isNew`: the Node did not exist before. */
  | { readonly step: 'registered'; readonly atMs: number; readonly isNew: boolean }
  /** The API server has Ready as True for it. */
  | { readonly step: 'ready'; readonly atMs: number };

/** See {@link NodeRegistrationStep}; `attempt` is repeated for each attempt. */
export const nodeRegistrationStepped = definePublishingChannel<NodeRegistrationStep>(
  'podloop:cluster:node:registration:stepped',
);

/** A check whether the Node object is still correct, and its result. */
export interface NodeStatusSync {
  /** `sent`, `unchanged`, `failed` after all retries, or `gone` if the Node no longer exists. */
  readonly outcome: 'sent' | 'unchanged' | 'failed' | 'gone';
  /** Requests that failed during the check. */
  readonly failures: number;
  readonly durationMs: number;
  /** Wall-clock milliseconds. */
  readonly atMs: number;
}

/** See {@link NodeStatusSync}. */
export const nodeStatusSynced = definePublishingChannel<NodeStatusSync>('podloop:cluster:node:status:synced');

/** One attempt to renew or to create the node's lease. */
export interface NodeLeaseTry {
  /** `renewed`, `created`, `conflict`, `failed`, or `waiting` while there is no Node that could own it. */
  readonly outcome: 'renewed' | 'created' | 'conflict' | 'failed' | 'waiting';
  readonly durationMs: number;
  /** Wall-clock milliseconds. */
  readonly atMs: number;
}

/** See {@link NodeLeaseTry}. */
export const nodeLeaseTried = definePublishingChannel<NodeLeaseTry>('podloop:cluster:node:lease:tried');

/** The connection to the API server was dropped after repeated failures of heartbeats. */
export const nodeConnectionDropped = definePublishingChannel<{ readonly because: 'status' | 'lease' }>(
  'podloop:cluster:node:connection:dropped',
);

/** A resource has run short on the node, or is no longer short. */
export interface NodePressureChange {
  /** The name of the condition: MemoryPressure. */
  readonly condition: string;
  readonly isUnderPressure: boolean;
}

/** See {@link NodePressureChange}. */
export const nodePressureChanged = definePublishingChannel<NodePressureChange>(
  'podloop:cluster:node:pressure:changed',
);
