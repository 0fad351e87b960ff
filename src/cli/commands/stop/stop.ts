import { Command } from 'commander';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { type AgentSession, withAgent } from '../../shared/agent-session.js';
import { PODS } from '../../shared/api/resource-type.js';
import { waitUntilGone } from '../../shared/api/wait-until-gone.js';
import { askForPods, howToStart } from '../../shared/pods/ask-for-pods.js';
import { addEndFlags, type EndFlags } from '../../shared/pods/end-flags.js';
import { addPodsFlags, findPods, type PodsFlags } from '../../shared/pods/find-pods.js';
import { wrapNotes } from '../../help-layout.js';

type StopFlags = PodsFlags & EndFlags;

const HELP = `
The manifests stay where they are. A stopped pod runs again after "podloop start", when its manifest changes, or when
it is applied again; not when the agent restarts. Its claims stay in use meanwhile: their volumes cannot be removed.

Examples:
  # Stop a pod, and wait until it has ended
  podloop stop web

  # All pods with a label, with a second to end
  podloop stop -l app=web -t 1

  # Let it run again
  podloop start web`;

/** `podloop stop`: ends pods of a running agent and keeps them from running again. */
export function stopCommand(host: CliHost): Command {
  const command = new Command('stop').description('Stop pods until they are started again.');
  return addEndFlags(addPodsFlags(command), 'have ended')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: StopFlags) =>
      withAgent(host, flags, (session) => stop(words, flags, session, host)),
    );
}

async function stop(
  words: readonly string[],
  flags: StopFlags,
  session: AgentSession,
  host: CliHost,
): Promise<void> {
  const { wait, timeout: timeoutMs } = flags;
  const then = async ({ metadata = {} }: KubeObject): Promise<void> => {
    const { namespace = session.namespace, name = '', uid } = metadata;
    if (wait)
      await waitUntilGone({ type: PODS, namespace, name, uid }, session, { clock: host.clock, timeoutMs });
    await host.stdout.writeLine(`pod "${name}" ${wait ? 'stopped' : 'stopping'}`);
  };
  const pods = await findPods(words, flags, session, 'stop');
  // It is to run again, with what is in its volumes.
  const request = { method: 'DELETE', action: '', query: { keepClaims: true }, then } as const;
  const stopped = await askForPods(pods, flags, request, { session, host });
  for (const line of howToStart(stopped)) await host.stderr.writeLine(line);
}
