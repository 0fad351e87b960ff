import { type ServerResponse } from 'node:http';
import { type Clock } from '#base/time/clock.js';
import { type Channels, publishTo } from '#base/channels/publishing-channel.js';
import { type HttpRequest, httpRequestEnded, httpRequestStarted } from '#base/channels/http-channels.js';

/**
 * Publishes the start of a request, and its end with the sent code when the returned function is called.
 *
 * A second call does nothing.
 */
export function countRequest(
  request: HttpRequest,
  clock: Pick<Clock, 'monotonicMs'>,
  channels: Channels | undefined,
): (code: number) => void {
  const startedMs = clock.monotonicMs();
  let isOver = false;
  publishTo(channels, httpRequestStarted, request);
  return (code) => {
    if (isOver) return;
    isOver = true;
    publishTo(channels, httpRequestEnded, { request, code, durationMs: clock.monotonicMs() - startedMs });
  };
}

/** The code that a client has got; 0 when it went before. */
export function codeOf({ headersSent, statusCode }: ServerResponse): number {
  return headersSent ? statusCode : 0;
}
