import { type ChildProcess, spawn } from 'node:child_process';
import { appendFile, open, readFile, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure } from '../../command-failure.js';
import { type AgentFacts, readAgent } from '../../shared/agents/find-agents.js';
import { messageOf } from '#base/errors/errors.js';
import { AgentClient } from '../../shared/api/agent-client.js';

/** What {@link startAgent} starts. */
export interface AgentStart {
  /** Of `podloop run`, without that word. */
  readonly args: readonly string[];
  /** There already. */
  readonly rootDir: string;
  /** Where the agent will listen. */
  readonly socket: string;
  /** How long it may take until it answers. */
  readonly limitMs: number;
}

/** In the root folder; the one of the agent before has `.1` behind its name. */
export const AGENT_LOG = 'agent.log';

const ASK_AGAIN_MS = 200;
/** A source that is away, such as a URL, holds nobody up for longer. */
const READ_LIMIT_MS = 10_000;
/** Of the log, when the agent did not start. */
const SHOWN_LINES = 10;

/**
 * Starts an agent in the background: in a session of its own, so that no terminal ends it, with its log in a file.
 *
 * Resolves once it answers and has read its manifests. Rejects with a CommandFailure when it ends before, with the last
 * lines of the log, or does not answer in time; then, and when the signal aborts, the agent goes on.
 */
export async function startAgent(
  { args, rootDir, socket, limitMs }: AgentStart,
  { selfCommand, clock }: CliHost,
  signal: AbortSignal,
): Promise<AgentFacts> {
  const log = join(rootDir, AGENT_LOG);
  await rename(log, `${log}.1`).catch(() => undefined);
  const file = await open(log, 'a', 0o600);
  const [program, ...before] = selfCommand;
  const ended = new AbortController();
  let child: ChildProcess;
  try {
    child = spawn(program, [...before, 'run', ...args], {
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
    });
    child.once('exit', () => ended.abort());
    // Only what cannot be started at all has an error, and no exit.
    child.once('error', (error) => ended.abort(error));
  } finally {
    await file.close();
  }
  const stopped = AbortSignal.any([signal, ended.signal]);
  const client = new AgentClient({ socketPath: socket, clock, signal: stopped });
  const untilMs = clock.monotonicMs() + limitMs;
  let readUntilMs: number | undefined;
  try {
    for (;;) {
      const facts = await readAgent(client, clock).catch(() => undefined);
      const nowMs = clock.monotonicMs();
      const answers = facts !== undefined && facts.pid === child.pid;
      if (answers) {
        readUntilMs ??= nowMs + READ_LIMIT_MS;
        if (facts.hasReadManifests || nowMs >= readUntilMs) return facts;
      }
      if (ended.signal.aborted) throw await describeEnd(child, log, ended.signal.reason);
      if (signal.aborted) throw signal.reason;
      if (!answers && nowMs >= Math.max(untilMs, readUntilMs ?? 0)) {
        const how = readUntilMs === undefined ? `after ${limitMs / 1_000}s` : 'any more';
        throw new CommandFailure([
          `error: the agent (pid ${child.pid!}) does not answer ${how}; it goes on, and its log is ${log}`,
        ]);
      }
      await clock.sleep(ASK_AGAIN_MS, stopped).catch(() => undefined);
    }
  } finally {
    child.unref();
  }
}

async function describeEnd(child: ChildProcess, log: string, reason: unknown): Promise<CommandFailure> {
  if (child.pid === undefined) {
    return new CommandFailure([`error: the agent cannot be started: ${messageOf(reason)}`]);
  }
  const text = await readFile(log, 'utf8').catch(() => '');
  const lines = text.trimEnd().split('\n');
  const errors = lines.filter((line) => line.startsWith('error: '));
  const mute = errors.length > 0 ? undefined : await findLogProblem(log);
  const how = child.signalCode === null ? `with ${child.exitCode ?? 0}` : `by ${child.signalCode}`;
  return new CommandFailure([
    ...(errors.length > 0 ? errors : lines.slice(-SHOWN_LINES).filter((line) => line !== '')),
    ...(mute === undefined ? [] : [`error: its log cannot be written, make room there first: ${mute}`]),
    `The agent ended ${how}. Its log: ${log}`,
  ]);
}

/** Why nothing can be written to the log, such as a full disk. */
async function findLogProblem(log: string): Promise<string | undefined> {
  return appendFile(log, '\n').then(() => undefined, messageOf);
}
