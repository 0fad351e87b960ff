/**
 * The POSIX shell script under which every container runs, and the command file that it is given.
 *
 * In: a container's folder with a `command` in it, the number of the run, what streams are wanted. Out, in that
 * folder: `run.N` (the supervisor's claim, see {@link renderClaim}), the spools, `stdout.spool.BEGIN` and
 * `stderr.spool.BEGIN` (see {@link SpoolReader}), and at the end `exit`. What it runs leaves `pid` (the entrypoint's)
 * or, when it cannot be started, `fault`. It needs nobody after it was started, so containers outlive the runtime.
 *
 * ```
 * sh (session of its own) ─┬─ sh ─ dd  stdout.pipe ► stdout.spool.0, stdout.spool.9123456, …
 *                          ├─ sh ─ dd  stderr.pipe ► stderr.spool.0
 *                          ├─ cat  stdin.pipe ► input.pipe       for an input that ends with its first writer
 *                          └─ command ─ … ─ the entrypoint (session of its own)
 * ```
 *
 * Why pipes before the spool: programs reopen /dev/stdout and /dev/stderr, and a shell's `> /dev/stderr` would
 * empty a plain file. Why a spool at all: what is in a pipe when its reader is killed is lost, what is in a file is
 * not. Why several files: those that were read can be removed, on every file system, and their number says when the
 * container has to wait. Why `dd`: it hands on what it reads at once, and ends after so many reads and says how much
 * that was, so that all bytes are counted without a process more.
 *
 * @module
 */
import { quoteBytes } from '../isolation/script/shell-words.js';
import { carryEnvironment } from '../process/carried-environment.js';
import { renderClaim } from '../process/process-claim.js';

/** No file of a spool goes on once it has this size; it then has at most twice as much. */
export const SPOOL_FILE_BYTES = 8 * 1024 * 1024;
/** With that many full files which nobody has read, a container has to wait with its output. */
export const SPOOL_FILES = 4;

const READ_BYTES = 8192;
const READS = SPOOL_FILE_BYTES / READ_BYTES;

export const SUPERVISOR_SCRIPT = `# One container's supervisor: $1 its folder, $2 the number of this run, $3 what is wanted: "log" for its output,
# "stdin" for an input that stays open, "once" for one that ends with its first writer, "tty" for one output only.
cd -- "$1" || exit 125
# What a container says, or why it did not start, may be a secret. Its own mask is set with its command.
umask 0077
# Caught and not ignored: the container must find the default.
trap : HUP INT TERM
# From here on the run is this shell's, unless a runtime has declared it void.
${renderClaim('"run.$2"', 125)}run_container() {
  . ./command
}
# The time at which a process has started, or nothing: by it a number that has gone to somebody else is known.
start_in() {
  set -- \${1##*) }
  ticks=\${20-}
}
find_start() {
  line=
  { read -r line <"/proc/$1/stat"; } 2>/dev/null
  start_in "$line"
}
# Hands one output on, from its pipe into files that are named after where in the output they begin.
spool() {
  # Not at the call: a shell keeps copies of what it closes for a function, and a writer among them has no end.
  exec <"$1.pipe" 3<&- 4<&- 5<&-
  name=$1.spool at=0 begin=0 newline='
'
  set --
  while :; do
    if said=$(dd bs=${READ_BYTES} count=${READS} 2>&1 >>"$name.$begin"); then
      # "3+5 records in", "3+5 records out", "24612 bytes ..."; a warning may stand in front.
      reads=\${said%% records in*} bytes=\${said##*records out}
      reads=\${reads##*"$newline"} bytes=\${bytes#?}
      reads=$((\${reads%%+*} + \${reads#*+})) bytes=\${bytes%% *}
    else
      # A full disk, or somebody who kills. What was not written is lost; the container need not be.
      [ -e exit ] || return
      reads=${READS} bytes=
      sleep 1
    fi
    case $bytes in
    '' | *[!0-9]*) at=$((begin + $(wc -c <"$name.$begin"))) ;;
    *) at=$((at + bytes)) ;;
    esac
    [ $reads -ge ${READS} ] || return
    [ $((at - begin)) -ge ${SPOOL_FILE_BYTES} ] || continue
    # Its being there says that the one before it is complete.
    { true >"$name.$at"; } 2>/dev/null || continue
    set -- "$@" "$name.$begin"
    begin=$at tenths=1
    while
      while [ $# -gt 0 ] && [ ! -e "$1" ]; do shift; done
      [ $# -ge ${SPOOL_FILES} ]
    do
      sleep $((tenths / 10)).$((tenths % 10))
      [ $tenths -ge 16 ] || tenths=$((tenths * 2))
      [ -e exit ] || return
    done
  done
}
input=/dev/null
feeder=
case " $3 " in
*' once '*)
  input=input.pipe
  cat >input.pipe <stdin.pipe &
  feeder=$!
  find_start "$feeder"
  feeder_start=$ticks
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
  spool stdout &
  case " $3 " in *' tty '*) ;; *) spool stderr & ;; esac
  (run_container) <$input >stdout.pipe 2>stderr.pipe 3<&- 4<&- 5<&-
  ;;
*)
  (run_container) <$input >/dev/null 2>&1 5<&-
  ;;
esac
code=$?
if [ -s pid ]; then
  read -r line <pid
  main=\${line%% *}
  start_in "$line"
  main_start=$ticks
  find_start "$main"
  # What the container has left in its first process's group. The number is free or still that process's as a rule.
  case $ticks in '' | "$main_start") kill -s KILL -- "-$main" ;; esac
fi
# The file has its space already and is not truncated: a full disk costs no exit code.
if [ -s fault ]; then
  read -r said <fault
  printf 'exit 128 StartError %s\\n' "$said" 1<>exit
elif [ ! -s pid ]; then
  printf 'exit 128 StartError its set-up ended with %s\\n' "$code" 1<>exit
else
  printf 'exit %s\\n' "$code" 1<>exit
fi
# It may have ended long ago, with the first writer.
if [ -n "$feeder" ]; then
  find_start "$feeder"
  case $ticks in '') ;; "$feeder_start") kill -s KILL "$feeder" ;; esac
fi
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
 */
export function renderCommand(
  command: ContainerCommand,
  tools: Pick<CommandTools, 'env'> & Partial<Pick<CommandTools, 'setsid'>>,
): Buffer {
  const session = tools.setsid === undefined ? [] : [tools.setsid, '--'];
  const { exports, words } = carryEnvironment(command.environment, [tools.env]);
  return Buffer.concat([
    Buffer.from('umask 0022\ncd -- '),
    quoteBytes(command.workingDir),
    Buffer.from(' || exit 125\n'),
    exports,
    Buffer.from('exec '),
    words,
    ...[...session, ...command.argv].flatMap((word) => [Buffer.from(' '), quoteBytes(word)]),
    Buffer.from('\n'),
  ]);
}
