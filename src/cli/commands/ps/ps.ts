import { Command, Option } from 'commander';
import { formatAge } from '#kube/columns/human-age.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { stripEquals } from '../../shared/agent-session.js';
import { countReady, FIND_LIMIT_MS, findAgents, type RunningAgent } from '../../shared/agents/find-agents.js';
import { toJsonText, toYamlText } from '../../shared/print/object-text.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { layOutTable } from '../../shared/print/tab-columns.js';

interface PsFlags {
  readonly output?: 'wide' | 'json' | 'yaml';
  /** The contrary of `--no-headers`. */
  readonly headers: boolean;
}

const HELP = `
PODS counts the pods that are ready or have succeeded, and all pods; failed pods of a Job, which makes others, are left out. For the pods themselves:
podloop get pods -A

Examples:
  # Which agents run, and where their sockets are
  podloop ps

  # With the root folders and the runtimes
  podloop ps -o wide

  # Sockets of all agents, for a script
  podloop ps -o json | jq -r '.items[].socket'`;

/** `podloop ps`: the node agents that run on this machine. */
export function psCommand(host: CliHost): Command {
  return new Command('ps')
    .description('List the node agents that run on this machine.')
    .addOption(new Option('-o, --output <format>', 'wide, json or yaml').argParser(parseOutput))
    .option('--no-headers', 'Print no line of headings')
    .option('-a, --all', 'As without it; for those who are used to it from docker', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: PsFlags) => ps(flags, host));
}

function parseOutput(text: string): string {
  const format = stripEquals(text);
  if (['wide', 'json', 'yaml'].includes(format)) return format;
  throw failure(
    `unable to match a printer suitable for the output format "${format}", allowed formats are: json,wide,yaml`,
  );
}

async function ps({ output, headers }: PsFlags, host: CliHost): Promise<void> {
  const { stdout, stderr, clock } = host;
  const { agents, closed, silent } = await findAgents(host, host.listenForInterrupts());
  if (output === 'json' || output === 'yaml') {
    const list = { apiVersion: 'podloop.dev/v1', kind: 'AgentList', items: agents.map(toItem) };
    return stdout.writeLine((output === 'json' ? toJsonText(list) : toYamlText(list)).trimEnd());
  }
  const wide = output === 'wide';
  const rows = agents.map((agent) => toRow(agent, clock.now(), wide));
  if (rows.length > 0 && headers) {
    rows.unshift(['PID', 'PODS', 'AGE', 'MANIFESTS', 'SOCKET', ...(wide ? WIDE : [])]);
  }
  for (const line of layOutTable(rows)) await stdout.writeLine(line);
  for (const socket of silent) {
    const what = `The agent at ${socket} did not answer within ${FIND_LIMIT_MS / 1_000}s and is not shown`;
    await stderr.writeLine(
      escapeTerminal(`${what}: it may be busy, stopped by a signal, starting or ending`),
    );
  }
  if (closed.length > 0) {
    const others =
      closed.length === 1 ? 'An agent of another user is' : `${closed.length} agents of others are`;
    await stderr.writeLine(`${others} not shown; root sees all: ${host.asRoot ?? 'sudo podloop ps'}`);
  } else if (agents.length + silent.length === 0) {
    await stderr.writeLine('No agent runs. To start one: podloop up FOLDER');
  }
}

const WIDE = ['ROOT-DIR', 'NODE', 'RUNTIME', 'VERSION'];

function toRow(agent: RunningAgent, nowMs: number, wide: boolean): string[] {
  const { pid, pods, startedAt, manifests, kubeconfig, socket, rootDir, nodeName, runtime, version } = agent;
  const sources = [...manifests, ...(kubeconfig === undefined ? [] : [`cluster of ${kubeconfig}`])];
  return [
    String(pid),
    countReady(pods),
    formatAge(startedAt, nowMs),
    sources.join(','),
    socket,
    ...(wide ? [rootDir, nodeName, `${runtime.name} ${runtime.version}`, version] : []),
  ];
}

/** Pods as numbers: there may be many, and `get pods` has them. */
function toItem({ pods, ...facts }: RunningAgent): object {
  const [ready, all] = countReady(pods).split('/').map(Number);
  return { ...facts, pods: { ready, all } };
}
