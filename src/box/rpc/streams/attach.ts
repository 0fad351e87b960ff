import { type AttachRequest, type AttachResponse } from '#watch/messages';
import { checkStreams, requireRunningContainer, type StreamingContext } from './grant-streams.js';

/** CRI Attach: the URL at which a client finds the streams of a container's entrypoint, once and within a minute. */
export function attach(context: StreamingContext, request: AttachRequest): AttachResponse {
  const { id: containerId } = requireRunningContainer(context, request.containerId);
  checkStreams(request);
  const { tty, stdin, stdout, stderr } = request;
  return { url: context.streaming.grant({ kind: 'attach', containerId, tty, stdin, stdout, stderr }) };
}
