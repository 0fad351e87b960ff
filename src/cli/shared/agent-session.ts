import { join, resolve } from 'node:path';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { SOCKET_NAME } from '#node';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { AgentAbsent, AgentClient, type RemoteAgent } from './api/agent-client.js';
import { quoteWord } from './print/quote-word.js';
import { type AgentFacts, findAgents, isTrustedSocket } from './agents/find-agents.js';
import { resolveAgentSocket } from './api/agent-socket.js';
import { type CliHost } from '../cli-host.js';
import { CommandFailure } from '../command-failure.js';
import { EXIT_INTERRUPTED } from '../interrupts.js';

/** The flags of every command that talks to a running agent. */
export interface SessionFlags {
  readonly socket?: string;
  /** The root folder of the agent, for commands that read it, too: without `socket` the agent is the one there. */
  readonly rootDir?: string;
  readonly namespace?: string;
}

/** The connection of a command to a running agent. */
export interface AgentSession {
  readonly client: AgentClient;
  /** Where names are looked for (default: `default`). */
  readonly namespace: string;
  /** Whether a flag set the namespace. */
  readonly namespaceGiven: boolean;
  /** Aborts when the command is to end: Ctrl-C, or a reader who has gone away. */
  readonly signal: AbortSignal;
}

/** What is special about a command. */
export interface SessionOptions {
  /** Whether it goes on until somebody presses Ctrl-C, as what serves a page does (default: false). */
  readonly servesUntilInterrupted?: boolean;
  /** The agent, if it is asked over TLS (default: at its socket). */
  readonly remote?: RemoteAgent | undefined;
}

/** Adds the flags of {@link SessionFlags}. */
export function addSessionFlags(command: Command): Command {
  return command
    .addOption(
      new Option('-n, --namespace <namespace>', 'Namespace of the objects (default: default)').argParser(
        stripEquals,
      ),
    )
    .addOption(socketOption());
}

/** `--socket`, which names the agent. */
export function socketOption(): Option {
  return new Option(
    '--socket <path>',
    'Socket of the agent (default: PODLOOP_SOCKET, else the one in the default --root-dir)',
  );
}

/** The value of a short flag as in `-n=web`, which kubectl takes for `-n web`. */
export function stripEquals(value: string): string {
  const bare = value.startsWith('=') ? value.slice(1) : value;
  if (bare === '') throw new InvalidArgumentError('it may not be empty');
  return bare;
}

/**
 * Runs `work` with a client of the agent that the flags select.
 *
 * Ctrl-C ends it with a CommandFailure of exit code 130, unless that is its usual end. A reader that closes its pipe ends it
 * without an error.
 */
export async function withAgent(
  host: CliHost,
  flags: SessionFlags,
  work: (session: AgentSession) => Promise<void>,
  { servesUntilInterrupted = false, remote }: SessionOptions = {},
): Promise<void> {
  const { stdout, env, clock } = host;
  const interrupted = host.listenForInterrupts();
  const signal = AbortSignal.any([interrupted, stdout.ended]);
  const { rootDir, socket = rootDir === undefined ? undefined : join(resolve(rootDir), SOCKET_NAME) } = flags;
  const socketPath = remote?.url.origin ?? resolveAgentSocket(socket, env, process.getuid?.() ?? 0);
  const client = new AgentClient({ socketPath, remote, clock, signal });
  const { namespace = DEFAULT_NAMESPACE } = flags;
  try {
    await work({ client, namespace, namespaceGiven: flags.namespace !== undefined, signal });
  } catch (error) {
    const isNamed = remote !== undefined || socket !== undefined || (env['PODLOOP_SOCKET'] ?? '') !== '';
    if (error instanceof AgentAbsent && !isNamed) {
      const { agents, silent } = await findAgents(host, signal, { mayAsk: isTrustedSocket });
      throw withRunning(error, [...agents, ...silent.map((path) => ({ socket: path }))]);
    }
    if (!signal.aborted) throw error;
  }
  if (interrupted.aborted && !servesUntilInterrupted) throw new CommandFailure([], EXIT_INTERRUPTED);
  if (stdout.failure !== undefined) throw stdout.failure;
}

/** The same with the sockets of agents that do run. */
export function withRunning(
  absent: CommandFailure,
  agents: readonly Pick<AgentFacts, 'socket'>[],
): CommandFailure {
  if (agents.length === 0) return absent;
  const sockets = agents.map(({ socket }) => socket).sort();
  return new CommandFailure([
    ...absent.lines,
    'Agents that run here; "podloop ps" says more about them:',
    ...sockets.map((path) => `  export PODLOOP_SOCKET=${quoteWord(path)}`),
  ]);
}
