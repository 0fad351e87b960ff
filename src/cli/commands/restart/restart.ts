import { Command } from 'commander';
import { type PodObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { followObject } from '../../shared/api/follow-object.js';
import { PODS } from '../../shared/api/resource-type.js';
import { askForPods } from '../../shared/pods/ask-for-pods.js';
import { addEndFlags, type EndFlags } from '../../shared/pods/end-flags.js';
import { addPodsFlags, findPods, type PodsFlags } from '../../shared/pods/find-pods.js';
import { wrapNotes } from '../../help-layout.js';

/** The flags of a restart. */
export type RestartFlags = PodsFlags & EndFlags;

const HELP = `
All containers of a pod end, each within its grace period. Then the pod starts from the beginning: its init containers run again, and its emptyDir
volumes are empty. Volumes of claims and of the host stay as they are.

Examples:
  # Restart a pod
  podloop restart web

  # All pods with a label, without waiting
  podloop restart -l app=web --no-wait`;

/** `podloop restart`: ends pods of a running agent and runs them again. */
export function restartCommand(host: CliHost): Command {
  const command = new Command('restart').description(
    'Restart pods: end all of their containers, and run them again.',
  );
  return addEndFlags(addPodsFlags(command), 'have ended and run again')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: RestartFlags) =>
      withAgent(host, flags, (session) => restartPods(words, flags, session, host)),
    );
}

/** Restarts pods, and says so. */
export async function restartPods(
  words: readonly string[],
  flags: RestartFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { wait, timeout } = flags;
  const then = async (pod: PodObject): Promise<void> => {
    if (wait) await waitUntilBack(pod, session, host, timeout);
    await host.stdout.writeLine(`pod "${pod.metadata?.name ?? ''}" ${wait ? 'restarted' : 'restarting'}`);
  };
  const pods = await findPods(words, flags, session, 'restart');
  await askForPods(pods, flags, { method: 'POST', action: '/restart', then }, { session, host });
}

/** Resolves once the pod does not end any more, and each of its containers has been started since it was asked to. */
async function waitUntilBack(
  before: PodObject,
  session: AgentSession,
  host: CliHost,
  timeoutMs: number,
): Promise<void> {
  const { name = '', namespace = session.namespace } = before.metadata ?? {};
  const former = new Set(containerIds(before));
  const isBack = await followObject({ type: PODS, namespace, name }, session, {
    clock: host.clock,
    timeoutMs: timeoutMs === 0 ? undefined : timeoutMs,
    isDone: (found) => found.some((pod: PodObject) => runsAgain(pod, former)),
  });
  if (!isBack) throw failure(`timed out waiting for pods/${name} to run again`);
}

/** What the pod was says nothing: its status is that of its former containers for a while. */
function runsAgain(pod: PodObject, former: ReadonlySet<string>): boolean {
  const { metadata = {}, spec = {} } = pod;
  const started = containerIds(pod).filter((id) => !former.has(id));
  return metadata.deletionTimestamp === undefined && started.length >= (spec.containers ?? []).length;
}

/** Of the containers that have been started, without those of the beginning. */
function containerIds({ status = {} }: PodObject): string[] {
  return (status.containerStatuses ?? []).flatMap(({ containerID = '' }) =>
    containerID === '' ? [] : [containerID],
  );
}
