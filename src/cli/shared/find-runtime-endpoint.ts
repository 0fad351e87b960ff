import { dirname, join } from 'node:path';
import { findRuntime, getRuntime } from '#node';
import { type Clock } from '#base/time/clock.js';
import { AgentClient } from './api/agent-client.js';
import { resolveAgentSocket } from './api/agent-socket.js';
import { askAgent } from './api/ask-agent.js';
import { type CliHost } from '../cli-host.js';
import { embeddedSocketPaths, findSocket, resolveRuntimeEndpoint } from './runtime-endpoint.js';

/** How to find a runtime that no flag names. */
export interface FindRuntimeOptions {
  /** The agent that may know the endpoint. */
  readonly agent: AgentClient;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly clock: Clock;
  /** Maximum time for the answer of the agent (default: three seconds). */
  readonly limitMs?: number;
  /** Where runtimes usually listen (default: as crictl has it). */
  readonly usualSocketPaths?: readonly string[];
}

/** A healthy agent answers at once; a longer wait would not help. */
const ANSWER_MS = 3_000;

/** The endpoint that the flag means, or without one the runtime that {@link findRuntimeEndpoint} finds. */
export async function chooseRuntimeEndpoint(
  flag: string | undefined,
  { env, clock }: Pick<CliHost, 'env' | 'clock'>,
  signal: AbortSignal,
): Promise<string> {
  const named = await resolveRuntimeEndpoint(flag, env);
  if (named !== '') return named;
  const socketPath = resolveAgentSocket(undefined, env, process.getuid?.() ?? 0, 'usual');
  return await findRuntimeEndpoint({ agent: new AgentClient({ socketPath, clock, signal }), env, clock });
}

/**
 * The endpoint of the runtime that is meant when none is named: the one that podloop's own agent works with when it can
 * be reached, else the one that the machine has, else that of an embedded runtime; the empty text when there is none.
 */
export async function findRuntimeEndpoint(options: FindRuntimeOptions): Promise<string> {
  const { agent, env, usualSocketPaths } = options;
  const told = await askForEndpoint(options);
  if (told !== undefined) return told;
  const found = await findRuntime('', usualSocketPaths);
  if (found !== undefined) return found;
  // An agent that is down or hangs has left its runtime where it keeps it.
  const own = join(dirname(agent.socketPath), 'runtime', 'cri.sock');
  const path = await findSocket([own, ...embeddedSocketPaths(env)]);
  return path === undefined ? '' : `unix://${path}`;
}

/** Undefined if there is no agent or no usable answer. */
async function askForEndpoint({
  agent,
  clock,
  limitMs = ANSWER_MS,
}: FindRuntimeOptions): Promise<string | undefined> {
  try {
    const answer = await askAgent(agent, '/debug/pleg', {
      clock,
      limitMs: Math.min(limitMs, ANSWER_MS),
    });
    // An agent of another version may say less.
    const endpoint = (answer as { runtime?: { endpoint?: unknown } } | null)?.runtime?.endpoint;
    return typeof endpoint === 'string' && endpoint !== '' ? await getRuntime(endpoint) : undefined;
  } catch {
    return undefined;
  }
}
