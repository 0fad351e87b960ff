import { spawn, type ChildProcess } from 'node:child_process';
import { constants } from 'node:os';
import { type Clock } from '#base/time/clock.js';
import { type ContainerProcess, type ProcessRequest } from '../isolation/container-process.js';
import { killGroup, killSeen } from '#base/proc/kill-group.js';
import { findTool } from './find-tools.js';
import { findChildren } from './children-of.js';
import { makeProcessPipes } from './process-pipes.js';
import { PtyResizer, wrapInPty } from './pty.js';

/** What {@link spawnProcess} needs. */
export interface SpawnProcessOptions extends Omit<ProcessRequest, 'argv'> {
  /** The whole command line, with whatever leads into the container. */
  readonly argv: readonly string[];
  /** The environment of that command line. */
  readonly environment: Readonly<Record<string, string>>;
  readonly workingDir: string;
  /** A folder in which pipes may be made; nothing stays in it. */
  readonly pipesFolder: string;
  readonly clock: Clock;
  /**
   * Kills what a process has started besides its process group; called by `kill` before that group is killed. True
   * when the process will end by itself now: then it is given the time for it.
   */
  readonly killRest?: (pid: number) => boolean;
}

/** How long a process may take to end by itself after what it waits for was killed. */
const OWN_END_MS = 1_000;

/**
 * Starts a command in a session of its own with pipes, or a terminal, for its streams; see makeProcessPipes.
 *
 * Rejects when it cannot be executed. The exit code is 128 + n after a signal. A stream that nobody asked for is
 * /dev/null, except stdin at a terminal, which is open and silent.
 */
export async function spawnProcess(options: SpawnProcessOptions): Promise<ContainerProcess> {
  const { workingDir, environment } = options;
  const { argv, stdio, moreEnvironment, streamsOf, closeTheirs, discard } = await prepareStreams(options);
  const [file = '', ...args] = argv;
  const env = { ...environment, ...moreEnvironment };
  let child: ChildProcess;
  try {
    child = spawn(file, args, { cwd: workingDir, detached: true, env, stdio: [...stdio] });
  } catch (error) {
    // Some errors come without an event: a folder that has become a file, no memory.
    discard();
    throw error;
  }
  const streams = streamsOf(child);
  for (const stream of Object.values(streams)) stream.on('error', () => undefined);
  const exit = waitForExit(child);
  // A pipe's writer learns only from a write that its reader is gone.
  void exit.then(() => streams.stdin?.destroy());
  try {
    await waitForSpawn(child);
  } catch (error) {
    for (const stream of Object.values(streams)) stream.destroy();
    throw error;
  } finally {
    closeTheirs();
  }
  return { ...streams, ...resizerOf(child, options), exit, kill: killerOf(child, exit, options) };
}

/** How a command is started so that its streams can be had. */
interface PreparedStreams {
  readonly argv: readonly string[];
  readonly stdio: readonly (number | 'ignore' | 'pipe')[];
  readonly moreEnvironment: Readonly<Record<string, string>>;
  readonly streamsOf: (child: ChildProcess) => Pick<ContainerProcess, 'stdin' | 'stdout' | 'stderr'>;
  /** Once the command has its ends, or cannot be started. */
  readonly closeTheirs: () => void;
  /** Where nothing was started, in place of all else. */
  readonly discard: () => void;
}

async function prepareStreams(options: SpawnProcessOptions): Promise<PreparedStreams> {
  const { argv, tty, stdin, stdout, stderr, pipesFolder, clock } = options;
  if (tty) {
    const pty = wrapInPty(argv, await findTool('script'));
    return {
      argv: pty.argv,
      // Nobody but script has these, so it does not matter what they are.
      stdio: ['pipe', 'pipe', 'ignore'],
      moreEnvironment: pty.environment,
      streamsOf: (child) => ({
        ...(stdin && child.stdin && { stdin: child.stdin }),
        ...(child.stdout && { stdout: child.stdout }),
      }),
      closeTheirs: () => undefined,
      discard: () => undefined,
    };
  }
  const pipes = await makeProcessPipes({ stdin, stdout, stderr, folder: pipesFolder, clock });
  const { stdio, closeTheirs } = pipes;
  const streams = {
    ...(pipes.stdin && { stdin: pipes.stdin }),
    ...(pipes.stdout && { stdout: pipes.stdout }),
    ...(pipes.stderr && { stderr: pipes.stderr }),
  };
  const discard = (): void => {
    closeTheirs();
    for (const stream of Object.values(streams)) stream.destroy();
  };
  return { argv, stdio, moreEnvironment: {}, streamsOf: () => streams, closeTheirs, discard };
}

function resizerOf(
  child: ChildProcess,
  { tty, clock }: SpawnProcessOptions,
): Pick<ContainerProcess, 'resize'> {
  if (!tty) return {};
  const resizer = new PtyResizer({ clock, findScript: () => (hasEnded(child) ? undefined : child.pid) });
  return { resize: (columns, rows) => resizer.resize({ columns, rows }) };
}

function killerOf(
  child: ChildProcess,
  exit: Promise<number>,
  { clock, killRest }: SpawnProcessOptions,
): () => void {
  return () => {
    const { pid } = child;
    if (pid === undefined || hasEnded(child)) return;
    if (killRest?.(pid) !== true) {
      killGroups(child, pid);
      return;
    }
    const late = clock.setTimer(OWN_END_MS, () => {
      if (hasEnded(child)) return;
      killRest(pid);
      killGroups(child, pid);
    });
    void exit.then(() => late.cancel());
  };
}

function waitForSpawn(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    child.once('spawn', resolve);
    child.once('error', reject);
  });
}

function waitForExit(child: ChildProcess): Promise<number> {
  return new Promise((resolve) => {
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal ?? 'SIGKILL']));
  });
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

/** Kills a child's process group, and those of the child's children: at a terminal the command leads one of its own. */
function killGroups(child: ChildProcess, pid: number): void {
  for (const each of findChildren(pid)) killSeen(each);
  killGroup(child);
}
