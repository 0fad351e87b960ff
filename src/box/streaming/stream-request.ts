import { type ProcessRequest } from '../isolation/container-process.js';

/** What a client was granted: kept under a token until the client comes for it. */
export type StreamRequest =
  | ({ readonly kind: 'exec'; readonly containerId: string } & ProcessRequest)
  | ({ readonly kind: 'attach'; readonly containerId: string } & Omit<ProcessRequest, 'argv'>)
  | { readonly kind: 'portforward'; readonly sandboxId: string; readonly ports: readonly number[] };

/** The ones that end in a command's or a container's streams. */
export type CommandRequest = Exclude<StreamRequest, { kind: 'portforward' }>;
