import { existsSync, lstatSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { basename, join, resolve } from 'node:path';
import { SOCKET_NAME } from '#node';
import { findProcess, isStopped } from '#base/proc/process-identity.js';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { AgentClient } from '../api/agent-client.js';
import { listUsualSockets, readListening } from '../api/agent-socket.js';
import { AgentSilent, askAgent } from '../api/ask-agent.js';
import { pathOf, PODS } from '../api/resource-type.js';

/** What an agent says about itself. */
export interface AgentFacts {
  readonly kind: 'Agent';
  readonly pid: number;
  readonly rootDir: string;
  readonly socket: string;
  readonly nodeName: string;
  readonly version: string;
  readonly runtime: { readonly name: string; readonly version: string; readonly url: string };
  /** RFC 3339. */
  readonly startedAt: string;
  /** Folders and files, absolute, and URLs; `-` is standard input. */
  readonly manifests: readonly string[];
  readonly kubeconfig?: string;
  /** Starts the agent again when it ends, as systemd may do. */
  readonly serviceManager?: string;
  readonly hasReadManifests: boolean;
  readonly problems: readonly string[];
}

/** An agent that runs, and its pods. */
export interface RunningAgent extends AgentFacts {
  readonly pods: readonly PodObject[];
}

/** All agents that could be found. */
export interface FoundAgents {
  readonly agents: readonly RunningAgent[];
  /** Sockets that only another user may open. */
  readonly closed: readonly string[];
  /** Sockets at which somebody listens who did not answer in time. */
  readonly silent: readonly string[];
}

/** Whom {@link findAgents} asks, and for how long. */
export interface FindAgentsOptions {
  /** Whether that socket may be asked (default: every one that is there). */
  readonly mayAsk?: (socketPath: string) => boolean;
  /** How long each answer may take. */
  readonly limitMs?: number;
}

/** How long an answer may take, in milliseconds (default). */
export const FIND_LIMIT_MS = 5_000;

/**
 * The agents of this machine: those with a default root folder, those whose command line or `PODLOOP_SOCKET` names their
 * socket, and any that listens at a socket of the usual name. Never rejects.
 */
export async function findAgents(
  { env, clock }: Pick<CliHost, 'env' | 'clock'>,
  signal: AbortSignal,
  { mayAsk = existsSync, limitMs = FIND_LIMIT_MS }: FindAgentsOptions = {},
): Promise<FoundAgents> {
  const listening = [...(readListening() ?? [])].filter((path) => basename(path) === SOCKET_NAME);
  const named = [env['PODLOOP_SOCKET'] ?? '', ...namedSockets()].filter((path) => path !== '');
  const usual = listUsualSockets(env, process.getuid?.() ?? 0);
  const candidates = new Set([...listening, ...usual, ...named].filter((path) => mayAsk(path)));
  const closed: string[] = [];
  const silent: string[] = [];
  const asked = [...candidates].sort().map(async (socketPath) => {
    const client = new AgentClient({ socketPath, clock, signal });
    try {
      const facts = await readAgent(client, clock, limitMs);
      const { items = [] } = (await askAgent(client, pathOf(PODS, undefined), {
        clock,
        limitMs,
      })) as KubeObject;
      return [{ ...facts, pods: items }];
    } catch (error) {
      if (/only the user who started it/.test((error as Error).message)) closed.push(socketPath);
      if (error instanceof AgentSilent) silent.push(socketPath);
      return [];
    }
  });
  const found = (await Promise.all(asked)).flat();
  const agents = [...new Map(found.map((agent) => [agent.pid, agent])).values()];
  return {
    agents: agents.sort((one, other) => one.startedAt.localeCompare(other.startedAt)),
    closed,
    silent,
  };
}

/**
 * Whether a socket belongs to this user or to root. Anybody can listen where everybody may write, and answer in the name
 * of an agent.
 */
export function isTrustedSocket(path: string): boolean {
  // A link could lead elsewhere by the time that somebody connects.
  const facts = lstatSync(path, { throwIfNoEntry: false });
  return facts !== undefined && facts.isSocket() && [0, process.getuid?.() ?? 0].includes(facts.uid);
}

/** Words about an agent that runs and does not answer: what it may be up to, and what can be done. */
export function describeSilent(what: string, pid: number | undefined): string {
  const end = pid === undefined ? 'end its process' : `kill ${pid}`;
  const found = pid === undefined ? undefined : findProcess(pid);
  const why =
    found !== undefined && isStopped(found)
      ? `it is stopped by a signal, and goes on after: kill -CONT ${pid}`
      : 'it may be busy, starting or ending. Try again';
  return `${what}: ${why}; to end it without its pods: ${end}, and "podloop down FOLDER" ends those`;
}

/** What the agent of a socket says about itself. Rejects with an Error that says why there is nothing. */
export async function readAgent(
  client: AgentClient,
  clock: CliHost['clock'],
  limitMs = FIND_LIMIT_MS,
): Promise<AgentFacts> {
  const facts = (await askAgent(client, '/agent', { clock, limitMs })) as AgentFacts;
  if ((facts.kind as string) !== 'Agent')
    throw new Error(`whoever listens at ${client.socketPath} is no agent`);
  return facts;
}

/** Those whose manifests are in that folder or file, by any spelling. */
export async function agentsOf(folder: string, agents: readonly RunningAgent[]): Promise<RunningAgent[]> {
  const real = async (path: string): Promise<string> => realpath(path).catch(() => resolve(path));
  const wanted = await real(folder);
  const all = await Promise.all(
    agents.map(async (agent) => ({ agent, places: await Promise.all(agent.manifests.map(real)) })),
  );
  return all.filter(({ places }) => places.includes(wanted)).map(({ agent }) => agent);
}

/**
 * How many of the pods are ready or have succeeded, and how many there are. One that has failed for a Job does not count:
 * the Job says whether it has another made in its place.
 */
export function countReady(pods: readonly PodObject[]): string {
  const counted = pods.filter((pod) => !hasFailedForJob(pod));
  return `${counted.filter(isReady).length}/${counted.length}`;
}

/** Whether a pod is a failed attempt of a Job. */
export function hasFailedForJob({ status = {}, metadata = {} }: PodObject): boolean {
  return status.phase === 'Failed' && (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'Job');
}

/** Whether a pod does what it is for: it is ready, or it has succeeded. */
export function isReady({ status = {}, metadata = {} }: PodObject): boolean {
  if (metadata.deletionTimestamp !== undefined) return false;
  if (status.phase === 'Succeeded') return true;
  return (status.conditions ?? []).some(({ type, status: state }) => type === 'Ready' && state === 'True');
}

/** Where the sockets of every running `podloop run` are by its command line, with a default root folder or another. */
function namedSockets(): string[] {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  return pids.flatMap((pid) => {
    try {
      const words = readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0');
      if (!words.includes('run')) return [];
      const socket = findFlag(words, '--socket');
      const rootDir = findFlag(words, '--root-dir');
      const path = socket ?? (rootDir === undefined ? undefined : join(rootDir, SOCKET_NAME));
      return path === undefined ? [] : [resolve(readlinkSync(`/proc/${pid}/cwd`), path)];
    } catch {
      // It has ended, or belongs to somebody else.
      return [];
    }
  });
}

/** The last value of a flag, as `--flag VALUE` or `--flag=VALUE`. */
export function findFlag(words: readonly string[], flag: string): string | undefined {
  const at = words.findLastIndex((word) => word === flag || word.startsWith(`${flag}=`));
  if (at < 0) return undefined;
  const word = words[at]!;
  return word === flag ? words[at + 1] : word.slice(flag.length + 1);
}
