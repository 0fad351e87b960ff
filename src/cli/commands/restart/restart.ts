import { Command } from 'commander';
import { type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { followObject } from '../../shared/api/follow-object.js';
import { PODS } from '../../shared/api/resource-type.js';
import { askForPods } from '../../shared/pods/ask-for-pods.js';
import { addEndFlags, type EndFlags } from '../../shared/pods/end-flags.js';
import { addPodsFlags, findPods, type PodsFlags } from '../../shared/pods/find-pods.js';
import { wrapNotes } from '../../help-layout.js';

type RestartFlags = PodsFlags & EndFlags;

const HELP = `
All containers of a pod end, and the pod runs again from its init containers on, with new volumes of its own.

Examples:
  # Restart a pod
  podloop restart web

  # All pods with a label, without waiting
  podloop restart -l app=web --no-wait`;

const ROLLOUT_HELP = `
The same as "podloop restart". No other rollout command of kubectl exists here: "podloop wait" waits for a pod, and histories of what
ran before are for a cluster.

Examples:
  # Restart a pod
  podloop rollout restart pod/web

  # All pods with a label
  podloop rollout restart pods -l app=web`;

/** `podloop rollout restart`: for users of kubectl. */
export function rolloutCommand(host: CliHost): Command {
  const command = new Command('rollout')
    .description('Restart pods, in the words of kubectl.')
    .argument('<action>', 'restart');
  return addEndFlags(addPodsFlags(command), 'have ended and run again')
    .addHelpText('after', wrapNotes(ROLLOUT_HELP))
    .action(async (action: string, words: string[], flags: RestartFlags) => {
      if (action !== 'restart')
        throw failure(
          action === 'status'
            ? 'there is no "rollout status"; podloop wait pod/NAME --for=condition=Ready waits for a pod'
            : `there is no "rollout ${action}"; there is "rollout restart"`,
        );
      // kubectl names the kind where a selector chooses.
      const [only] = words;
      const isKind =
        words.length === 1 && /^(?:pods?|po)$/.test(only!) && (flags.selector !== undefined || flags.all);
      await withAgent(host, flags, (session) => restart(isKind ? [] : words, flags, session, host));
    });
}

/** `podloop restart`: ends pods of a running agent and runs them again. */
export function restartCommand(host: CliHost): Command {
  const command = new Command('restart').description(
    'Restart pods: end all of their containers, and run them again.',
  );
  return addEndFlags(addPodsFlags(command), 'have ended and run again')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: RestartFlags) =>
      withAgent(host, flags, (session) => restart(words, flags, session, host)),
    );
}

async function restart(
  words: readonly string[],
  flags: RestartFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { wait, timeout } = flags;
  const then = async (pod: KubeObject): Promise<void> => {
    if (wait) await waitUntilBack(pod, session, host, timeout);
    await host.stdout.writeLine(`pod "${pod.metadata?.name ?? ''}" ${wait ? 'restarted' : 'restarting'}`);
  };
  const pods = await findPods(words, flags, session, 'restart');
  await askForPods(pods, flags, { method: 'POST', action: '/restart', then }, { session, host });
}

/** Resolves once the pod does not end any more, and has containers that were started. */
async function waitUntilBack(
  { metadata = {} }: KubeObject,
  session: AgentSession,
  host: CliHost,
  timeoutMs: number,
): Promise<void> {
  const { name = '', namespace = session.namespace, deletionTimestamp } = metadata;
  // Nothing had to end.
  let hasEnded = deletionTimestamp === undefined;
  const isBack = await followObject({ type: PODS, namespace, name }, session, {
    clock: host.clock,
    timeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
    isDone: (found) => {
      hasEnded ||= found.every((pod) => pod.metadata?.deletionTimestamp === undefined);
      return hasEnded && found.some(isUnderWay);
    },
  });
  if (!isBack) throw failure(`timed out waiting for pods/${name} to run again`);
}

function isUnderWay({ metadata = {}, status = {} }: PodObject): boolean {
  return metadata.deletionTimestamp === undefined && status.phase !== undefined && status.phase !== 'Pending';
}
