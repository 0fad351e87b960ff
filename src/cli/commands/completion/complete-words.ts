import { type Command } from 'commander';
import { DEFAULT_NAMESPACE } from '#kube/objects/default-namespace.js';
import { AgentClient } from '../../shared/api/agent-client.js';
import { resolveAgentSocket } from '../../shared/api/agent-socket.js';
import { type CliHost } from '../../cli-host.js';
import { type Candidates, findCandidates } from './find-candidates.js';
import { KnownNames } from './known-names.js';

/** A command by name, before its code is loaded. */
export interface CompletedCommand {
  readonly name: string;
  readonly load: (host: CliHost) => Promise<Command>;
}

/** A person waits for the candidates; who is slower than this gets none of the agent's names. */
const LIMIT_MS = 2_000;

/** Prints what could be meant with the last of these words, for the scripts of `podloop completion`. Never rejects. */
export async function completeWords(
  words: readonly string[],
  commands: readonly CompletedCommand[],
  host: CliHost,
): Promise<void> {
  const { words: found, then } = await candidatesOf(words, commands, host).catch((): Candidates => ({
    words: [],
    then: '',
  }));
  for (const word of found) await host.stdout.writeLine(word);
  await host.stdout.writeLine(`:${then}`);
}

async function candidatesOf(
  words: readonly string[],
  commands: readonly CompletedCommand[],
  host: CliHost,
): Promise<Candidates> {
  const last = words.at(-1) ?? '';
  const before = words.slice(0, -1);
  const at = before.findIndex((word) => !word.startsWith('-'));
  if (at < 0)
    return { words: commands.map(({ name }) => name).filter((name) => name.startsWith(last)), then: '' };
  const called = commands.find(({ name }) => name === before[at]);
  if (called === undefined) return { words: [], then: '' };
  const command = await called.load(host);
  const rest = before.slice(at + 1);
  const limit = new AbortController();
  const timer = host.clock.setTimer(LIMIT_MS, () => limit.abort(), { unref: true });
  try {
    const socketPath = resolveAgentSocket(
      valueOf(rest, ['--socket']),
      host.env,
      process.getuid?.() ?? 0,
      'usual',
    );
    const client = new AgentClient({ socketPath, clock: host.clock, signal: limit.signal });
    const namespace = valueOf(rest, ['-n', '--namespace']) ?? DEFAULT_NAMESPACE;
    return await findCandidates({ command, before: rest, last }, new KnownNames(client, namespace));
  } finally {
    timer.cancel();
  }
}

/** The value of a flag, as `--flag VALUE` or `--flag=VALUE`. */
function valueOf(words: readonly string[], flags: readonly string[]): string | undefined {
  const at = words.findIndex((word) => flags.includes(word.split('=')[0]!));
  if (at < 0) return undefined;
  const [, value] = /^[^=]*=(.*)$/.exec(words[at]!) ?? [];
  return value ?? words[at + 1];
}
