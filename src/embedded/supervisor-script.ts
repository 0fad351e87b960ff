/**
 * The POSIX shell script under which every container runs, and the command file that it is given.
 *
 * In: a container's folder with a `command` in it, the number of the run, what streams are wanted. Out, in that
 * folder: `run.N` (boot id and the supervisor's own line of /proc/self/stat), `stdout.spool` and `stderr.spool`, and
 * at the end `exit`. What it runs leaves `pid` (the entrypoint's) or, when it cannot be started, `fault`. It needs
 * nobody after it was started, so containers outlive the runtime.
 *
 * ```
 * sh (session of its own) ─┬─ cat  stdout.pipe ► stdout.spool
 *                          ├─ cat  stderr.pipe ► stderr.spool
 *                          ├─ cat  stdin.pipe ► input.pipe       for an input that ends with its first writer
 *                          └─ command ─ … ─ the entrypoint (session of its own)
 * ```
 *
 * Why pipes before the spool: programs reopen /dev/stdout and /dev/stderr, and a shell's `> /dev/stderr` would
 * empty a plain file. Why `cat`: what is in a pipe when its reader is killed is lost, what is in a file is not.
 *
 * @module
 */
import { quoteBytes } from './isolation/shell-words.js';

export const SUPERVISOR_SCRIPT = `# One container's supervisor: $1 its folder, $2 the number of this run, $3 what is wanted: "log" for its output,
# "stdin" for an input that stays open, "once" for one that ends with its first writer, "tty" for one output only.
cd -- "$1" || exit 125
# Caught and not ignored: the container must find the default.
trap : HUP INT TERM
read -r boot </proc/sys/kernel/random/boot_id
read -r self </proc/self/stat
# Whoever creates this file first has the run: this shell, or a runtime that declares it void.
set -C
printf '%s\\n%s\\n' "$boot" "$self" >"run.$2" || exit 125
set +C
run_container() {
  . ./command
}
input=/dev/null
feeder=
case " $3 " in
*' once '*)
  input=input.pipe
  cat >input.pipe <stdin.pipe &
  feeder=$!
  ;;
*' stdin '*)
  input=stdin.pipe
  exec 5<>stdin.pipe
  ;;
esac
# The container runs in the foreground: a shell lets background commands ignore SIGINT and SIGQUIT.
case " $3 " in
*' log '*)
  exec 3<>stdout.pipe 4<>stderr.pipe
  cat <stdout.pipe >>stdout.spool 3<&- 4<&- 5<&- &
  case " $3 " in *' tty '*) ;; *) cat <stderr.pipe >>stderr.spool 3<&- 4<&- 5<&- & ;; esac
  (run_container) <$input >stdout.pipe 2>stderr.pipe 3<&- 4<&- 5<&-
  ;;
*)
  (run_container) <$input >/dev/null 2>&1 5<&-
  ;;
esac
code=$?
if [ -s pid ]; then
  read -r main rest <pid
  kill -s KILL -- "-$main"
fi
# The file has its space already and is not truncated: a full disk costs no exit code.
if [ -s fault ]; then
  read -r said <fault
  printf 'exit 128 StartError %s\\n' "$said" 1<>exit
else
  printf 'exit %s\\n' "$code" 1<>exit
fi
[ -z "$feeder" ] || kill -s KILL "$feeder"
# The end of this shell says that the spools are complete.
exec 3<&- 4<&- 5<&-
wait
`;

/** A command that was looked up and found: what a container's entrypoint is made of. */
export interface ContainerCommand {
  readonly argv: readonly string[];
  /** `NAME=value` each, the whole environment. Values are bytes. */
  readonly environment: readonly Buffer[];
  readonly workingDir: string;
}

/** Absolute paths of the programs that a container's folder needs, and those that its command file names. */
export interface CommandTools {
  readonly env: string;
  readonly setsid: string;
  readonly mkfifo: string;
}

/**
 * The last lines of a script that becomes the entrypoint where there is no isolation: goes to its folder and executes
 * it, in a session of its own unless it has one already.
 *
 * `env -i` sets the environment, because a shell drops the names that it cannot hold itself, such as `a.b`.
 */
export function renderCommand(
  command: ContainerCommand,
  tools: Pick<CommandTools, 'env'> & Partial<Pick<CommandTools, 'setsid'>>,
): Buffer {
  const session = tools.setsid === undefined ? [] : [tools.setsid, '--'];
  const words = [tools.env, '-i', ...command.environment, ...session, ...command.argv];
  return Buffer.concat([
    Buffer.from('umask 0022\ncd -- '),
    quoteBytes(command.workingDir),
    Buffer.from(' || exit 125\nexec'),
    ...words.flatMap((word) => [Buffer.from(' '), quoteBytes(word)]),
    Buffer.from('\n'),
  ]);
}
