import { definePublishingChannel } from './publishing-channel.js';

/**
 * Which of the agent's servers got a request.
 *
 * It is its own socket, the open port (the kubelet's `readonly`), the TLS port (the kubelet's `readwrite`),
 * or the health port.
 */
export type HttpServerName = 'socket' | 'readonly' | 'readwrite' | 'healthz';

/** A request to the agent. Immutable; the same object at its start and at its end. */
export interface HttpRequest {
  readonly server: HttpServerName;
  readonly method: string;
  /** The route, such as `/containerLogs/:namespace/:name/:container`; `other` if there is none. */
  readonly path: string;
  /**
   * Its answer, or its upgraded connection, lasts until the client ends it: watches, followed logs, streams.
   */
  readonly longRunning: boolean;
  /** Whether its client requests WebSocket. */
  readonly isWebSocket?: boolean;
}

/** A request was answered, aborted or rejected. */
export interface HttpRequestEnd {
  readonly request: HttpRequest;
  /** HTTP's status; 0 if its client left before there was one. */
  readonly code: number;
  readonly durationMs: number;
}

/** A request has arrived. */
export const httpRequestStarted = definePublishingChannel<HttpRequest>('podloop:http:request:started');

/** See {@link HttpRequestEnd}. */
export const httpRequestEnded = definePublishingChannel<HttpRequestEnd>('podloop:http:request:ended');

/** A connection was closed because there were too many, in all or of unknown clients. */
export const httpConnectionDropped = definePublishingChannel<{ readonly server: HttpServerName }>(
  'podloop:http:connection:dropped',
);
