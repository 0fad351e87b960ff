import { resolve } from 'node:path';
import { Command } from 'commander';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { EXIT_INTERRUPTED } from '../../interrupts.js';
import { wrapNotes } from '../../help-layout.js';
import { socketOption } from '../../shared/agent-session.js';
import { quoteWord } from '../../shared/agents/agent-places.js';
import { agentsOf, findAgents, type RunningAgent } from '../../shared/agents/find-agents.js';
import { AgentAbsent, AgentClient } from '../../shared/api/agent-client.js';
import { readLines } from '../../shared/api/watch-objects.js';
import { parsePathFlag } from '../../shared/flag-values.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { isYes } from '../../shared/streaming/read-answer.js';
import { isTerminalInput } from '../../shared/streaming/raw-terminal.js';
import { type Ending, type LeftPodsFlags } from './end-left-pods.js';

interface DownFlags extends LeftPodsFlags {
  readonly socket?: string;
  readonly yes: boolean;
}

const HELP = `
First it shows what will end, and asks at a terminal. Each pod gets its grace period. The manifests stay where they are.

When no agent runs, it ends the pods that the last agent of the folder has left.

Examples:
  # End the pods of a folder and their agent
  podloop down ./pods

  # The only agent that runs, in a script
  podloop down --yes

  # One of several
  podloop ps
  podloop down --socket /var/lib/podloop/podloop.sock`;

/** `podloop down`: ends the pods of a folder, then their agent. */
export function downCommand(host: CliHost): Command {
  return new Command('down')
    .description('End the pods of a folder of manifests, and the agent that runs them.')
    .argument('[folder]', 'Folder of Pod manifests, as for "podloop up" (default: that of the only agent)')
    .addOption(socketOption())
    .option(
      '--root-dir <path>',
      'Root folder of pods that an agent has left (default: as for "podloop up")',
      parsePathFlag,
    )
    .option(
      '--runtime-endpoint <endpoint>',
      'Runtime of pods that an agent has left (default: as for "podloop run")',
    )
    .option('-y, --yes', 'Do not ask', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (folder: string | undefined, flags: DownFlags) => {
      const interrupted = host.listenForInterrupts();
      try {
        await down(folder, flags, host, AbortSignal.any([interrupted, host.stdout.ended]));
      } catch (error) {
        if (!interrupted.aborted || error instanceof CommandFailure) throw error;
        throw new CommandFailure([], EXIT_INTERRUPTED);
      }
    });
}

async function down(
  folder: string | undefined,
  flags: DownFlags,
  host: CliHost,
  signal: AbortSignal,
): Promise<void> {
  const { agents, closed } = await findAgents(host, signal);
  const found = await chooseAgents(folder, flags, agents, host);
  if (found.length > 1) {
    const words = found.map(({ socket }) => `  podloop down --socket ${quoteWord(socket)}`);
    throw new CommandFailure(['error: several agents run; name the folder of one, or its socket:', ...words]);
  }
  const [agent] = found;
  if (agent !== undefined) return endAgent(agent, flags, host, signal);
  // The one that is meant may be among those that cannot be asked.
  if (closed.length > 0) throw closedError(closed, flags);
  if (flags.socket !== undefined) throw new AgentAbsent(flags.socket);
  // Loads the whole agent, so only when no agent runs.
  const { endLeftPods } = await import('./end-left-pods.js');
  await endLeftPods(folder, flags, {
    ...{ host, signal },
    confirm: (ending) => confirm(ending, flags, host, signal),
  });
}

function closedError(closed: readonly string[], { socket }: DownFlags): CommandFailure {
  const [only, ...others] = closed;
  const agents = others.length === 0 ? `the agent at ${only}` : `the agents at ${closed.join(', ')}`;
  const none = socket === undefined ? 'no agent of yours runs here; ' : '';
  return failure(
    `${none}${agents} can only be ended by the user who started it, or by root: sudo podloop down`,
  );
}

/** The agents that may be meant. */
async function chooseAgents(
  folder: string | undefined,
  { socket, rootDir }: DownFlags,
  agents: readonly RunningAgent[],
  { env }: CliHost,
): Promise<readonly RunningAgent[]> {
  const named = socket ?? (folder === undefined && rootDir === undefined ? env['PODLOOP_SOCKET'] : undefined);
  if (named !== undefined && named !== '') {
    const path = resolve(named.replace(/^unix:(\/\/)?/, ''));
    return agents.filter((agent) => agent.socket === path);
  }
  const there = rootDir === undefined ? agents : agents.filter((agent) => agent.rootDir === resolve(rootDir));
  return folder === undefined ? there : agentsOf(folder, there);
}

async function endAgent(
  agent: RunningAgent,
  flags: DownFlags,
  host: CliHost,
  signal: AbortSignal,
): Promise<void> {
  const { pid, manifests, pods, socket, serviceManager, kubeconfig } = agent;
  if (serviceManager !== undefined) {
    throw failure(
      `${serviceManager} runs the agent (pid ${pid}) and may start it again; end its unit: systemctl stop $(ps -o unit= -p ${pid})`,
    );
  }
  const what = [...manifests, ...(kubeconfig === undefined ? [] : [`the cluster of ${kubeconfig}`])];
  const names = pods.map(({ metadata = {} }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  await confirm({ what: what.join(' and '), pid, names }, flags, host, signal);
  const client = new AgentClient({ socketPath: socket, clock: host.clock, signal });
  const answer = await client.open('POST', '/agent/end');
  let left: readonly string[] | undefined;
  let outcome: string | undefined;
  const say = (name: string): Promise<void> => host.stdout.writeLine(escapeTerminal(`pod ${name} ended`));
  for await (const line of readLines(client.read(answer))) {
    const report = JSON.parse(line) as { readonly left?: readonly string[]; readonly pods?: string };
    outcome = report.pods ?? outcome;
    const now = report.left ?? [];
    for (const name of left ?? []) if (!now.includes(name)) await say(name);
    left = now;
  }
  if (outcome !== 'stopped') {
    throw failure(
      `not every pod could be stopped, and the agent (pid ${pid}) ends; its log names those that are left`,
    );
  }
  // It lets go of its root folder, so that another agent can start at once.
  while (isAlive(pid)) await host.clock.sleep(LOOK_MS, signal);
  await host.stdout.writeLine(`The agent (pid ${pid}) ended`);
}

const LOOK_MS = 100;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Shows what will end, and asks. Rejects with a CommandFailure when the answer is no, or nobody can be asked. */
async function confirm(
  { what, pid, names }: Ending,
  { yes }: DownFlags,
  { stdin, stderr }: CliHost,
  signal: AbortSignal,
): Promise<void> {
  const agent = pid === undefined ? 'No agent runs.' : `The agent of ${what} (pid ${pid}) will end.`;
  const pods = names.length === 0 ? 'It has no pods.' : `These pods will end (${names.length}):`;
  for (const line of [agent, pods, ...names.map((name) => `  ${name}`)])
    await stderr.writeLine(escapeTerminal(line));
  if (yes) return;
  if (!isTerminalInput(stdin))
    throw failure('nobody can be asked, as standard input is no terminal; add --yes');
  await stderr.write('End them? [y/N] ');
  if (!(await isYes(stdin, stderr, signal))) throw failure('nothing was ended');
}
