import { Command } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { readPodName } from '../../shared/api/object-selection.js';
import { pathOf, PODS } from '../../shared/api/resource-type.js';
import { readStoppedPods } from '../../shared/pods/read-stopped-pods.js';
import { wrapNotes } from '../../help-layout.js';

interface StartFlags extends SessionFlags {
  readonly all: boolean;
}

const HELP = `
Without a name it lists the pods that are stopped.

Examples:
  # What is stopped
  podloop start

  # Run a stopped pod again
  podloop start web

  # All that are stopped, in every namespace
  podloop start --all`;

/** `podloop start`: lets pods run again that somebody has stopped or deleted. */
export function startCommand(host: CliHost): Command {
  const command = new Command('start')
    .description('Start pods that were stopped or deleted, or list them.')
    .argument('[pod...]', 'Names of pods, as in "web db" or "pod/web"');
  return addSessionFlags(command)
    .option('--all', 'All stopped pods of all namespaces', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: StartFlags) =>
      withAgent(host, flags, (session) => start(words, flags, session, host)),
    );
}

async function start(
  words: readonly string[],
  { all }: StartFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { client, namespace } = session;
  if (all && words.length > 0) throw failure('name the pods, or use --all, not both');
  if (!all && words.length === 0) return list(session, host);
  const wanted = all
    ? (await readStoppedPods(client)).map(({ metadata = {} }) => ({
        namespace: metadata.namespace ?? namespace,
        name: metadata.name ?? '',
      }))
    : words.map((word) => ({ namespace, name: readPodName(word, `${word} is no pod; only pods can start`) }));
  if (wanted.length === 0) await host.stderr.writeLine('No pod is stopped');
  const failures: string[] = [];
  for (const pod of wanted) {
    try {
      const path = `${pathOf(PODS, pod.namespace, pod.name)}/start`;
      const { object } = await client.send('POST', path);
      await host.stdout.writeLine(`pod "${object.metadata?.name ?? pod.name}" started`);
    } catch (error) {
      if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
      failures.push(`error: ${await explain(pod, session)}`);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}

/** Why a pod cannot be started: it runs, or there is none. */
async function explain(
  { namespace, name }: { readonly namespace: string; readonly name: string },
  { client }: AgentSession,
): Promise<string> {
  try {
    await client.get(pathOf(PODS, namespace, name));
  } catch (error) {
    if (!(error instanceof ApiError) || error.reason !== 'NotFound') throw error;
    return `there is no pod "${name}" in namespace ${namespace}; "podloop apply -f FILE" adds one`;
  }
  return `pod "${name}" is not stopped; "podloop restart ${name}" ends it and runs it again`;
}

async function list({ client }: AgentSession, host: CliHost): Promise<void> {
  const stopped = await readStoppedPods(client);
  if (stopped.length === 0) await host.stderr.writeLine('No pod is stopped');
  for (const pod of stopped) await host.stdout.writeLine(nameOf(pod));
}

function nameOf({ metadata: { namespace = '', name = '' } = {} }: KubeObject): string {
  return `${namespace}/${name}`;
}
