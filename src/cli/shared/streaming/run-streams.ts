import { type Readable } from 'node:stream';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { type LineOutput } from '../../line-output.js';
import { type CommandConnection } from './command-connection.js';

/** What is joined with a command. */
export interface LocalStreams {
  readonly stdin: Readable | undefined;
  readonly stdout: Pick<LineOutput, 'write'>;
  readonly stderr: Pick<LineOutput, 'write'>;
  /** Ends it all. */
  readonly signal: AbortSignal;
}

/**
 * Joins streams with a command until it has ended and all of its output is written. Rejects with a CommandFailure that
 * has the command's exit code when that is not 0, or says why there is none.
 */
export async function runStreams(connection: CommandConnection, local: LocalStreams): Promise<void> {
  const { signal } = local;
  const onAbort = (): void => connection.destroy();
  signal.addEventListener('abort', onAbort, { once: true });
  const release = sendInput(connection, local.stdin);
  try {
    const [outcome] = await Promise.all([
      connection.outcome,
      copyOutput(connection.stdout, local.stdout, signal),
      copyOutput(connection.stderr, local.stderr, signal),
    ]);
    signal.throwIfAborted();
    if (outcome === undefined)
      throw failure('the connection with the container broke before its command had ended');
    if (outcome.kind === 'failed') throw failure(outcome.message);
    if (outcome.code !== 0) {
      throw new CommandFailure([`command terminated with exit code ${outcome.code}`], outcome.code);
    }
  } finally {
    release();
    signal.removeEventListener('abort', onAbort);
    connection.destroy();
  }
}

/** Sends what comes on a stream, up to its end; the returned function lets go of the stream. */
function sendInput({ stdin: remote }: CommandConnection, local: Readable | undefined): () => void {
  if (remote === undefined) return () => undefined;
  if (local === undefined) {
    remote.end();
    return () => undefined;
  }
  const onError = (): void => void remote.end();
  local.on('error', onError);
  local.pipe(remote);
  return () => {
    local.unpipe(remote);
    local.off('error', onError);
    local.pause();
  };
}

async function copyOutput(
  from: Readable | undefined,
  to: Pick<LineOutput, 'write'>,
  signal: AbortSignal,
): Promise<void> {
  if (from === undefined) return;
  try {
    for await (const chunk of from as AsyncIterable<Buffer>) await to.write(chunk, signal);
  } catch {
    // The connection broke; the outcome reports that.
  }
}

/** The streams of the process. */
export function hostStreams(host: CliHost, withStdin: boolean, signal: AbortSignal): LocalStreams {
  return { stdin: withStdin ? host.stdin : undefined, stdout: host.stdout, stderr: host.stderr, signal };
}
