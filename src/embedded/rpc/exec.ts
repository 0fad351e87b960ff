import { type ExecRequest, type ExecResponse } from '../../cri/generated/runtime/v1/cri.js';
import { checkStreams, requireRunningContainer, type StreamingContext } from './grant-streams.js';

/** CRI Exec: the URL at which a client finds the streams of a command, once and within a minute. */
export function exec(context: StreamingContext, request: ExecRequest): ExecResponse {
  const { id: containerId } = requireRunningContainer(context, request.containerId);
  checkStreams(request);
  const { cmd: argv, tty, stdin, stdout, stderr } = request;
  return { url: context.streaming.grant({ kind: 'exec', containerId, argv, tty, stdin, stdout, stderr }) };
}
