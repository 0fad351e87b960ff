import { type CniNetworkList, type CniPlugin, type CniResult } from '../links/attachment-record.js';
import { runHelper, type HelperResult } from '../../process/helper-process.js';
import { findProgram } from '#base/proc/find-program.js';
import { type NetworkTools } from '../network-tools.js';
import { refused } from '../../rpc-error.js';

/** One call of one plugin, as the CNI specification 1.0 describes it in "Execution Protocol". */
export interface CniPluginCall {
  readonly command: 'ADD' | 'DEL' | 'CHECK';
  readonly list: CniNetworkList;
  readonly plugin: CniPlugin;
  readonly sandboxId: string;
  /** The file of the sandbox's network namespace; empty when it is gone, for DEL alone. */
  readonly netns: string;
  readonly args: string;
  readonly binDirs: string;
  readonly capabilities: Readonly<Record<string, unknown>>;
  readonly previous: CniResult | undefined;
}

/** Plugins may ask servers far away; one that takes longer is hung. */
const PLUGIN_DEADLINE_MS = 30_000;

/** Calls a plugin. Resolves with its result, undefined when it printed none; rejects with its own words. */
export async function callCniPlugin(
  tools: NetworkTools,
  call: CniPluginCall,
  signal?: AbortSignal,
): Promise<CniResult | undefined> {
  const { command, plugin, list, binDirs } = call;
  const program = await findProgram(plugin.type, binDirs);
  if (program === undefined) throw refused(`CNI plugin "${plugin.type}" is not in ${binDirs}`);
  const result = await runHelper({
    argv: tools.wrap([program]),
    input: JSON.stringify(toPluginConfig(call)),
    env: {
      PATH: tools.path,
      CNI_COMMAND: command,
      CNI_CONTAINERID: call.sandboxId,
      CNI_NETNS: call.netns,
      CNI_IFNAME: 'eth0',
      CNI_ARGS: call.args,
      CNI_PATH: binDirs,
    },
    deadlineMs: PLUGIN_DEADLINE_MS,
    signal,
    clock: tools.clock,
  });
  if (result.exitCode !== 0) {
    throw refused(
      `${command} of CNI plugin "${plugin.type}" (network ${list.name}): ${describeError(result)}`,
    );
  }
  return result.stdout.trim() === '' ? undefined : (JSON.parse(result.stdout) as CniResult);
}

/** What a plugin reads from its stdin: its part of the list, with what the list and the runtime have to add. */
export function toPluginConfig(
  call: Pick<CniPluginCall, 'list' | 'plugin' | 'capabilities' | 'previous'>,
): object {
  const { list, plugin, capabilities, previous } = call;
  const { capabilities: declared = {}, ...rest } = plugin;
  const wanted = Object.entries(capabilities).filter(([name]) => declared[name] === true);
  return {
    ...rest,
    cniVersion: list.cniVersion,
    name: list.name,
    ...(wanted.length > 0 ? { runtimeConfig: Object.fromEntries(wanted) } : {}),
    ...(previous === undefined ? {} : { prevResult: previous }),
  };
}

function describeError({ exitCode, stdout, stderr }: HelperResult): string {
  try {
    const { code, msg, details } = JSON.parse(stdout) as { code?: number; msg?: string; details?: string };
    if (msg !== undefined) return `${msg}${details === undefined ? '' : `; ${details}`} (code ${code ?? 0})`;
  } catch {
    // It broke the protocol: its words must do.
  }
  return `exit code ${exitCode}: ${(stderr.trim() || stdout.trim()).slice(0, 1000)}`;
}
