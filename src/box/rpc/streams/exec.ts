import { type ExecRequest, type ExecResponse } from '#watch/messages';
import { checkCommand } from '../containers/check-command.js';
import { checkStreams, requireRunningContainer, type StreamingContext } from './grant-streams.js';

/** CRI Exec: the URL at which a client finds the streams of a command, once and within a minute. */
export async function exec(context: StreamingContext, request: ExecRequest): Promise<ExecResponse> {
  const container = requireRunningContainer(context, request.containerId);
  const { id: containerId } = container;
  checkStreams(request);
  await checkCommand(container, request.cmd);
  const { cmd: argv, tty, stdin, stdout, stderr } = request;
  return { url: context.streaming.grant({ kind: 'exec', containerId, argv, tty, stdin, stdout, stderr }) };
}
