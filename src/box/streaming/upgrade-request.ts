import { type IncomingMessage } from 'node:http';
import { type Duplex } from 'node:stream';
import { type StreamRequest } from './stream-request.js';

/** A request that bears a token which is good, and wants its connection upgraded. */
export interface UpgradeRequest {
  readonly grant: StreamRequest;
  readonly request: IncomingMessage;
  readonly socket: Duplex;
  /** What has come behind the request already. */
  readonly head: Buffer;
}
