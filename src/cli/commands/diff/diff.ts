import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Command } from 'commander';
import { messageOf } from '#base/errors/errors.js';
import { type KubeObject } from '#kube/columns/kube-object.js';
import { type CliHost } from '../../cli-host.js';
import { CommandFailure, failure } from '../../command-failure.js';
import { wrapNotes } from '../../help-layout.js';
import {
  addSessionFlags,
  type AgentSession,
  type SessionFlags,
  withAgent,
} from '../../shared/agent-session.js';
import { ApiError } from '../../shared/api/api-status.js';
import { pathOf } from '../../shared/api/resource-type.js';
import { readLines } from '../../shared/api/watch-objects.js';
import { type FileFlags, fileOptions } from '../../shared/file-flags.js';
import { type ManifestItem, readManifestObjects } from '../../shared/manifest-objects.js';
import {
  toManifestForm,
  withoutDebugContainers,
  withServedDefaults,
} from '../../shared/print/manifest-form.js';
import { toYamlText } from '../../shared/print/object-text.js';

type DiffFlags = SessionFlags & FileFlags;

const HELP = `
Compares what the agent has with what it would have after "podloop apply", and changes nothing. What the agent adds by itself is left out.
Secrets cannot be read: of them it only says whether they would change.

KUBECTL_EXTERNAL_DIFF names another program than diff -u, which gets two folders; its words may not have quotes.

Exit codes: 0 nothing would change, 1 something would, more than 1 an error.

Examples:
  # What would change
  podloop diff -f web.yaml

  # Side by side
  KUBECTL_EXTERNAL_DIFF="diff -y" podloop diff -f web.yaml`;

const ERROR_CODE = 2;

/** `podloop diff`: what applying manifests would change. */
export function diffCommand(host: CliHost): Command {
  const command = new Command('diff').description('Show what applying manifests would change.');
  for (const option of fileOptions()) command.addOption(option);
  return addSessionFlags(command)
    .addHelpText('after', wrapNotes(HELP))
    .action(async (flags: DiffFlags) => {
      let code = 0;
      try {
        await withAgent(host, flags, async (session) => void (code = await diff(flags, session, host)));
      } catch (error) {
        if (error instanceof CommandFailure && error.exitCode !== 1) throw error;
        const lines = error instanceof CommandFailure ? error.lines : [`error: ${messageOf(error)}`];
        throw new CommandFailure(lines, ERROR_CODE);
      }
      if (code !== 0) throw new CommandFailure([], code);
    });
}

/** Resolves with the exit code. */
async function diff(flags: DiffFlags, session: AgentSession, host: CliHost): Promise<number> {
  const { filename: paths, recursive } = flags;
  const { signal, namespace, namespaceGiven } = session;
  const items = await readManifestObjects({ paths, recursive, host, signal, namespace, namespaceGiven });
  const folder = await mkdtemp(join(tmpdir(), 'podloop-diff-'));
  try {
    const [live, merged] = [join(folder, 'LIVE'), join(folder, 'MERGED')];
    await Promise.all([mkdir(live), mkdir(merged)]);
    let hasOther = false;
    for (const item of items) {
      const result = await tryApply(item, session);
      if (item.type.kind === 'Secret') {
        hasOther ||= result !== 'unchanged';
        if (result !== 'unchanged')
          await host.stdout.writeLine(`secret/${item.name} would be ${result}; its values are not shown`);
        continue;
      }
      const before = await find(item, session);
      const file = `${(item.object.apiVersion ?? 'v1').replace('/', '.')}.${item.type.kind}.${item.namespace}.${item.name}`;
      const after = toManifestForm(withServedDefaults(item.object));
      if (before !== undefined) {
        const shown = withoutDebugContainers(toManifestForm(before), item.object);
        await writeFile(join(live, file), `${toYamlText(shown)}\n`);
      }
      await writeFile(join(merged, file), `${toYamlText(after)}\n`);
    }
    const code = await runDiff([live, merged], session, host);
    return code === 0 && hasOther ? 1 : code;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** What applying would do. One that is not written where the agent reads it is compared all the same. */
async function tryApply(
  { type, namespace, name, object, file }: ManifestItem,
  { client }: AgentSession,
): Promise<string> {
  try {
    const path = pathOf(type, namespace, name);
    return (
      (await client.send('PUT', path, { query: { dryRun: 'All' }, body: object })).result ?? 'configured'
    );
  } catch (error) {
    if (!(error instanceof ApiError)) throw error;
    if (error.reason === 'Conflict' || error.reason === 'MethodNotAllowed') return 'configured';
    throw error.when('comparing', file);
  }
}

async function find(
  { type, namespace, name }: ManifestItem,
  { client }: AgentSession,
): Promise<KubeObject | undefined> {
  try {
    const object = await client.get(pathOf(type, namespace, name));
    return { apiVersion: type.apiVersion ?? 'v1', kind: type.kind, ...object };
  } catch (error) {
    if (error instanceof ApiError && error.reason === 'NotFound') return undefined;
    throw error;
  }
}

async function runDiff(
  folders: readonly string[],
  { signal }: AgentSession,
  { env, stdout, stderr }: CliHost,
): Promise<number> {
  const named = (env['KUBECTL_EXTERNAL_DIFF'] ?? '').split(' ').filter((word) => word !== '');
  const [program = 'diff', ...words] = named.length === 0 ? ['diff', '-u', '-N'] : named;
  const child = spawn(program, [...words, ...folders], { stdio: ['ignore', 'pipe', 'pipe'], signal, env });
  const ended = once(child, 'close') as Promise<[number | null]>;
  // Awaited below, when all has been read.
  ended.catch(() => undefined);
  const copy = async (from: AsyncIterable<Buffer>, to: typeof stdout): Promise<void> => {
    for await (const line of readLines(from)) await to.writeLine(line);
  };
  await Promise.all([copy(child.stdout, stdout), copy(child.stderr, stderr)]);
  try {
    const [code] = await ended;
    return code ?? ERROR_CODE;
  } catch (error) {
    throw failure(
      `${program} cannot be run: ${messageOf(error)}; KUBECTL_EXTERNAL_DIFF names another program`,
    );
  }
}
