import { quoteWord, quoteWords } from './shell-words.js';
import { renderProgram, type SetupRequest } from './setup-script.js';
import { renderVerify } from '../../process/verify-process.js';
import { type ProcessIdentity } from '../../process/child-identity.js';

/** What a command with a terminal has besides its container's variables, and in place of them: as with containerd. */
const TERMINAL_VARIABLES = ['TERM=xterm'];

/**
 * The words that go behind an enter script: `env` stands before them there, and takes those with `=` in front of the
 * command for variables.
 */
export function withTerminalVariables(argv: readonly string[], tty: boolean): string[] {
  return tty ? [...TERMINAL_VARIABLES, ...argv] : [...argv];
}

/** What {@link renderEnter} puts together. */
export interface EnterRequest extends Pick<
  SetupRequest,
  'tools' | 'joinFiles' | 'privilegeSteps' | 'environment' | 'workingDir' | 'ownCgroups' | 'filter'
> {
  /** See LaunchScriptRequest. */
  readonly prefix: readonly string[];
  /** The process from whose root the kit is taken. */
  readonly holder: ProcessIdentity;
}

/**
 * The shell script that runs one more command inside of a container, with what its program has, except for the folder
 * and the program itself.
 *
 * Its arguments: pid and start ticks of the container's first process, `tty` or `pipe`, then the command.
 *
 * Its variables come as those of the program; see {@link renderProgram}.
 */
export function renderEnter(request: EnterRequest): Buffer {
  const { tools, joinFiles, holder, privilegeSteps, prefix, ownCgroups } = request;
  const cgroup = ownCgroups ? ' --cgroup' : '';
  const gone = "echo 'the container has ended' >&2; exit 125";
  const lost = "echo 'the holder of the sandbox has ended' >&2; exit 125";
  const program = renderProgram(request, true);
  return Buffer.concat([
    Buffer.from(
      [
        'pid=$1 ticks=$2 mode=$3\nshift 3\n',
        renderVerify('"$pid"', '"$ticks"', gone),
        renderVerify(holder.pid, holder.startTicks, lost),
        ...joinFiles.map((file) => `{ echo 0 >${quoteWord(file)}; } 2>/dev/null\n`),
        'if [ "$mode" = tty ]; then ctty=--ctty; else ctty=; fi\n',
      ].join(''),
    ),
    program.exports,
    Buffer.from(
      [
        `exec ${quoteWords([...prefix, tools.outside('nsenter')])} --target "$pid" --mount --net --ipc --uts --pid${cgroup} `,
        `--wd=/proc/${holder.pid}/root ${quoteWords(tools.inside('setsid'))} $ctty ${quoteWords(privilegeSteps)} `,
      ].join(''),
    ),
    program.words,
    Buffer.from('"$@"\n'),
  ]);
}
