import { dirname, join, resolve } from 'node:path';
import { Command } from 'commander';
import { SOCKET_NAME } from '#node';
import { findLockOwner, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { EXIT_INTERRUPTED } from '../../interrupts.js';
import { wrapNotes } from '../../help-layout.js';
import { socketOption } from '../../shared/agent-session.js';
import { quoteWord } from '../../shared/print/quote-word.js';
import { agentsOf, describeSilent, findAgents, type RunningAgent } from '../../shared/agents/find-agents.js';
import { AgentAbsent, AgentClient } from '../../shared/api/agent-client.js';
import { ApiError } from '../../shared/api/api-status.js';
import { readLines } from '../../shared/api/watch-objects.js';
import { parsePathFlag } from '../../shared/flag-values.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { isYes } from '../../shared/streaming/read-answer.js';
import { isTerminalInput } from '../../shared/streaming/raw-terminal.js';
import { type PodObject } from '#kube/columns/kube-object.js';
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
  let { agents, closed, silent } = await findAgents(host, signal);
  let unheard = chooseSilent(folder, flags, silent, host);
  if (unheard.length > 0 && !signal.aborted) {
    // Nobody could end one that is slow otherwise.
    const who = unheard.map(escapeTerminal).join(', ');
    await host.stderr.writeLine(`Waiting for an answer of the agent at ${who}`);
    ({ agents, closed, silent } = await findAgents(host, signal, { limitMs: SLOW_LIMIT_MS }));
    unheard = chooseSilent(folder, flags, silent, host);
  }
  const found = await chooseAgents(folder, flags, agents, host);
  // The one that is meant may be the one that does not answer. Of a folder the lock of its root folder says so.
  const silentLines = await Promise.all(unheard.map(describeUnheard));
  const isSure = folder !== undefined || (found.length === 1 && unheard.length === 0);
  if (silentLines.length > 0 && !isSure) throw new CommandFailure(silentLines);
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
    ...{ host, signal, silentLines },
    confirm: (ending) => confirm(ending, flags, host, signal),
  });
}

/** The silent agents that may be meant. */
function chooseSilent(
  folder: string | undefined,
  flags: DownFlags,
  silent: readonly string[],
  host: CliHost,
): readonly string[] {
  const { rootDir } = flags;
  const inRoot = rootDir === undefined ? undefined : join(resolve(rootDir), SOCKET_NAME);
  const wanted = socketOf(folder, flags, host) ?? inRoot;
  return wanted === undefined ? silent : silent.filter((path) => path === wanted);
}

async function describeUnheard(socket: string): Promise<string> {
  const pid = await findLockOwner(dirname(socket), NODE_ROOT_LOCK);
  const what = `the agent at ${socket} did not answer within ${SLOW_LIMIT_MS / 1_000}s`;
  return escapeTerminal(`error: ${describeSilent(what, pid)}`);
}

function closedError(closed: readonly string[], { socket }: DownFlags): CommandFailure {
  const [only, ...others] = closed;
  const agents = others.length === 0 ? `the agent at ${only}` : `the agents at ${closed.join(', ')}`;
  const none = socket === undefined ? 'no agent of yours runs here; ' : '';
  return failure(`${none}${agents} can only be ended by the user who started it, or by root`, {
    needsRoot: true,
  });
}

/** The agents that may be meant. */
async function chooseAgents(
  folder: string | undefined,
  flags: DownFlags,
  agents: readonly RunningAgent[],
  host: CliHost,
): Promise<readonly RunningAgent[]> {
  const { rootDir } = flags;
  const path = socketOf(folder, flags, host);
  if (path !== undefined) return agents.filter((agent) => agent.socket === path);
  const there = rootDir === undefined ? agents : agents.filter((agent) => agent.rootDir === resolve(rootDir));
  return folder === undefined ? there : agentsOf(folder, there);
}

/** The socket that is named; undefined if none is. */
function socketOf(
  folder: string | undefined,
  { socket, rootDir }: DownFlags,
  { env }: CliHost,
): string | undefined {
  const named = socket ?? (folder === undefined && rootDir === undefined ? env['PODLOOP_SOCKET'] : undefined);
  return named === undefined || named === '' ? undefined : resolve(named.replace(/^unix:(\/\/)?/, ''));
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
  const going = pods.filter(({ status = {} }) => status.phase !== 'Succeeded' && status.phase !== 'Failed');
  const nameOf = ({ metadata = {} }: PodObject): string =>
    `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
  const names = going.map(nameOf);
  const others = new Set(pods.map(nameOf).filter((name) => !names.includes(name)));
  // Those of a cluster are its own affair.
  const client = new AgentClient({ socketPath: socket, clock: host.clock, signal });
  const claims = kubeconfig === undefined ? await findClaims(client, pods) : [];
  const finished = pods.length - going.length;
  await confirm({ what: what.join(' and '), pid, names, finished, claims }, flags, host, signal);
  const answer = await client.open('POST', '/agent/end');
  let left: readonly string[] | undefined;
  let outcome: string | undefined;
  const say = (name: string): Promise<void> => host.stdout.writeLine(escapeTerminal(`pod ${name} ended`));
  for await (const line of readLines(client.read(answer))) {
    const report = JSON.parse(line) as { readonly left?: readonly string[]; readonly pods?: string };
    outcome = report.pods ?? outcome;
    const now = report.left ?? [];
    for (const name of left ?? []) if (!now.includes(name) && !others.has(name)) await say(name);
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

/** The claims with a volume, also those that no pod has any more; of an agent that cannot list them those of its pods. */
async function findClaims(client: AgentClient, pods: readonly PodObject[]): Promise<string[]> {
  try {
    const { items = [] } = await client.get('/volumes');
    return items.map(({ metadata = {} }) => `${metadata.namespace ?? ''}/${metadata.name ?? ''}`);
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    return claimsOf(pods);
  }
}

function claimsOf(pods: readonly PodObject[]): string[] {
  const names = pods.flatMap(({ metadata = {}, spec = {} }) =>
    (spec.volumes ?? []).flatMap(({ persistentVolumeClaim: claim }) =>
      claim?.claimName === undefined ? [] : `${metadata.namespace ?? ''}/${claim.claimName}`,
    ),
  );
  return [...new Set(names)].sort();
}

const LOOK_MS = 100;
/** How long an agent may take to answer who it is and what it runs. */
const SLOW_LIMIT_MS = 30_000;

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Nothing removes them once the agent has ended. */
const REMOVE_CLAIMS =
  'To remove such data: delete the pods that use it, then "podloop volumes rm NAME", before the agent ends';

/** Shows what will end, and asks. Rejects with a CommandFailure when the answer is no, or nobody can be asked. */
async function confirm(
  { what, pid, names, finished = 0, claims = [] }: Ending,
  { yes }: DownFlags,
  { stdin, stderr }: CliHost,
  signal: AbortSignal,
): Promise<void> {
  const agent = pid === undefined ? 'No agent runs.' : `The agent of ${what} (pid ${pid}) will end.`;
  const none = finished === 0 ? 'It has no pods.' : 'It has no pods that run.';
  const pods = names.length === 0 ? none : `These pods will end (${names.length}):`;
  const more = [
    ...(finished === 0
      ? []
      : [`${finished === 1 ? '1 pod has' : `${finished} pods have`} finished already.`]),
    ...(claims.length === 0
      ? []
      : [
          `The data of claims stay on this node, for the next "podloop up": ${claims.join(', ')}`,
          ...(pid === undefined ? [] : [REMOVE_CLAIMS]),
        ]),
  ];
  for (const line of [agent, pods, ...names.map((name) => `  ${name}`), ...more])
    await stderr.writeLine(escapeTerminal(line));
  if (yes) return;
  if (!isTerminalInput(stdin))
    throw failure('nobody can be asked, as standard input is no terminal; add --yes');
  await stderr.write('End them? [y/N] ');
  if (!(await isYes(stdin, stderr, signal))) throw failure('nothing was ended');
}
