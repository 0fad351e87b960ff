import { type Channels } from '#base/channels/publishing-channel.js';
import { join } from 'node:path';
import { CriClient, probeEndpoint } from '#watch';
import { PodloopError } from '#base/errors/errors.js';
import { type Clock } from '#base/time/clock.js';
import { type Logger } from '#base/log/logger.js';
import { EmbeddedRuntimeKeeper } from './embedded-runtime-keeper.js';
import { findRuntime } from './find-runtime.js';
import { RuntimeProcess } from './runtime-process.js';
import { assertVerifiers, logRuntimeDifferences } from './telemetry/reports/log-runtime-differences.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** The word for the embedded runtime in place of an endpoint. */
export const EMBEDDED_RUNTIME = 'embedded';

/** A runtime that cannot verify images is refused rather than ignored. */
const VERIFIERS = '--image-verifier-bin-dir';

/** How a node agent finds or starts its runtime. */
export interface AgentRuntimeOptions {
  /** An endpoint, `embedded`, or empty for the runtime of the machine, or else the embedded one. */
  readonly runtimeEndpoint: string;
  /**
   * Root folder that the agent has claimed: an embedded runtime works in its `runtime`, and ends with its
   * agents.
   */
  readonly rootDir: string;
  /** The command that starts podloop. */
  readonly podloopCommand: readonly [string, ...string[]];
  /** Further flags of an embedded runtime. */
  readonly runtimeFlags: readonly string[];
  /** podloop's version, which a started runtime has as well. */
  readonly version: string;
  /** Timeout of a call, in milliseconds. */
  readonly timeoutMs: number;
  readonly channels: Channels;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The runtime that an agent works with. */
export interface AgentRuntime {
  readonly client: CriClient;
  readonly url: string;
  readonly name: string;
  readonly version: string;
  /** Keeps an embedded runtime running; undefined if another process is in charge of the runtime. */
  readonly keeper: EmbeddedRuntimeKeeper | undefined;
}

/**
 * Finds the runtime, starts an embedded one if necessary, and checks that it speaks CRI v1.
 *
 * Rejects with an ENDPOINT_… error, with CRI_UNAVAILABLE when an embedded one does not start, or with OPTION_INVALID for
 * a flag that the runtime cannot follow.
 */
export async function connectAgentRuntime(
  options: AgentRuntimeOptions,
  signal: AbortSignal,
): Promise<AgentRuntime> {
  const { clock, logger, timeoutMs, runtimeEndpoint, runtimeFlags: flags, version, channels } = options;
  const found = runtimeEndpoint === EMBEDDED_RUNTIME ? undefined : await findRuntime(runtimeEndpoint);
  if (found !== undefined && flags.includes(VERIFIERS))
    throw new PodloopError(
      'OPTION_INVALID',
      `${VERIFIERS} is for the embedded runtime, and ${found} would not ask the verifiers: name them in its own configuration`,
    );
  let keeper: EmbeddedRuntimeKeeper | undefined;
  if (found === undefined) keeper = await startEmbedded(options, signal);
  const url = found ?? keeper!.endpoint;
  const { runtimeName, runtimeVersion } = await probeEndpoint(url, { signal, channels, clock });
  logger.info('Validated CRI v1 runtime API', { endpoint: url });
  const client = new CriClient({ endpoint: url, channels, clock, logger, timeoutMs });
  // Also after a start of our own: another process may have been faster.
  if (keeper !== undefined) {
    await logRuntimeDifferences({ client, flags, version, logger, signal });
    await assertVerifiers({ client, flags, signal });
  }
  return { client, url, name: runtimeName, version: runtimeVersion, keeper };
}

async function startEmbedded(
  { rootDir, podloopCommand, runtimeFlags, clock, logger }: AgentRuntimeOptions,
  signal: AbortSignal,
): Promise<EmbeddedRuntimeKeeper> {
  const folder = join(rootDir, 'runtime');
  await makeFolder(folder, 0o700);
  const process = new RuntimeProcess({
    ...{ podloopCommand, clock, folder, flags: runtimeFlags },
    endsWith: { agentRootDir: rootDir },
  });
  const keeper = new EmbeddedRuntimeKeeper({ process, clock, logger });
  const how = await keeper.start(signal);
  logger.info(how === 'found' ? 'Embedded runtime taken up' : 'Embedded runtime started', {
    endpoint: keeper.endpoint,
  });
  return keeper;
}
