import { join, resolve } from 'node:path';
import { Command, Option } from 'commander';
import { findMissingManifests, SOCKET_NAME } from '#node';
import { makeFolder } from '#base/fs/make-folder.js';
import { findLockOwner, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { EXIT_INTERRUPTED } from '../../interrupts.js';
import { wrapNotes } from '../../help-layout.js';
import { chooseAgentPlace, howToEnd } from '../../shared/agents/agent-places.js';
import { quoteWord } from '../../shared/print/quote-word.js';
import {
  type AgentFacts,
  agentsOf,
  countReady,
  describeSilent,
  findAgents,
  findFlag,
  hasFailedForJob,
  isReady,
  readAgent,
} from '../../shared/agents/find-agents.js';
import { AgentClient } from '../../shared/api/agent-client.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { readStoppedPods } from '../../shared/pods/read-stopped-pods.js';
import { parseDurationFlag, parsePathFlag } from '../../shared/flag-values.js';
import { claimSharedFolder, SHARED_ROOT_DIR } from '../../shared/own-root-dir.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { AGENT_LOG, startAgent } from './start-agent.js';

interface UpFlags {
  readonly rootDir?: string;
  readonly wait: boolean;
  /** In milliseconds; 0 for no limit. */
  readonly timeout: number;
}

const HELP = `
The agent goes on when the terminal is closed, until "podloop down", and not over a restart of the machine: a unit of
systemd is for that. It has the default root folder, or one of its own below it if that has the manifests of another folder.
When an agent of the folder runs already, that one stays.

Flags behind the folder that are not listed here are those of "podloop run".

Examples:
  # Run the pods of a folder in the background, and wait until they are ready
  podloop up ./pods --wait

  # On the embedded runtime
  podloop up ./pods --runtime-endpoint embedded --image-dir ./images

  # Its page in the browser
  podloop up ./pods
  podloop web

  # What runs, and its end
  podloop ps
  podloop down ./pods`;

/** How long an agent may take until its socket answers. */
const START_LIMIT_MS = 60_000;
const LOOK_MS = 500;

/** `podloop up`: the agent of a folder in the background. */
export function upCommand(host: CliHost): Command {
  return new Command('up')
    .description('Run the pods of a folder of manifests in the background.')
    .argument('<folder>', 'Folder of Pod manifests, or one file')
    .argument('[flags...]', 'Flags of "podloop run"')
    .addOption(
      new Option(
        '--root-dir <path>',
        'Root folder of the agent (default: the one of "podloop run", or one of its own below it)',
      ).argParser(parsePathFlag),
    )
    .option('-d, --detach', 'In the background, as with docker compose; an agent of "up" always is')
    .option('--wait', 'Wait until every pod is ready or has succeeded', false)
    .addOption(
      new Option('--timeout <duration>', 'Maximum time that --wait waits; 0 for no limit')
        .argParser(parseDurationFlag)
        .default(300_000, '5m'),
    )
    .allowUnknownOption()
    .addHelpText('after', wrapNotes(HELP))
    .action(async (folder: string, more: string[], flags: UpFlags) => up(folder, more, flags, host));
}

async function up(folder: string, more: readonly string[], flags: UpFlags, host: CliHost): Promise<void> {
  if ([folder, ...more].includes('--web')) {
    const given = folder.startsWith('-') ? 'FOLDER' : quoteWord(folder);
    throw failure(
      `an agent in the background has no terminal for the link of its page; instead: podloop up ${given}, then: podloop web`,
    );
  }
  if (folder.startsWith('-')) {
    throw failure(
      folder === '-'
        ? 'an agent in the background has no standard input; name a folder, or use "podloop run -"'
        : `name the folder before the flags of "podloop run": podloop up FOLDER ${folder}`,
    );
  }
  if (more[0] !== undefined && !more[0].startsWith('-'))
    throw failure(`one folder is one agent; for another one: podloop up ${quoteWord(more[0])}`);
  const missing = await findMissingManifests({ podManifestPath: folder, manifestUrl: '' });
  if (missing !== undefined) throw failure(missing);
  const interrupted = host.listenForInterrupts();
  const signal = AbortSignal.any([interrupted, host.stdout.ended]);
  try {
    const facts = await findOrStart(resolve(folder), more, flags, host, signal);
    for (const problem of facts.problems) await host.stderr.writeLine(`Warning: ${escapeTerminal(problem)}`);
    await nameStopped(facts, host, signal);
    if (flags.wait) await waitForPods(facts, flags.timeout, host, signal);
  } catch (error) {
    if (!interrupted.aborted) throw error;
    throw new CommandFailure(
      [`The agent goes on. To end it: ${howToEnd(folder, { rootDir: flags.rootDir })}`],
      EXIT_INTERRUPTED,
    );
  }
}

async function findOrStart(
  folder: string,
  more: readonly string[],
  flags: UpFlags,
  host: CliHost,
  signal: AbortSignal,
): Promise<AgentFacts> {
  const { agents, silent } = await findAgents(host, signal);
  const [running] = await agentsOf(folder, agents);
  if (running !== undefined) {
    await host.stdout.writeLine(`The agent of ${folder} runs already (pid ${running.pid})`);
    if (more.length > 0)
      await host.stderr.writeLine(`It keeps its flags; to change them: ${howToEnd(folder)}, then up again`);
    return running;
  }
  const place =
    flags.rootDir === undefined
      ? await chooseAgentPlace(folder, host.env)
      : { rootDir: resolve(flags.rootDir), podLogsDir: undefined };
  const { rootDir, podLogsDir } = place;
  if (silent.includes(join(rootDir, SOCKET_NAME))) {
    const pid = await findLockOwner(rootDir, NODE_ROOT_LOCK);
    throw failure(describeSilent(`the agent in ${rootDir} did not answer in time`, pid));
  }
  if (rootDir.startsWith(`${SHARED_ROOT_DIR}/`) || rootDir === SHARED_ROOT_DIR)
    await claimSharedFolder(SHARED_ROOT_DIR);
  await makeFolder(rootDir, 0o700);
  const logs = podLogsDir === undefined ? [] : ['--pod-logs-dir', podLogsDir];
  const args = [folder, '--root-dir', rootDir, ...logs, ...more];
  const socket = resolve(findFlag(more, '--socket') ?? join(rootDir, SOCKET_NAME));
  const facts = await startAgent({ args, rootDir, socket, limitMs: START_LIMIT_MS }, host, signal);
  const found = resolveAgentSocket(undefined, host.env, process.getuid?.() ?? 0, 'usual');
  const isFound = found === facts.socket;
  for (const line of [
    `The agent of ${folder} runs in the background (pid ${facts.pid})`,
    `Its log:      ${join(rootDir, AGENT_LOG)}`,
    ...(isFound ? [] : [`To reach it:  export PODLOOP_SOCKET=${quoteWord(facts.socket)}`]),
    `To watch it:  podloop get pods -A -w`,
    `To end it:    ${howToEnd(folder)}`,
  ])
    await host.stdout.writeLine(line);
  return facts;
}

/** Pods of these manifests that somebody has stopped or deleted stay so over restarts of the agent. */
async function nameStopped({ socket }: AgentFacts, host: CliHost, signal: AbortSignal): Promise<void> {
  const client = new AgentClient({ socketPath: socket, clock: host.clock, signal });
  const stopped = await readStoppedPods(client).catch(() => {
    signal.throwIfAborted();
    // The agent runs, which is what was asked for; "podloop get pods" shows them, too.
    return [];
  });
  for (const pod of stopped) {
    const { name = '', namespace = '' } = pod.metadata ?? {};
    const place = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
    await host.stderr.writeLine(
      escapeTerminal(`${nameOf(pod)} was stopped or deleted; to run it again: podloop start ${name}${place}`),
    );
  }
}

/**
 * Resolves once every pod is ready or has succeeded, and says which ones become so. Rejects with a CommandFailure when
 * one has failed, or the time is up.
 */
async function waitForPods(
  { socket }: AgentFacts,
  timeoutMs: number,
  host: CliHost,
  signal: AbortSignal,
): Promise<void> {
  const { clock, stdout } = host;
  const client = new AgentClient({ socketPath: socket, clock, signal });
  const untilMs = timeoutMs === 0 ? Infinity : clock.monotonicMs() + timeoutMs;
  const said = new Map<string, readonly string[]>();
  let failedBefore = '';
  for (;;) {
    const { hasReadManifests, problems } = await readAgent(client, clock);
    const { items = [] } = await client.get(pathOf(PODS, undefined));
    const pods: readonly PodObject[] = items;
    for (const pod of pods) {
      const { uid = '' } = pod.metadata ?? {};
      const state = describeState(pod);
      const before = said.get(uid) ?? [];
      // A pod that is tried again and again goes from one state to another and back.
      if (before.at(-1) === state || (before.includes(state) && !isReady(pod))) continue;
      said.set(uid, [...before.filter((each) => each !== state), state]);
      await stdout.writeLine(escapeTerminal(`${nameOf(pod)} ${state}`));
    }
    const awaited = pods.filter((pod) => !hasFailedForJob(pod));
    const failed = awaited.filter(({ status }) => status?.phase === 'Failed');
    if (failed.length > 0) throw failure(`pods have failed: ${failed.map(nameOf).join(', ')}`);
    const jobs = await readJobs(client);
    const failedJobs = jobs.flatMap(({ name, failure: why }) =>
      why === undefined ? [] : [`${name} (${why})`],
    );
    // What the last agent left is forgotten a moment later, if no manifest has it any more.
    if (hasReadManifests && failedJobs.length > 0 && failedJobs.join() === failedBefore)
      throw failure(escapeTerminal(`Jobs have failed: ${failedBefore}`));
    failedBefore = failedJobs.join();
    const short = await readShortWorkloads(client);
    if (
      hasReadManifests &&
      failedJobs.length === 0 &&
      awaited.every(isReady) &&
      short.length === 0 &&
      !jobs.some(({ isWaiting }) => isWaiting)
    ) {
      if (problems.length > 0)
        throw new CommandFailure(problems.map((problem) => `error: ${escapeTerminal(problem)}`));
      return stdout.writeLine(`${countReady(pods)} pods are ready`);
    }
    if (clock.monotonicMs() >= untilMs) {
      const notReady = awaited.filter((pod) => !isReady(pod));
      const late = [
        ...notReady.map((pod) => `${nameOf(pod)} (${describeState(pod)})`),
        ...short,
        ...jobs.filter(({ isWaiting }) => isWaiting).map(({ name }) => `${name} (waits for its next pod)`),
      ];
      const why = notReady.slice(0, 1).map(({ metadata: { name = '', namespace = '' } = {} }) => {
        const place = namespace === DEFAULT_NAMESPACE ? '' : ` -n ${namespace}`;
        return `To find out why: podloop doctor pod ${name}${place}`;
      });
      throw new CommandFailure(
        [`error: not ready after ${timeoutMs / 1_000}s: ${late.join(', ')}`, ...why].map(escapeTerminal),
      );
    }
    await clock.sleep(LOOK_MS, signal);
  }
}

interface JobState {
  readonly name: string;
  /** Why it has failed for good; undefined when it has not. */
  readonly failure: string | undefined;
  /** It has no pod, and will have one. */
  readonly isWaiting: boolean;
}

async function readJobs(client: AgentClient): Promise<JobState[]> {
  const { kind, items = [] } = await client.get('/apis/batch/v1/jobs');
  return kind === 'JobList' ? items.map(toJob) : [];
}

/**
 * Workloads that have fewer ready pods than they want, with how many: they may not have made them yet, as a StatefulSet
 * makes one after the other.
 */
async function readShortWorkloads(client: AgentClient): Promise<string[]> {
  const lists = ['statefulsets', 'deployments', 'replicasets'].map(async (plural) => {
    const { kind = '', items = [] } = await client.get(`/apis/apps/v1/${plural}`);
    return kind.toLowerCase() === `${plural.slice(0, -1)}list` ? items : [];
  });
  return (await Promise.all(lists)).flat().flatMap((item) => {
    const { spec = {}, status = {} } = item as {
      readonly spec?: { readonly replicas?: number };
      readonly status?: { readonly readyReplicas?: number };
    };
    const [ready, wanted] = [status.readyReplicas ?? 0, spec.replicas ?? 1];
    return ready < wanted ? [`${nameOf(item)} (${ready}/${wanted} pods are ready)`] : [];
  });
}

function toJob(job: KubeObject): JobState {
  const { active = 0, conditions = [] } = ((job as { readonly status?: unknown }).status ?? {}) as {
    readonly active?: number;
    readonly conditions?: readonly {
      readonly type?: string;
      readonly status?: string;
      readonly message?: string;
    }[];
  };
  const holds = conditions.filter(({ status }) => status === 'True');
  const failed = holds.find(({ type }) => type === 'Failed');
  return {
    name: nameOf(job),
    failure: failed && (failed.message ?? 'Failed'),
    isWaiting: active + holds.length === 0,
  };
}

function nameOf({ metadata = {} }: KubeObject): string {
  return `${metadata.namespace ?? ''}/${metadata.name ?? ''}`;
}

/** `ready`, `succeeded`, or what it waits for. */
function describeState(pod: PodObject): string {
  const { status = {} } = pod;
  if (status.phase === 'Succeeded') return 'has succeeded';
  if (isReady(pod)) return 'is ready';
  const states = [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
  const waiting = states.map(({ state }) => state?.waiting?.reason).find((reason) => reason !== undefined);
  const phase = status.reason ?? status.phase ?? 'Pending';
  return `is not ready: ${waiting ?? phase}`;
}
