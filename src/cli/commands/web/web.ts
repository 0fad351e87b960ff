import { spawn } from 'node:child_process';
import { type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { Command } from 'commander';
import { Cached } from '#base/async/cached.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { type AgentSession, socketOption, withAgent } from '../../shared/agent-session.js';
import { AgentContent } from '../../shared/page/agent-content.js';
import { pagePortOption, servePage } from '../../shared/page/serve-page.js';

interface WebFlags {
  readonly socket?: string;
  readonly rootDir?: string;
  readonly port?: number;
  readonly write: boolean;
  readonly endWithStdin: boolean;
}

const HELP = `
The page shows what happens on the node on one timeline, its pods with their logs, the event generator, and what the doctor
finds. It works beside "podloop run", "podloop up" and "podloop observe". It only reads, unless --write is given.

It listens on 127.0.0.1 alone. The link opens it once, within 15 minutes, in one browser; press Enter for another one.
From another machine, with the same port at both ends of a tunnel:
  ssh -L 10350:127.0.0.1:10350 NODE podloop web

Examples:
  # The page of the agent on this machine
  podloop web

  # Beside the kubelet of this node
  podloop web --root-dir /var/lib/podloop-observe

  # At a port of your choice
  podloop web --port 8080`;

const EXAMINATION_LIMIT_MS = 90_000;
/** One examination answers all pages that ask meanwhile. */
const EXAMINATION_FRESH_MS = 5_000;
/** Of what a doctor that failed has said. */
const MAX_WORDS = 500;

/** `podloop web`: the page of a running agent. */
export function webCommand(host: CliHost): Command {
  return new Command('web')
    .description('Show a running agent on a page in the browser: timeline, pods, logs, doctor.')
    .addOption(socketOption())
    .option('--root-dir <path>', 'Root folder of the agent (default: the folder of the socket)')
    .addOption(pagePortOption())
    .option('--write', 'Let the page stop, start and restart pods; the history says what was done', false)
    .option('--end-with-stdin', 'End when standard input ends, for a program that starts it', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: WebFlags) => serve(flags, host));
}

async function serve(flags: WebFlags, host: CliHost): Promise<void> {
  const { stdin, clock } = host;
  await withAgent(host, flags, async (session) => {
    const { client, signal } = session;
    // Somebody who named the wrong agent reads it here and not on the page.
    await client.get('/version');
    const examination = new Cached({
      ...{ clock, deadlineMs: EXAMINATION_LIMIT_MS, freshMs: EXAMINATION_FRESH_MS },
      read: async (ending) => await examine(host, session, ending),
    });
    const content = new AgentContent({
      ...{ client, canWrite: flags.write },
      examine: async (ending) => await examination.get(ending),
    });
    await servePage({
      ...{ host, content, title: `The page of the agent at ${client.socketPath}`, port: flags.port, signal },
      ...(flags.endWithStdin ? { over: stdinEnd(stdin) } : {}),
    });
  });
}

/** Resolves when nothing more can come from there. */
async function stdinEnd(stdin: Readable): Promise<void> {
  stdin.resume();
  await finished(stdin).catch(() => undefined);
}

/** What the doctor says, in a process of its own: it reads much, and may be ended at any time. */
async function examine(
  { selfCommand: [program, ...before] }: CliHost,
  { client }: AgentSession,
  signal: AbortSignal,
): Promise<string> {
  const args = [...before, 'doctor', '--output', 'json', '--socket', client.socketPath];
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const failed = new Promise<never>((_, reject) => child.once('error', reject));
  const [output, words] = await Promise.race([Promise.all([text(child.stdout), text(child.stderr)]), failed]);
  if (output.trimStart().startsWith('{')) return output;
  throw failure(`the doctor could not examine the node: ${words.trim().slice(-MAX_WORDS)}`);
}
