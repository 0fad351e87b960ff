/**
 * The process that holds a sandbox's namespaces: a `sleep` that does nothing, 0.1 MiB.
 *
 * In: which namespaces, host name and sysctls. Out, in the sandbox's folder: `holder`, its claim ({@link
 * renderClaim}). There are no files bound to namespaces: when the holder is dead, everything that it held
 * goes, and nothing can be left over. Where the pod has processes of its own the holder is their first one: with it
 * ends all of them that share it, and the kernel reaps what is orphaned to it, as it ignores SIGCHLD. Such processes
 * can see it: so it has no capabilities, and its root is the tool kit, read-only and cut off from the host's files.
 * What enters a container later takes the kit from there.
 *
 * @module
 */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { type Clock } from '#base/time/clock.js';
import { systemCodeOf } from '#base/errors/system-code.js';
import { refused } from '../rpc-error.js';
import { findClaim, renderClaim, voidClaim } from '../process/process-claim.js';
import { isAlive, readBootId, type ProcessIdentity } from '../process/child-identity.js';
import { sendSignal } from '../process/process-table.js';
import { type SandboxNamespaces } from './namespace-options.js';
import { quoteWord, quoteWords } from './script/shell-words.js';
import { type ToolKit } from './script/tool-kit.js';

/** What {@link startHolder} needs. */
export interface HolderOptions {
  /** The sandbox's folder, there already. */
  readonly dir: string;
  readonly namespaces: SandboxNamespaces;
  /** Empty for the host's. */
  readonly hostname: string;
  /** Names as of sysctl(8), with dots. */
  readonly sysctls: Readonly<Record<string, string>>;
  readonly tools: Pick<ToolKit, 'dir' | 'inside' | 'outside'>;
  readonly path: string;
}

const START_MS = 20_000;
const END_MS = 5_000;
const FILE = 'holder';

/** Starts a holder. Rejects, and none is left, when it cannot have what was asked for. */
export async function startHolder(options: HolderOptions): Promise<ProcessIdentity> {
  const { dir, tools, path } = options;
  const { network, ipc, pid } = options.namespaces;
  const own = [
    '--mount',
    ...(network ? ['--net', '--uts'] : []),
    ...(ipc ? ['--ipc'] : []),
    ...(pid ? ['--pid'] : []),
  ];
  const script = renderHolder(options);
  // `unshare --pid` without a fork: the first child of its shell is the first process of the namespace.
  const line = [tools.outside('unshare'), ...own, '/bin/sh', '-c', script];
  const fault = await new Promise<string | undefined>((resolve) => {
    const [file = '', ...args] = line;
    execFile(file, args, { cwd: dir, env: { PATH: path }, timeout: START_MS }, (error, _stdout, stderr) =>
      resolve(error === null ? stderr.trim() || undefined : stderr.trim() || error.message),
    );
  });
  const identity = await findHolder(dir);
  if (fault === undefined && identity !== undefined && isAlive(identity)) return identity;
  if (identity !== undefined) sendSignal(identity, 'SIGKILL');
  throw refused(`failed to start the sandbox's holder: ${fault ?? 'it has left no trace'}`);
}

/** Who holds a sandbox, alive or dead; undefined when nobody ever did in this boot. */
export async function findHolder(dir: string): Promise<ProcessIdentity | undefined> {
  const claim = await findClaim(join(dir, FILE));
  if (claim === undefined || claim === 'void' || claim.bootId !== (await readBootId())) return undefined;
  return claim.identity;
}

/** Sees to it that nobody holds a sandbox: ends its holder and waits until it is gone, and none can come late. */
export async function endHolder(dir: string, clock: Clock): Promise<void> {
  await voidClaim(join(dir, FILE)).catch((error: unknown) => {
    // Without a folder there is no sandbox to hold.
    if (systemCodeOf(error) !== 'ENOENT') throw error;
  });
  const holder = await findHolder(dir);
  if (holder === undefined) return;
  const deadline = clock.monotonicMs() + END_MS;
  while (sendSignal(holder, 'SIGKILL') && clock.monotonicMs() < deadline) {
    await clock.sleep(2);
    if (!isAlive(holder)) return;
  }
}

function renderHolder({ hostname, sysctls, namespaces, tools }: HolderOptions): string {
  const named = namespaces.network && hostname !== '';
  const settings = [...(named ? [['kernel.hostname', hostname] as const] : []), ...Object.entries(sysctls)];
  const lines = settings.map(([name, value]) => {
    return `printf %s ${quoteWord(value)} >${quoteWord(`/proc/sys/${name.replaceAll('.', '/')}`)} || exit 1\n`;
  });
  const kit = quoteWord(tools.dir);
  const powerless = [...tools.inside('setpriv'), '--bounding-set=-all', '--inh-caps=-all', '--no-new-privs'];
  // env ignores SIGCHLD, as shells handle it themselves, whatever `trap` says.
  const reaping = [...tools.inside('env'), '--ignore-signal=CHLD'];
  const last = [...tools.inside('setsid'), ...powerless, ...reaping, ...tools.inside('sleep'), 'infinity'];
  // Whoever started this waits for the end of its output, which comes when everything is in place.
  return `${lines.join('')}(
${renderClaim(FILE, 1)}${quoteWord(tools.outside('mount'))} -n -i -o bind,ro ${kit} ${kit} && cd ${kit} || exit 1
  ${quoteWord(tools.outside('pivot_root'))} . . && ${quoteWords(tools.inside('umount'))} -n -i -c -l / || exit 1
  trap '' HUP INT TERM
  exec ${quoteWords(last)} <&- >&- 2>&-
) &
`;
}
