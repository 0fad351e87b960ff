/**
 * The POSIX shell script under which every container runs, and the command file that it is given.
 *
 * In: a container's folder, the number of the run, whether there is a log. Out, in that folder: `run.N` (boot id
 * and the supervisor's own line of /proc/self/stat), `pid` (the entrypoint's), `stdout.spool` and `stderr.spool`,
 * and at the end `exit`. It needs nobody after it was started, so containers outlive the runtime.
 *
 * ```
 * sh (session of its own) ─┬─ cat  stdout.pipe ► stdout.spool
 *                          ├─ cat  stderr.pipe ► stderr.spool
 *                          └─ the entrypoint (session of its own)
 * ```
 *
 * Why pipes before the spool: programs reopen /dev/stdout and /dev/stderr, and a shell's `> /dev/stderr` would
 * empty a plain file. Why `cat`: what is in a pipe when its reader is killed is lost, what is in a file is not.
 *
 * @module
 */

export const SUPERVISOR_SCRIPT = `# One container's supervisor: $1 its folder, $2 the number of this run, $3 "log" if somebody wants its output.
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
  read -r self </proc/self/stat
  printf '%s\\n' "$self" >pid
  . ./command
}
# The container runs in the foreground: a shell lets background commands ignore SIGINT and SIGQUIT.
if [ "$3" = log ]; then
  exec 3<>stdout.pipe 4<>stderr.pipe
  cat <stdout.pipe >>stdout.spool 3<&- 4<&- &
  cat <stderr.pipe >>stderr.spool 3<&- 4<&- &
  (run_container) >stdout.pipe 2>stderr.pipe 3<&- 4<&-
else
  (run_container) >/dev/null 2>&1
fi
code=$?
read -r main rest <pid
kill -s KILL -- "-$main"
# The file has its space already and is not truncated: a full disk costs no exit code.
printf 'exit %s\\n' "$code" 1<>exit
# The end of this shell says that the spools are complete.
exec 3<&- 4<&-
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
 * The file that becomes the entrypoint: goes to its folder and executes it in a session of its own.
 *
 * `env -i` sets the environment, because a shell drops the names that it cannot hold itself, such as `a.b`.
 */
export function renderCommand(
  command: ContainerCommand,
  tools: Pick<CommandTools, 'env' | 'setsid'>,
): Buffer {
  const words = [tools.env, '-i', ...command.environment, tools.setsid, '--', ...command.argv];
  return Buffer.concat([
    Buffer.from('umask 0022\ncd -- '),
    quote(command.workingDir),
    Buffer.from(' || exit 125\nexec'),
    ...words.flatMap((word) => [Buffer.from(' '), quote(word)]),
    Buffer.from('\n'),
  ]);
}

/** Quotes bytes for a POSIX shell. */
function quote(word: string | Buffer): Buffer {
  const text = typeof word === 'string' ? Buffer.from(word) : word;
  return Buffer.from(`'${text.toString('latin1').replaceAll("'", `'\\''`)}'`, 'latin1');
}
