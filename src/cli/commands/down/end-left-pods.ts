import { resolve } from 'node:path';
import { Agent, hasSameManifests, readManifestPlaces, resolveAgentOptions } from '#node';
import { PodloopError } from '#base/errors/errors.js';
import { findLockOwner, NODE_ROOT_LOCK } from '#base/fs/folder-lock.js';
import { SILENT_LOGGER } from '#base/log/logger.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { chooseAgentPlace } from '../../shared/agents/agent-places.js';
import { describeSilent } from '../../shared/agents/find-agents.js';
import { createLogger } from '../../shared/log/log-output.js';
import { machineDefaults } from '../../shared/machine-defaults.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';

/** The flags of `podloop down` that say whose pods were left. */
export interface LeftPodsFlags {
  readonly rootDir?: string;
  readonly runtimeEndpoint?: string;
}

/** What is to end. */
export interface Ending {
  readonly what: string;
  /** Undefined when no agent runs. */
  readonly pid: number | undefined;
  /** Of the pods that run. */
  readonly names: readonly string[];
  /** How many have finished by themselves (default: 0). */
  readonly finished?: number;
  /** Whose data stay, as `namespace/name` (default: none that is known). */
  readonly claims?: readonly string[];
}

/** What {@link endLeftPods} needs. */
export interface EndLeftPodsPorts {
  readonly host: CliHost;
  readonly signal: AbortSignal;
  /** About agents that did not answer: what is said if no agent has left pods. */
  readonly silentLines: readonly string[];
  /** Shows what will end, and asks. Rejects with a CommandFailure when it is not to end. */
  readonly confirm: (ending: Ending) => Promise<void>;
}

/** Ends what the last agent of a folder has left: by an agent in this process that takes it up and wants nothing. */
export async function endLeftPods(
  folder: string | undefined,
  flags: LeftPodsFlags,
  { host, signal, silentLines, confirm }: EndLeftPodsPorts,
): Promise<void> {
  const usual = flags.rootDir === undefined ? machineDefaults(host.env).rootDir! : resolve(flags.rootDir);
  const [recorded] = await readManifestPlaces(usual);
  const manifests = folder ?? recorded;
  if (manifests === undefined || manifests === 'standard input')
    throw failure(
      'no agent runs, and none has left pods in the default root folder; name its folder of manifests',
    );
  const place =
    flags.rootDir === undefined
      ? await chooseAgentPlace(manifests, host.env)
      : { rootDir: usual, podLogsDir: undefined };
  const { rootDir, podLogsDir } = place;
  const nothing = new CommandFailure([
    `error: no agent of ${manifests} ${silentLines.length > 0 ? 'answers' : 'runs'}, and none has left pods in ${rootDir}`,
    ...silentLines,
  ]);
  if (!(await hasSameManifests(rootDir, { podManifestPath: manifests, manifestUrl: '' }))) throw nothing;
  const { runtimeEndpoint } = flags;
  const options = resolveAgentOptions(
    {
      ...{ podManifestPath: manifests, rootDir, readOnlyPort: 0, healthzPort: 0 },
      ...(podLogsDir === undefined ? {} : { podLogsDir }),
      ...(runtimeEndpoint === undefined ? {} : { runtimeEndpoint }),
    },
    {},
    machineDefaults(host.env),
  );
  const { clock, stdin, selfCommand } = host;
  const log = createLogger(host, 0);
  const logger = { ...SILENT_LOGGER, warn: log.warn.bind(log), error: log.error.bind(log) };
  const ports = { clock, stdin, logger, podloopCommand: selfCommand };
  await using agent = await Agent.start(options, ports, signal).catch(async (error: unknown) => {
    if (!(error instanceof PodloopError) || error.code !== 'NODE_ROOT_IN_USE') throw error;
    const pid = await findLockOwner(rootDir, NODE_ROOT_LOCK);
    const named = pid === undefined ? '' : ` (pid ${pid})`;
    const what = `the agent of ${manifests}${named} runs in ${rootDir} and did not answer in time`;
    throw failure(escapeTerminal(describeSilent(what, pid)));
  });
  const names = await agent.listRunningPods();
  if (names.length === 0) throw nothing;
  await confirm({ what: manifests, pid: undefined, names, claims: agent.claims() });
  agent.endWithPods();
  const { pods } = await agent.run(signal);
  if (pods !== 'stopped') throw failure('not every pod could be stopped');
  for (const name of names) await host.stdout.writeLine(escapeTerminal(`pod ${name} ended`));
}
