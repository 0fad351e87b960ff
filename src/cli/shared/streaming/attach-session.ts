import { type CliHost } from '../../cli-host.js';
import { type AgentSession } from '../agent-session.js';
import { pathOf, PODS } from '../api/resource-type.js';
import { connectCommand } from './connect-command.js';
import { type StreamFlags } from './stream-flags.js';
import { chooseStreams, runSession } from './terminal-session.js';

/** The container of a pod that is to be attached to. */
export interface AttachedContainer {
  readonly podName: string;
  readonly name: string;
  /** Whether it has a terminal. */
  readonly tty: boolean;
}

/** Joins this process with the main process of a container, until that ends or the connection does. */
export async function attachSession(
  container: AttachedContainer,
  flags: Pick<StreamFlags, 'stdin' | 'tty' | 'quiet'>,
  { client, namespace, signal }: AgentSession,
  host: CliHost,
): Promise<void> {
  const { podName, name, tty: hasTty } = container;
  const say = (line: string): Promise<void> =>
    flags.quiet ? Promise.resolve() : host.stderr.writeLine(line);
  const wished = await chooseStreams({ ...flags, tty: hasTty, quiet: flags.quiet || !flags.tty }, host);
  // A container with a terminal has one output for both, whether or not this side has one.
  const choice = { ...wished, tty: hasTty, stderr: !hasTty };
  await say(
    'All commands and output from this session will be recorded in container logs, including credentials and sensitive information passed through the command prompt.',
  );
  await say("If you don't see a command prompt, try pressing enter.");
  const path = `${pathOf(PODS, namespace, podName)}/attach`;
  const connection = await connectCommand(client, { path, query: { container: name }, choice });
  await runSession(connection, { host, choice: wished, signal, redraw: true });
  if (!flags.stdin || !wished.tty || flags.quiet) return;
  await host.stdout.writeLine(
    `Session ended, resume using 'podloop attach ${podName} -c ${name} -n ${namespace} -i -t' command`,
  );
}
