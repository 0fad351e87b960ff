import { definePublishingChannel } from './publishing-channel.js';

/** How far the registration of this machine as a node of a cluster has come; in wall-clock milliseconds. */
export type NodeRegistrationStep =
  | { readonly step: 'attempt'; readonly atMs: number }
  /** `isNew`: there was no such Node before. */
  | { readonly step: 'registered'; readonly atMs: number; readonly isNew: boolean }
  /** The API server has its Ready as True. */
  | { readonly step: 'ready'; readonly atMs: number };

/** See {@link NodeRegistrationStep}; `attempt` comes again with each try. */
export const nodeRegistrationStepped = definePublishingChannel<NodeRegistrationStep>(
  'podloop:cluster:node:registration:stepped',
);

/** One look at whether the Node is still true, and what came of it. */
export interface NodeStatusSync {
  /** `sent`, `unchanged`, `failed` after all tries, or `gone` when there is no such Node any more. */
  readonly outcome: 'sent' | 'unchanged' | 'failed' | 'gone';
  /** Requests that failed on the way. */
  readonly failures: number;
  readonly durationMs: number;
  /** Wall-clock milliseconds. */
  readonly atMs: number;
}

/** See {@link NodeStatusSync}. */
export const nodeStatusSynced = definePublishingChannel<NodeStatusSync>('podloop:cluster:node:status:synced');

/** One try to renew or to create the lease of the node. */
export interface NodeLeaseTry {
  /** `renewed`, `created`, `conflict`, `failed`, or `waiting` while there is no Node that it could belong to. */
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

/** What a node was found to be short of, or no longer. */
export interface NodePressureChange {
  /** As the condition is named: MemoryPressure. */
  readonly condition: string;
  readonly isUnderPressure: boolean;
}

/** See {@link NodePressureChange}. */
export const nodePressureChanged = definePublishingChannel<NodePressureChange>(
  'podloop:cluster:node:pressure:changed',
);
