import { lstat } from 'node:fs/promises';
import { basename, posix, resolve } from 'node:path';
import { PassThrough, Readable } from 'node:stream';
import { Command, Option } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  stripEquals,
  withAgent,
} from '../../shared/agent-session.js';
import { type PodObject } from '#kube/columns/kube-object.js';
import { chooseContainer } from '../../shared/api/container-choice.js';
import { isResourceType, pathOf, PODS } from '../../shared/api/resource-type.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { type FileSpec, namePrefix, readFileSpec } from './file-spec.js';
import { readSentTar } from './read-sent-tar.js';
import { TarUnpacker } from './unpack-tar.js';
import { writeTar } from './write-tar.js';
import { escapeTerminal } from '../../shared/print/terminal-text.js';
import { connectCommand } from '../../shared/streaming/connect-command.js';
import { type LocalStreams, runStreams } from '../../shared/streaming/run-streams.js';
import { wrapNotes } from '../../help-layout.js';

interface CpFlags extends SessionFlags {
  readonly container?: string;
  readonly preserve: boolean;
}

const HELP = `
The image needs a tar program. Links are copied to a container as links; from one they are left out, as kubectl does,
and so is whatever would be written outside of the target.

Examples:
  # A folder of this machine to a pod
  podloop cp ./site web:/usr/share/site

  # A file of a container to this machine
  podloop cp kube-system/dns:/etc/conf ./conf -c server`;

/** `podloop cp`: copies files to and from containers. */
export function cpCommand(host: CliHost): Command {
  const command = new Command('cp')
    .description('Copy files and folders to and from containers.')
    .argument('<from>', '[[NAMESPACE/]POD:]PATH')
    .argument('<to>', '[[NAMESPACE/]POD:]PATH');
  return addSessionFlags(command)
    .addOption(new Option('-c, --container <name>', 'Name of the container').argParser(stripEquals))
    .option('--no-preserve', 'Do not preserve the permissions of files copied to a container')
    .addHelpText('after', wrapNotes(HELP))
    .action(async (fromText: string, toText: string, flags: CpFlags) => {
      const [from, to] = [readFileSpec(fromText), readFileSpec(toText)];
      if (from.pod !== undefined && to.pod !== undefined) {
        throw failure('one of src or dest must be a local file specification');
      }
      if (from.path === '' || to.path === '') throw failure('filepath can not be empty');
      if (from.pod === undefined && to.pod === undefined) {
        throw failure('one of src or dest must be a remote file specification');
      }
      await withAgent(host, flags, async (session) => {
        const { pod, namespace = session.namespace } = from.pod === undefined ? to : from;
        const container = await openContainer(pod!, namespace, flags, session, host);
        if (from.pod === undefined) await copyTo(container, from, to, flags, host);
        else await copyFrom(container, from, to, host);
      });
    });
}

/** Runs commands in the container that was chosen. */
type RunIn = (
  command: readonly string[],
  local: Omit<LocalStreams, 'signal'> & { readonly signal?: AbortSignal },
) => Promise<void>;

async function openContainer(
  name: string,
  namespace: string,
  flags: CpFlags,
  { client, signal }: AgentSession,
  host: CliHost,
): Promise<RunIn> {
  const path = pathOf(PODS, namespace, name);
  const pod: PodObject = await client.get(path).catch((error: unknown) => {
    if (!isResourceType(namespace)) throw error;
    throw failure(
      `there is no pod ${name} in a namespace ${namespace}; files are copied to and from a pod, which is named without its kind: POD:/tmp/x`,
    );
  });
  const { phase = '' } = pod.status ?? {};
  if (phase === 'Succeeded' || phase === 'Failed') {
    throw failure(`cannot exec into a container in a completed pod; current phase is ${phase}`);
  }
  const { container, notice } = chooseContainer(pod, flags.container);
  if (notice !== undefined) await host.stderr.writeLine(notice);
  return async (command, local) => {
    const choice = { stdin: local.stdin !== undefined, stdout: true, stderr: true, tty: false };
    const query = { command, container: container.name };
    const connection = await connectCommand(client, { path: `${path}/exec`, query, choice });
    const signals = local.signal === undefined ? [signal] : [signal, local.signal];
    await runStreams(connection, { ...local, signal: AbortSignal.any(signals) });
  };
}

const NOWHERE: LocalStreams['stdout'] = { write: () => Promise.resolve() };

async function copyTo(
  run: RunIn,
  from: FileSpec,
  to: FileSpec,
  flags: CpFlags,
  host: CliHost,
): Promise<void> {
  const source = resolve(from.path);
  if ((await lstat(source).catch(() => undefined)) === undefined) {
    throw failure(`${from.path} doesn't exist in local filesystem`);
  }
  const { stdout, stderr } = host;
  const isFolder = await succeeds(
    run(['test', '-d', to.path], { stdin: undefined, stdout: NOWHERE, stderr: NOWHERE }),
  );
  const path = posix
    .normalize(isFolder ? posix.join(to.path, basename(source)) : to.path)
    .replace(/(.)\/$/, '$1');
  const [folder, name] = [posix.dirname(path), posix.basename(path)];
  const onSkipped = (skipped: string, what: string): void =>
    void stderr.writeLine(escapeTerminal(`warning: skipping ${what}: ${JSON.stringify(skipped)}`));
  const stdin = Readable.from(writeTar(source, name, onSkipped), { objectMode: false });
  // A file that cannot be read must not look like the end of the tar.
  let unreadable: unknown;
  stdin.once('error', (error) => (unreadable = error));
  const preserving = flags.preserve ? [] : ['--no-same-permissions', '--no-same-owner'];
  try {
    await run(['tar', ...preserving, '-xmf', '-', '-C', folder], { stdin, stdout, stderr });
  } catch (error) {
    if (unreadable === undefined) throw error;
  }
  if (unreadable !== undefined) {
    throw unreadable instanceof CommandFailure ? unreadable : failure(messageOf(unreadable));
  }
}

/** Whether a command ends with 0; rejects when it could not be run at all. */
async function succeeds(running: Promise<void>): Promise<boolean> {
  try {
    await running;
    return true;
  } catch (error) {
    if (error instanceof CommandFailure && error.lines[0]?.startsWith('command terminated') === true)
      return false;
    // An image without that program is no reason not to try.
    if (error instanceof CommandFailure && error.lines[0]?.startsWith('error: Internal error') === true)
      return false;
    throw error;
  }
}

async function copyFrom(run: RunIn, from: FileSpec, to: FileSpec, host: CliHost): Promise<void> {
  const pipe = new PassThrough();
  pipe.on('error', () => undefined);
  const warn = (message: string): Promise<void> => host.stderr.writeLine(escapeTerminal(message));
  const unpacker = new TarUnpacker({ prefix: namePrefix(from.path), target: to.path, warn });
  const givenUp = new AbortController();
  const unpacking = unpacker.unpack(readSentTar(pipe)).catch((error: unknown) => {
    // Whatever else comes is not wanted.
    pipe.destroy();
    givenUp.abort();
    throw error instanceof CommandFailure ? error : failure(messageOf(error));
  });
  const stdout: LocalStreams['stdout'] = { write: (chunk) => feed(pipe, chunk) };
  const streams = { stdin: undefined, stdout, stderr: host.stderr, signal: givenUp.signal };
  const running = run(['tar', 'cf', '-', from.path], streams);
  const [ran, unpacked] = await Promise.allSettled([running.finally(() => pipe.end()), unpacking]);
  if (unpacked.status === 'rejected') throw unpacked.reason;
  if (ran.status === 'rejected') throw ran.reason;
}

/** Resolves when there is room for more, or nobody reads any more. */
async function feed(pipe: PassThrough, chunk: string | Uint8Array): Promise<void> {
  if (pipe.destroyed || pipe.write(chunk)) return;
  await new Promise<void>((done) => {
    const settle = (): void => {
      pipe.off('drain', settle);
      pipe.off('close', settle);
      done();
    };
    pipe.on('drain', settle);
    pipe.on('close', settle);
  });
}
