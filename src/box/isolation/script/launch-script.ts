import { type ProcessIdentity } from '../../process/child-identity.js';
import { renderPty } from '../../process/pty.js';
import { type SandboxNamespaces } from '../namespace-options.js';
import { quoteWord, quoteWords } from './shell-words.js';
import { type ToolKit } from './tool-kit.js';
import { renderVerify } from '../../process/verify-process.js';

/** What {@link renderLaunch} puts together. */
export interface LaunchScriptRequest {
  readonly tools: Pick<ToolKit, 'outside'>;
  readonly holder: ProcessIdentity;
  readonly namespaces: SandboxNamespaces;
  /** A pid namespace of its own, the host's, or that of a process. */
  readonly pid: 'own' | 'host' | ProcessIdentity;
  readonly sharesMounts: boolean;
  /** Path of `script`, for a container with a terminal. */
  readonly script?: string;
  readonly path: string;
  /** What is executed first, with the rest as its arguments: see SessionKeyring. */
  readonly prefix: readonly string[];
  /** Files of the groups that the container's first process will join. */
  readonly joinFiles: readonly string[];
}

/**
 * The files through which a supervisor gets into the namespaces of a container: `command`, which it reads and which
 * replaces it, and `launch`. They end in the script `setup`, in the container's folder.
 */
export function renderLaunch(request: LaunchScriptRequest): ReadonlyMap<string, string> {
  const launch = renderEntry(request);
  if (request.script === undefined) return new Map([['command', launch]]);
  return new Map([
    ['command', renderPty(['/bin/sh', './launch'], request.script)],
    ['launch', launch],
  ]);
}

function renderEntry({
  tools,
  holder,
  namespaces,
  pid,
  sharesMounts,
  prefix,
  joinFiles,
}: LaunchScriptRequest): string {
  const at = (process: ProcessIdentity, name: string) => `/proc/${process.pid}/ns/${name}`;
  const { network, ipc } = namespaces;
  const shared = typeof pid === 'string' ? undefined : pid;
  const entered = [
    ...(network ? [`--net=${at(holder, 'net')}`, `--uts=${at(holder, 'uts')}`] : []),
    ...(ipc ? [`--ipc=${at(holder, 'ipc')}`] : []),
    ...(shared === undefined ? [] : [`--pid=${at(shared, 'pid')}`]),
  ];
  // Nothing forks before `setup` does: its first child is the first process of the pid namespace.
  const nsenter = entered.length === 0 ? [] : [tools.outside('nsenter'), '--no-fork', ...entered];
  const unshare = [
    ...[tools.outside('unshare'), '--mount', '--propagation', sharesMounts ? 'unchanged' : 'slave'],
    ...(pid === 'own' ? ['--pid'] : []),
  ];
  const processes = [holder, ...(shared === undefined || shared === holder ? [] : [shared])];
  return [
    // What it writes itself is the runtime's alone; the container's own mask comes with its set-up.
    'umask 0077\n',
    ...processes.map((each) => {
      const gone = `the process ${each.pid}, which holds its namespaces, has ended`;
      return renderVerify(each.pid, each.startTicks, `echo ${quoteWord(gone)} >fault; exit 125`);
    }),
    ...renderAdvance(joinFiles),
    `exec ${quoteWords([...prefix, ...nsenter, ...unshare, '/bin/sh', './setup'])}\n`,
  ].join('');
}

/**
 * Sends a process ahead that joins one of the groups and ends.
 *
 * Whoever moves between groups first for a while waits for a grace period of the kernel, 5 to 15 ms; who comes soon
 * after does not. So that wait goes on beside the set-up. The process is reaped by the shell that waits for the
 * container; it cannot go ahead later, when it would be one of the container's own processes.
 */
function renderAdvance([first]: readonly string[]): string[] {
  return first === undefined ? [] : [`{ echo 0 >${quoteWord(first)}; } 2>/dev/null &\n`];
}
