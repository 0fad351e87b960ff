import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, access, mkdtemp, readdir, readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { PodSandboxConfig, ContainerConfig } from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { findTool, TOOL_PATH } from '../process/find-tools.js';
import { HOST, HOST_CONFIG } from '../images/host-image.js';
import { computeCommand } from '../container/resolve-command.js';
import { type CommandTools } from '../container/supervisor-script.js';
import { readOwnCapabilities } from './script/capabilities.js';
import { HostIsolation } from './host-isolation.js';
import { type Isolation } from './isolation.js';
import { NamespaceIsolation } from './namespace-isolation.js';
import { warnWithoutStarter } from './script/program-starter.js';
import { openSessionKeyring } from './session-keyring.js';
import { SandboxShm } from './mounts/sandbox-shm.js';
import { ToolKit } from './script/tool-kit.js';
import { isUnwritable } from '#base/fs/disk-errors.js';
import { makeFolder } from '#base/fs/make-folder.js';

/** What may be asked for: `auto` is the best that is possible. */
export type IsolationChoice = 'auto' | 'namespaces' | 'none';

/** What {@link detectIsolation} needs. */
export interface DetectIsolationOptions {
  readonly choice: IsolationChoice;
  /** The runtime's root, there already. */
  readonly rootDir: string;
  readonly tools: CommandTools;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Whether sandboxes may have a network namespace of their own. */
  readonly isolatesNetwork: boolean;
}

const run = promisify(execFile);
const PROBE_MS = 30_000;

/**
 * Finds out what this machine allows, by running `true` in a container of its own. Throws PLATFORM_UNSUPPORTED when
 * namespaces were asked for and are not to be had, and the system's error where the disk has no room to find out.
 */
export async function detectIsolation(options: DetectIsolationOptions): Promise<Isolation> {
  const { choice, tools, clock } = options;
  const script = await findTool('script').catch(() => undefined);
  const plain = (reason: string) => new HostIsolation({ tools, script, reason, clock });
  if (choice === 'none') return plain('as asked');
  try {
    return await openNamespaces(options);
  } catch (error) {
    // Of a full disk nobody may get containers without isolation.
    if (isUnwritable(error)) throw error;
    const reason = messageOf(error);
    if (choice === 'auto') return plain(`no namespaces: ${reason}`);
    throw new PodloopError('PLATFORM_UNSUPPORTED', `namespaces cannot be used here: ${reason}`, {
      cause: error,
    });
  }
}

async function openNamespaces(options: DetectIsolationOptions): Promise<NamespaceIsolation> {
  const { clock, logger, isolatesNetwork } = options;
  if (process.getuid?.() !== 0) throw new Error('podloop does not run as root');
  const rootDir = await realpath(options.rootDir);
  if (/[,:\\"\s]/.test(rootDir))
    throw new Error(`the folder ${rootDir} has characters in it that overlayfs does not take`);
  for (const name of ['tools', 'root', 'api']) await makeFolder(join(rootDir, 'stage', name), 0o700);
  const tools = await ToolKit.install(join(rootDir, 'tools'));
  warnWithoutStarter(tools.starter, logger);
  const isolation = new NamespaceIsolation({
    rootDir,
    tools,
    shm: new SandboxShm(rootDir),
    keyring: await openSessionKeyring(logger),
    capabilities: await readOwnCapabilities(),
    script: await findTool('script'),
    path: TOOL_PATH,
    isolatesNetwork,
    clock,
  });
  await probe(isolation, rootDir);
  return isolation;
}

/** Anybody may make files there: what is not root's was not left by a runtime. */
async function isOwnFolder(path: string): Promise<boolean> {
  const facts = await lstat(path);
  return facts.isDirectory() && facts.uid === 0;
}

/** Runs `true` of the host in a sandbox of its own. */
async function probe(isolation: NamespaceIsolation, rootDir: string): Promise<void> {
  // In memory, since a start must be possible on a full disk.
  const folder = await access('/dev/shm', constants.W_OK).then(
    () => '/dev/shm',
    () => rootDir,
  );
  const prefix = `.podloop-probe-${createHash('sha256').update(rootDir).digest('hex').slice(0, 12)}-`;
  // Of a runtime that was killed while it probed: we have its root, so it is gone.
  for (const name of await readdir(folder)) {
    if (!name.startsWith(prefix) || !(await isOwnFolder(join(folder, name)))) continue;
    await isolation.endSandbox({
      id: 'probe',
      dir: join(folder, name),
      config: PodSandboxConfig.fromPartial({}),
    });
    await rm(join(folder, name), { recursive: true, force: true });
  }
  const dir = await mkdtemp(join(folder, prefix));
  const place = { id: 'probe', dir, config: PodSandboxConfig.fromPartial({}) };
  try {
    const holder = await isolation.startSandbox(place);
    const config = ContainerConfig.fromPartial({ command: ['true'] });
    const user = { uid: 0, gid: 0, groups: [], home: '/' };
    const names = {
      id: 'probe',
      sandboxId: 'probe',
      name: 'probe',
      createdAtNs: 0n,
      imageId: HOST.id,
      logPath: '',
    };
    const record = { ...names, config, image: HOST_CONFIG, user, imageVolumes: [] };
    await isolation.prepareStart({
      record,
      dir,
      sandbox: { ...place, holder },
      command: computeCommand(record, ''),
      root: { kind: 'host' },
      imageFolders: new Map(),
      joinFiles: [],
      unifiedCgroups: undefined,
      oomScoreAdj: '0',
      findMain: () => undefined,
    });
    await run('/bin/sh', ['./command'], { cwd: dir, env: { PATH: TOOL_PATH }, timeout: PROBE_MS }).catch(
      async (error: unknown) => {
        const fault = await readFile(join(dir, 'fault'), 'utf8').catch(() => '');
        throw new Error(fault.trim() === '' ? messageOf(error) : fault.trim(), { cause: error });
      },
    );
  } finally {
    await isolation.endSandbox(place);
    await rm(dir, { recursive: true, force: true });
  }
}
