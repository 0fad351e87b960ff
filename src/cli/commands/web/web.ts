import { spawn } from 'node:child_process';
import { type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Cached } from '#base/async/cached.js';
import { untilAborted } from '#base/async/until-aborted.js';
import { hasCode } from '#base/errors/errors.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { packageVersion } from '../../package-version.js';
import { type AgentSession, socketOption, withAgent } from '../../shared/agent-session.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { PageFiles } from './page-files.js';
import { PageServer } from './page-server.js';

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

/** Where it listens when that port is free. */
const USUAL_PORT = 10_350;
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
    .addOption(
      new Option(
        '--port <number>',
        `Port on 127.0.0.1; 0 for any (default: ${USUAL_PORT}, or any if it is taken)`,
      ).argParser(parsePort),
    )
    .option('--write', 'Let the page stop, start and restart pods; the history says what was done', false)
    .option('--end-with-stdin', 'End when standard input ends, for a program that starts it', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: WebFlags) => serve(flags, host));
}

function parsePort(value: string): number {
  if (/^\d{1,5}$/.test(value) && Number(value) < 65_536) return Number(value);
  throw new InvalidArgumentError('use a port from 0 to 65535');
}

async function serve(flags: WebFlags, host: CliHost): Promise<void> {
  const { stdout, stderr, stdin, clock } = host;
  await withAgent(host, flags, async (session) => {
    const { client, signal } = session;
    // Somebody who named the wrong agent reads it here and not on the page.
    await client.get('/version');
    const examination = new Cached({
      ...{ clock, deadlineMs: EXAMINATION_LIMIT_MS, freshMs: EXAMINATION_FRESH_MS },
      read: async (ending) => await examine(host, session, ending),
    });
    await using server = new PageServer({
      ...{ client, clock, files: new PageFiles(), version: packageVersion(), canWrite: flags.write },
      examine: async (ending) => await examination.get(ending),
      onRefusedLink: (outcome) =>
        void stderr.writeLine(
          `A link was refused (${outcome}). If you did not open it, somebody else tried to.`,
        ),
    });
    const port = await listen(server, flags.port);
    await stdout.writeLine(`The page of the agent at ${escapeTerminal(client.socketPath)}, for one browser:`);
    await stdout.writeLine(`  ${server.makeLink()}`);
    if ((stdin as { readonly isTTY?: boolean }).isTTY === true) {
      await stderr.writeLine('Press Enter for another link, Ctrl-C to end.');
      const onLine = (): void => void stdout.writeLine(`  ${server.makeLink()}`);
      stdin.on('data', onLine);
      signal.addEventListener('abort', () => stdin.off('data', onLine).pause(), { once: true });
    }
    if (host.env['SSH_CONNECTION'] !== undefined)
      await stderr.writeLine(
        `From your own machine: ssh -L ${port}:127.0.0.1:${port} NODE, then open the link there.`,
      );
    const over = flags.endWithStdin ? stdinEnd(stdin) : new Promise<never>(() => undefined);
    await Promise.race([over, untilAborted(signal)]);
  });
}

/** Resolves when nothing more can come from there. */
async function stdinEnd(stdin: Readable): Promise<void> {
  stdin.resume();
  await finished(stdin).catch(() => undefined);
}

async function listen(server: PageServer, port: number | undefined): Promise<number> {
  try {
    return await server.listen(port ?? USUAL_PORT);
  } catch (error) {
    if (port !== undefined || !hasCode(error, 'PORT_UNUSABLE')) throw error;
    return await server.listen(0);
  }
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
