import { spawn } from 'node:child_process';
import { hostname } from 'node:os';
import { type Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { finished } from 'node:stream/promises';
import { Command, InvalidArgumentError, Option } from 'commander';
import { Cached } from '#base/async/cached.js';
import { type PlegReport } from '#kube/node/pleg-report.js';
import { type CliHost } from '../../cli-host.js';
import { failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import { type AgentSession, socketOption, withAgent } from '../../shared/agent-session.js';
import { type AgentClient, type RemoteAgent } from '../../shared/api/agent-client.js';
import { ApiError } from '../../shared/api/api-status.js';
import { type CredentialFlags, readCredentials } from '../../shared/kubelet-flags.js';
import { AgentContent } from '../../shared/page/agent-content.js';
import { pagePortOption, servePage } from '../../shared/page/serve-page.js';

interface WebFlags extends CredentialFlags {
  readonly server?: URL;
  readonly socket?: string;
  readonly rootDir?: string;
  readonly port?: number;
  readonly write: boolean;
  readonly endWithStdin: boolean;
}

const HELP = `
The page shows what happens on the node on one timeline, its pods with their logs, the event generator, and what the doctor
finds. It works beside "podloop run", "podloop up" and "podloop observe". It only reads, unless --write is given: then pods can be
stopped, started and restarted, and terminals opened in their containers.

It listens on 127.0.0.1 alone. The link opens it once, within 15 minutes, in one browser; press Enter for another one.
From another machine, with the same port at both ends of a tunnel:
  ssh -L 10350:127.0.0.1:10350 NODE podloop web

Examples:
  # The page of the agent on this machine
  podloop web

  # Beside the kubelet of this node
  podloop web --root-dir /var/lib/podloop-observe

  # The agent of another node, at the port that it serves with TLS
  podloop web --server https://node1:10250 --token-file token --certificate-authority ca.crt

  # With terminals and buttons that stop and restart pods
  podloop web --write

  # At a port of your choice
  podloop web --port 8080`;

/** Flags that go with --server alone. */
const CREDENTIALS: readonly (readonly [keyof CredentialFlags, string])[] = [
  ['tokenFile', '--token-file'],
  ['clientCertificate', '--client-certificate'],
  ['clientKey', '--client-key'],
  ['certificateAuthority', '--certificate-authority'],
];
const EXAMINATION_LIMIT_MS = 90_000;
/** One examination answers all pages that ask meanwhile. */
const EXAMINATION_FRESH_MS = 5_000;
const IMAGES_LIMIT_MS = 30_000;
const IMAGES_FRESH_MS = 10_000;
/** Of what a command that failed has said. */
const MAX_WORDS = 500;

/** `podloop web`: the page of a running agent. */
export function webCommand(host: CliHost): Command {
  return new Command('web')
    .description('Show a running agent on a page in the browser: timeline, pods, logs, doctor.')
    .addOption(socketOption())
    .option('--root-dir <path>', 'Root folder of the agent (default: the folder of the socket)')
    .addOption(
      new Option(
        '--server <url>',
        'Agent on another machine, at its port with TLS: https://node1:10250, with --token-file or --client-certificate',
      )
        .argParser(parseServer)
        .conflicts(['socket', 'rootDir']),
    )
    .option('--token-file <file>', 'Bearer token for --server')
    .option('--client-certificate <file>', 'Client certificate for --server, in PEM')
    .option('--client-key <file>', 'Its key')
    .option('--certificate-authority <file>', 'PEM file with the certificate authorities of --server')
    .addOption(pagePortOption())
    .option(
      '--write',
      'Let the page stop, start and restart pods, and open terminals in them; the history says what was done',
      false,
    )
    .option('--end-with-stdin', 'End when standard input ends, for a program that starts it', false)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: WebFlags) => serve(flags, host));
}

async function serve(flags: WebFlags, host: CliHost): Promise<void> {
  const { stdin, clock } = host;
  const work = async (session: AgentSession): Promise<void> => {
    const { client, signal } = session;
    // Somebody who named the wrong agent reads it here and not on the page.
    await client.get('/version');
    if (flags.write) await refuseObserver(client);
    const examination = new Cached({
      ...{ clock, deadlineMs: EXAMINATION_LIMIT_MS, freshMs: EXAMINATION_FRESH_MS },
      read: async (ending) => await examine(host, session, ending),
    });
    const images = new Cached({
      ...{ clock, deadlineMs: IMAGES_LIMIT_MS, freshMs: IMAGES_FRESH_MS },
      read: async (ending) => await listImages(host, session, ending),
    });
    const content = new AgentContent({
      ...{ client, canWrite: flags.write },
      machine: client.remote === undefined ? hostname() : undefined,
      examine: async (ending) => await examination.get(ending),
      listImages: async (ending) => await images.get(ending),
    });
    await servePage({
      ...{ host, content, title: `The page of the agent at ${client.socketPath}`, port: flags.port, signal },
      ...(flags.endWithStdin ? { over: stdinEnd(stdin) } : {}),
    });
  };
  await withAgent(host, flags, work, { servesUntilInterrupted: true, remote: await toRemote(flags) });
}

/** Rejects for an observer, which changes nothing and runs no commands. */
async function refuseObserver(client: AgentClient): Promise<void> {
  await client.get('/agent').catch((error: unknown) => {
    if (error instanceof ApiError && error.code === 404)
      throw failure('--write is for an agent that runs pods: an observer only watches them');
    throw error;
  });
}

/** Reads the files of the flags. */
async function toRemote(flags: WebFlags): Promise<RemoteAgent | undefined> {
  const { server: url } = flags;
  if (url === undefined) {
    const [flag] = CREDENTIALS.filter(([key]) => flags[key] !== undefined);
    if (flag === undefined) return undefined;
    throw failure(`${flag[1]} is for an agent on another machine: name that with --server, too`);
  }
  const { token, authority: ca, certificate: cert, key } = await readCredentials(flags);
  return {
    url,
    headers: token === undefined ? {} : { authorization: `Bearer ${token}` },
    tls: {
      ...(ca === undefined ? {} : { ca }),
      ...(cert === undefined ? {} : { cert }),
      ...(key === undefined ? {} : { key }),
    },
  };
}

function parseServer(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url?.protocol === 'https:' && url.pathname === '/' && url.search === '' && url.hash === '';
  if (url !== undefined && isOrigin && url.username === '' && url.password === '') return url;
  throw new InvalidArgumentError(
    'use https://HOST:PORT; who asks is said with --token-file or --client-certificate',
  );
}

/** Resolves when nothing more can come from there. */
async function stdinEnd(stdin: Readable): Promise<void> {
  stdin.resume();
  await finished(stdin).catch(() => undefined);
}

/** What the doctor says. */
async function examine(host: CliHost, { client }: AgentSession, signal: AbortSignal): Promise<string> {
  if (client.remote !== undefined)
    throw failure('the doctor examines the machine that it runs on: run podloop doctor there');
  const args = ['doctor', '--output', 'json', '--socket', client.socketPath];
  return await askProgram(host, args, { signal, failed: 'the doctor could not examine the node' });
}

/** The images of the agent's runtime. */
async function listImages(host: CliHost, { client }: AgentSession, signal: AbortSignal): Promise<string> {
  if (client.remote !== undefined)
    throw failure('a runtime is asked on its own machine: run podloop images there');
  const { runtime } = (await client.get('/debug/pleg')) as Partial<PlegReport>;
  const args = ['images', '--output', 'json', '--runtime-endpoint', runtime?.endpoint ?? ''];
  return await askProgram(host, args, { signal, failed: 'the runtime did not list its images' });
}

/** The JSON that a command prints, in a process of its own: it reads much, and may be ended at any time. */
async function askProgram(
  { selfCommand: [program, ...before] }: CliHost,
  args: readonly string[],
  { signal, failed }: { readonly signal: AbortSignal; readonly failed: string },
): Promise<string> {
  const child = spawn(program, [...before, ...args], { stdio: ['ignore', 'pipe', 'pipe'], signal });
  const broken = new Promise<never>((_, reject) => child.once('error', reject));
  const [output, words] = await Promise.race([Promise.all([text(child.stdout), text(child.stderr)]), broken]);
  if (output.trimStart().startsWith('{')) return output;
  throw failure(`${failed}: ${words.trim().slice(-MAX_WORDS)}`);
}
