import { writeFile } from 'node:fs/promises';
import { userInfo } from 'node:os';
import { join } from 'node:path';
import { type ContainerConfig, type PodSandboxConfig } from '#watch/messages';
import { type Clock } from '#base/time/clock.js';
import { findCommandFault } from '../container/resolve-command.js';
import { refused } from '../rpc-error.js';
import { type CommandTools, type ContainerCommand, renderCommand } from '../container/supervisor-script.js';
import { checkPlainContainer, checkPlainSandbox } from '../unsupported.js';
import { renderPty } from '../process/pty.js';
import { type ContainerUser } from './container-user.js';
import {
  type EnterRequest,
  type HostCommand,
  type IsolatedSandbox,
  type Isolation,
  type LaunchRequest,
} from './isolation.js';
import { withTerminalVariables } from './script/enter-script.js';
import { endHolder } from './sandbox-holder.js';
import { quoteWord } from './script/shell-words.js';
import { carryEnvironment } from '../process/carried-environment.js';

/** What a {@link HostIsolation} needs. */
export interface HostIsolationOptions {
  readonly tools: CommandTools;
  /** Absolute path of util-linux's `script`; undefined where there is none, and then no container has a terminal. */
  readonly script: string | undefined;
  /** Why there is no more isolation than this. */
  readonly reason: string;
  readonly clock: Clock;
}

/** Which files let a process into the container's cgroup: a line each. */
const JOIN = 'join';
/**
 * Runs one more command with the container's variables. They stand in this file and in no command line: anybody may read
 * those of processes, and what holds a terminal open keeps its own.
 */
const ENTER = 'enter';

/** No walls at all: containers are process groups of the host. */
export class HostIsolation implements Isolation {
  readonly kind = 'none';
  readonly hasRoots = false;
  readonly #options: HostIsolationOptions;

  constructor(options: HostIsolationOptions) {
    this.#options = options;
  }

  get notice(): string {
    return (
      'containers are process groups of this host: they share its files, network, processes and users ' +
      `(${this.#options.reason})`
    );
  }

  ownsNetwork(): boolean {
    return false;
  }

  // oxlint-disable-next-line typescript/require-await -- it rejects where the other one throws
  async checkSandbox(config: PodSandboxConfig): Promise<void> {
    checkPlainSandbox(config);
  }

  // oxlint-disable-next-line typescript/require-await -- it rejects where the other one throws
  async checkContainer(config: ContainerConfig): Promise<void> {
    checkPlainContainer(config);
  }

  endsWithMain(): boolean {
    return false;
  }

  /** All run as the runtime does; whoever asks for somebody else was refused. */
  resolveUser(): Promise<ContainerUser> {
    const { uid, gid, homedir: home } = userInfo();
    return Promise.resolve({ uid, gid, groups: process.getgroups?.() ?? [], home });
  }

  startSandbox(): Promise<undefined> {
    return Promise.resolve(undefined);
  }

  /** A sandbox may have been made with namespaces, by a runtime that could. */
  endSandbox({ dir }: Omit<IsolatedSandbox, 'holder'>): Promise<void> {
    return endHolder(dir, this.#options.clock);
  }

  pruneSandboxes(): Promise<void> {
    return Promise.resolve();
  }

  async prepareStart({ command, record, dir, joinFiles, oomScoreAdj }: LaunchRequest): Promise<void> {
    const { tools, script } = this.#options;
    const fault = await findCommandFault(command);
    if (fault !== undefined) throw refused(`unable to start container process: ${fault}`);
    const start = Buffer.from(
      [
        'read -r self </proc/self/stat\nprintf \'%s\\n\' "$self" >pid\n',
        ...joinFiles.map((file) => `echo 0 >${quoteWord(file)} || exit 125\n`),
        ...(oomScoreAdj === '0'
          ? []
          : [`{ echo ${quoteWord(oomScoreAdj)} >/proc/self/oom_score_adj; } 2>/dev/null\n`]),
      ].join(''),
    );
    const write = (name: string, text: Buffer | string) => writeFile(join(dir, name), text, { mode: 0o600 });
    await write(JOIN, joinFiles.map((file) => `${file}\n`).join(''));
    await write(ENTER, renderEnter(command, { dir, env: tools.env }));
    if (!record.config.tty) {
      await write('command', Buffer.concat([start, renderCommand(command, tools)]));
      return;
    }
    if (script === undefined) throw refused('there is no program "script" for a terminal');
    await write('command', renderPty(['/bin/sh', './launch'], script));
    await write('launch', Buffer.concat([start, renderCommand(command, { env: tools.env })]));
  }

  findCommandFault({ command, argv }: EnterRequest): Promise<string | undefined> {
    return findCommandFault({ ...command, argv });
  }

  enter({ dir, command, argv, tty }: EnterRequest): HostCommand {
    const { workingDir } = command;
    // `env` would take such a command for a variable.
    if (argv[0]?.includes('=') === true) {
      const more = withTerminalVariables([], tty).map((word) => Buffer.from(word));
      const environment = Object.fromEntries([...command.environment, ...more].map(splitVariable));
      return { argv, environment, workingDir };
    }
    return {
      argv: ['/bin/sh', join(dir, ENTER), ...withTerminalVariables(argv, tty)],
      environment: {},
      workingDir,
    };
  }
}

function renderEnter(
  { environment }: ContainerCommand,
  { dir, env }: { readonly dir: string; readonly env: string },
): Buffer {
  const joins = `while IFS= read -r file; do { echo 0 >"$file"; } 2>/dev/null; done <${quoteWord(join(dir, JOIN))}\n`;
  const { exports, words } = carryEnvironment(environment, [env]);
  return Buffer.concat([Buffer.from(joins), exports, Buffer.from('exec '), words, Buffer.from('"$@"\n')]);
}

function splitVariable(entry: Buffer): [string, string] {
  const text = entry.toString();
  const at = text.indexOf('=');
  return [text.slice(0, at), text.slice(at + 1)];
}
