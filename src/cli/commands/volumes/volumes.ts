import { Command } from 'commander';
import { formatAge } from '#kube/columns/human-age.js';
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
import { layOutTable } from '../../shared/print/tab-columns.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { formatBytes } from '#node';
import { wrapNotes } from '../../help-layout.js';

interface VolumesFlags extends SessionFlags {
  readonly allNamespaces: boolean;
}

/** A volume as an agent lists it. */
interface VolumeObject extends KubeObject {
  readonly spec?: { readonly request?: string };
  readonly status?: {
    readonly bytes?: number;
    readonly usedBy?: readonly string[];
    readonly isEnforced?: boolean;
    readonly whyNotEnforced?: string;
  };
}

const HEAD = ['NAME', 'SIZE', 'REQUEST', 'ENFORCED', 'USED BY', 'AGE'];

const HELP = `
A claim of a pod is a folder of this node, which outlives pods and agents. The size that it asks for is enforced where the file system of --root-dir has project quotas.

Examples:
  # The volumes of the namespace default
  podloop volumes

  # Those of all namespaces
  podloop volumes ls -A

  # Remove one with all that is in it
  podloop volumes rm data`;

/** `podloop volumes`: the volumes of claims on this node. */
export function volumesCommand(host: CliHost): Command {
  const command = new Command('volumes')
    .description('List the volumes of claims on this node with their sizes, or remove them.')
    .argument('[action...]', 'ls, or rm and names of claims (default: ls)');
  return addSessionFlags(command)
    .option('-A, --all-namespaces', 'Claims of all namespaces', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (words: string[], flags: VolumesFlags) => {
      const [action = 'ls', ...names] = words;
      if (action === 'ls' && names.length > 0) throw failure('ls takes no names');
      if (action !== 'ls' && action !== 'rm') throw failure(`there is ls and rm, and no ${action}`);
      if (action === 'rm' && names.length === 0)
        throw failure('name the claims whose volumes are to be removed');
      await withAgent(host, flags, async (session) =>
        action === 'ls' ? list(flags, session, host) : remove(names, session, host),
      );
    });
}

async function list(flags: VolumesFlags, session: AgentSession, host: CliHost): Promise<void> {
  const { items = [] } = await session.client.get('/volumes');
  const { allNamespaces } = flags;
  const shown = (items as readonly VolumeObject[]).filter(
    ({ metadata = {} }) => allNamespaces || metadata.namespace === session.namespace,
  );
  if (shown.length === 0) {
    await host.stderr.writeLine(
      allNamespaces ? 'No volumes found' : `No volumes found in ${session.namespace} namespace.`,
    );
    return;
  }
  const nowMs = host.clock.now();
  const head = [...(allNamespaces ? ['NAMESPACE'] : []), ...HEAD];
  const rows = shown.map(({ metadata = {}, spec = {}, status = {} }) => [
    ...(allNamespaces ? [metadata.namespace ?? ''] : []),
    metadata.name ?? '',
    status.bytes === undefined ? '<unknown>' : formatBytes(status.bytes),
    spec.request ?? '<none>',
    status.isEnforced === undefined ? '<none>' : status.isEnforced ? 'yes' : 'no',
    (status.usedBy ?? []).join(',') || '<none>',
    formatAge(metadata.creationTimestamp, nowMs),
  ]);
  for (const line of layOutTable([head, ...rows])) await host.stdout.writeLine(line);
  const reasons = new Set(shown.flatMap(({ status }) => status?.whyNotEnforced ?? []));
  for (const why of reasons)
    await host.stderr.writeLine(`Note: a size is not enforced: ${escapeTerminal(why)}`);
}

async function remove(names: readonly string[], session: AgentSession, host: CliHost): Promise<void> {
  const failures: string[] = [];
  for (const name of names) {
    const path = `/volumes/${encodeURIComponent(session.namespace)}/${encodeURIComponent(name)}`;
    try {
      const { warnings } = await session.client.send('DELETE', path);
      await host.stdout.writeLine(`volume "${name}" removed`);
      for (const warning of warnings)
        await host.stderr.writeLine(
          `Warning: ${escapeTerminal(warning)}; to be rid of the claim, too, take it out of there`,
        );
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      failures.push(...error.lines);
    }
  }
  if (failures.length > 0) throw new CommandFailure(failures);
}
