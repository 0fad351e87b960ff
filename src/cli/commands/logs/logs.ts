import { Command, Option } from 'commander';
import { addSessionFlags, type AgentSession, stripEquals, withAgent } from '../../shared/agent-session.js';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { findPodOf, findPodsOf } from '../../shared/pods/pods-of-object.js';
import { chooseContainer } from '../../shared/api/container-choice.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { failure, usageFailure } from '../../command-failure.js';
import { parseDurationFlag, parseWholeFlag } from '../../shared/flag-values.js';
import { type LogFlags, type LogSource, LogStreams } from './log-streams.js';
import { selectorOption } from '../../shared/selector-option.js';
import { groupFlags, wrapNotes } from '../../help-layout.js';

/** Below these headings in the help; the rest is below Options. */
const FLAG_GROUPS = {
  'Which containers': [
    '--namespace',
    '--container',
    '--all-containers',
    '--selector',
    '--all-pods',
    '--previous',
  ],
  'Which lines': ['--follow', '--through-restarts', '--since', '--since-time', '--tail', '--limit-bytes'],
  'How lines are printed': ['--timestamps', '--prefix'],
};

const HELP = `
Examples:
  # What a pod has written
  podloop logs web

  # The last lines, and all that come
  podloop logs -f --tail=20 web -c server

  # Why it crashed: what the container before the last restart has written
  podloop logs -p web

  # A pod that crashes again and again
  podloop logs -f --through-restarts web

  # Several pods, each line with where it comes from
  podloop logs -f pod/web pod/db

  # All containers of all pods with a label, each line with where it comes from
  podloop logs -l app=web --all-containers --prefix`;

const USAGE =
  "expected 'logs [-f] [-p] (POD | TYPE/NAME) [-c CONTAINER]'.\nPOD or TYPE/NAME is a required argument for the logs command";

/** `podloop logs`: what containers of a running agent's pods have written. */
export function logsCommand(host: CliHost): Command {
  const command = new Command('logs')
    .description('Print the log of a container.')
    .argument(
      '[pod...]',
      'Name of the pod, as in "web" or "pod/web", and of the container, as -c; or several pods: pod/web pod/db',
    );
  addSessionFlags(command)
    .option('-f, --follow', 'Keep printing what the container writes', false)
    .option('--through-restarts', 'With -f: go on with the next container when one is restarted', false)
    .option('-p, --previous', 'Print the log of the container before its last restart', false)
    .addOption(new Option('-c, --container <name>', 'Name of the container').argParser(stripEquals))
    .option('--all-containers', 'All containers of the pod', false)
    .addOption(selectorOption())
    .option('--all-pods', 'All pods of a workload, as of deploy/web, each line with its pod', false)
    .option('--timestamps', 'Print the time before each line', false)
    .addOption(
      new Option('--since <duration>', 'Only lines of the last 5s, 2m or 3h').argParser(parseDurationFlag),
    )
    .option('--since-time <time>', 'Only lines since this time, as in 2026-11-22T01:02:03Z')
    .addOption(
      new Option('--tail <lines>', 'Number of last lines to print (default: all; with -l 10)').argParser(
        parseWholeFlag,
      ),
    )
    .addOption(
      new Option('--limit-bytes <bytes>', 'Maximum number of bytes to print').argParser(parseWholeFlag),
    )
    .option('--prefix', 'Print pod and container before each line', false)
    .option('--ignore-errors', 'Report errors and continue', false)
    .addOption(
      new Option('--max-log-requests <number>', 'Maximum number of logs to follow at once')
        .argParser(parseWholeFlag)
        .default(5),
    )
    .addOption(
      new Option('--pod-running-timeout <duration>', 'How long -f waits for a container to start')
        .argParser(parseDurationFlag)
        .default(20_000, '20s'),
    );
  return groupFlags(command, FLAG_GROUPS)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: LogFlags) => {
      const { pods, container } = readWords(words);
      checkFlags(pods[0], container, flags);
      const given = {
        ...flags,
        ...(container === undefined ? {} : { container }),
        // Otherwise nobody knows whose lines these are.
        prefix: flags.prefix || pods.length > 1,
      };
      await withAgent(host, flags, (session) => logs(pods, given, session, host));
    });
}

/** kubectl's `POD CONTAINER`, or several pods: more than two words, or a kind in front of the second. */
function readWords(words: readonly string[]): {
  readonly pods: readonly string[];
  readonly container?: string | undefined;
} {
  const [pod, second] = words;
  if (pod === undefined) return { pods: [] };
  const isSeveral = words.length > 2 || second?.includes('/') === true;
  return isSeveral ? { pods: [...new Set(words)] } : { pods: [pod], container: second };
}

function checkFlags(pod: string | undefined, inline: string | undefined, flags: LogFlags): void {
  const { selector, container, allContainers, since, sinceTime, tail, limitBytes } = flags;
  if (pod === undefined && selector === undefined) throw usageFailure(USAGE, 'logs');
  if (pod !== undefined && selector !== undefined) {
    throw usageFailure('only a selector (-l) or a POD name is allowed', 'logs');
  }
  if (inline !== undefined && container !== undefined) {
    throw failure('only one of -c or an inline [CONTAINER] arg is allowed');
  }
  const named = inline ?? container;
  if (allContainers && named !== undefined) {
    throw failure(`--all-containers=true should not be specified with container name ${named}`);
  }
  if (flags.throughRestarts && (!flags.follow || flags.previous))
    throw failure('--through-restarts is for -f, and not for --previous');
  if (since !== undefined && sinceTime !== undefined) {
    throw failure('at most one of `sinceTime` or `sinceSeconds` may be specified');
  }
  // Zero is kubectl's default and means no limit.
  if (since !== undefined && since < 0) throw failure('--since must be greater than 0');
  if (sinceTime !== undefined && Number.isNaN(Date.parse(sinceTime))) {
    throw failure(
      `--since-time must be a time such as 2026-11-22T01:02:03Z, not ${JSON.stringify(sinceTime)}`,
    );
  }
  if (tail !== undefined && tail < -1) throw failure('--tail must be greater than or equal to -1');
  if (limitBytes !== undefined && limitBytes < 0) throw failure('--limit-bytes must be greater than 0');
}

async function logs(
  words: readonly string[],
  flags: LogFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const pods = await findPods(words, flags, session, host);
  if (pods.length === 0) {
    await host.stderr.writeLine(`No resources found in ${session.namespace} namespace.`);
    return;
  }
  const sources: LogSource[] = [];
  for (const pod of pods) {
    for (const container of await chooseContainers(pod, flags, host))
      sources.push({ pod: nameOf(pod), container });
  }
  const { follow, maxLogRequests } = flags;
  if (follow && sources.length > 1 && sources.length > maxLogRequests) {
    throw failure(
      `you are attempting to follow ${sources.length} log streams, but maximum allowed concurrency is ${maxLogRequests}, use --max-log-requests to increase the limit`,
    );
  }
  await new LogStreams({ flags, session, host, sources }).run();
}

async function findPods(
  words: readonly string[],
  { selector, allPods }: LogFlags,
  session: AgentSession,
  { stderr }: CliHost,
): Promise<readonly PodObject[]> {
  const { client, namespace } = session;
  const say = (line: string): Promise<void> => stderr.writeLine(line);
  if (allPods) {
    const found = await Promise.all(words.map((word) => findPodsOf(word, session)));
    if (words.length > 0) return found.flatMap(({ pods }) => pods);
  }
  if (words.length > 0) return Promise.all(words.map((word) => findPodOf(word, session, say)));
  const { items = [] } = await client.get(pathOf(PODS, namespace), { labelSelector: selector });
  return items;
}

async function chooseContainers(pod: PodObject, flags: LogFlags, { stderr }: CliHost): Promise<string[]> {
  if (flags.allContainers) {
    const { initContainers = [], containers = [], ephemeralContainers = [] } = pod.spec ?? {};
    return [...initContainers, ...containers, ...ephemeralContainers].map(({ name = '' }) => name);
  }
  const { container, notice } = chooseContainer(pod, flags.container);
  if (notice !== undefined) await stderr.writeLine(notice);
  return [container.name ?? ''];
}

function nameOf({ metadata = {} }: KubeObject): string {
  return metadata.name ?? '';
}
