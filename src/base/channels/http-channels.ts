import { definePublishingChannel } from './publishing-channel.js';

/**
 * Which of the agent's servers was asked: its own socket, the open port (the kubelet's `readonly`), the port with TLS (the
 * kubelet's `readwrite`), or the port of health.
 */
export type HttpServerName = 'socket' | 'readonly' | 'readwrite' | 'healthz';

/** A request that the agent answers. Immutable; the same object at its start and at its end. */
export interface HttpRequest {
  readonly server: HttpServerName;
  readonly method: string;
  /** As the path is written where it is served, `/containerLogs/:namespace/:name/:container`; `other` where nothing is. */
  readonly path: string;
  /** Its answer, or the connection made of it, lasts as long as its client likes: watches, followed logs, streams. */
  readonly longRunning: boolean;
  /** Its client asks to speak WebSocket. */
  readonly isWebSocket?: boolean;
}

/** A request was answered, broken off or refused. */
export interface HttpRequestEnd {
  readonly request: HttpRequest;
  /** HTTP's; 0 when its client went before there was one. */
  readonly code: number;
  readonly durationMs: number;
}

/** A request has come. */
export const httpRequestStarted = definePublishingChannel<HttpRequest>('podloop:http:request:started');

/** See {@link HttpRequestEnd}. */
export const httpRequestEnded = definePublishingChannel<HttpRequestEnd>('podloop:http:request:ended');

/** A connection was closed, as there were as many as may be, or of strangers. */
export const httpConnectionDropped = definePublishingChannel<{ readonly server: HttpServerName }>(
  'podloop:http:connection:dropped',
);
