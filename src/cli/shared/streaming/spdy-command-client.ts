import { type Duplex } from 'node:stream';
import { text } from 'node:stream/consumers';
import { SpdyClientSession } from '#base/wire/spdy/spdy-client-session.js';
import { type CommandConnection, readOutcome, type StreamChoice } from './command-connection.js';

/** The value of X-Stream-Protocol-Version: the first protocol that separates exit codes from failures. */
export const SPDY_COMMAND_PROTOCOL = 'v4.channel.k8s.io';

/** Opens the streams of a command on an upgraded connection, in the order in which Kubernetes' own client does. */
export function openSpdyCommand(
  socket: Duplex,
  { stdin, stdout, stderr, tty }: StreamChoice,
): CommandConnection {
  const session = new SpdyClientSession(socket);
  const open = (streamtype: string): ReturnType<SpdyClientSession['open']> => session.open({ streamtype });
  const error = open('error');
  error.outbound.end();
  const input = stdin ? open('stdin') : undefined;
  const output = stdout ? open('stdout') : undefined;
  const errors = stderr && !tty ? open('stderr') : undefined;
  const sizes = tty ? open('resize') : undefined;
  output?.outbound.end();
  errors?.outbound.end();
  input?.inbound.resume();
  sizes?.inbound.resume();
  const outcome = text(error.inbound).then(readOutcome, () => undefined);
  return {
    stdin: input?.outbound,
    stdout: output?.inbound,
    stderr: errors?.inbound,
    outcome,
    resize: ({ columns, rows }) => {
      sizes?.outbound.write(Buffer.from(`${JSON.stringify({ Width: columns, Height: rows })}\n`));
    },
    destroy: () => session.destroy(),
  };
}
