/**
 * The shell script that turns a process in fresh namespaces into a container.
 *
 * In: run in the container's folder, in the host's pid namespace, with the namespaces of the sandbox and a mount
 * namespace of its own; the first process that it forks is the container's. Out, in the folder: `pid` once
 * everything is in place and the program is next, or `fault` with a sentence. Its exit code is the container's.
 *
 * Every mount is made inside of the container's mount namespace: none appears on the host, none can be left over.
 *
 * @module
 */
import { type CarriedEnvironment, carryEnvironment } from '../../process/carried-environment.js';
import { renderFstab, renderFstabLine } from '../mounts/fstab.js';
import { type MountPlan, type MountPoint } from '../mounts/mount-plan.js';
import { quoteBytes, quoteWord, quoteWords } from './shell-words.js';
import { renderSubmountRules } from '../mounts/submount-rules.js';
import { carryToStarter, type ProgramFilter } from './program-starter.js';
import { type ToolKit } from './tool-kit.js';
import { renderCheckWorkingDir, renderMakeWorkingDir, type WorkingDir } from './working-dir.js';

/** What {@link renderSetup} puts together. */
export interface SetupRequest {
  /** The container's folder. */
  readonly dir: string;
  readonly base: string;
  readonly tools: ToolKit;
  readonly plan: MountPlan;
  /** Whether mounts of this mount namespace could appear on the host: it is kept from that where it must. */
  readonly sharesMounts: boolean;
  readonly joinFiles: readonly string[];
  /** Whether it has a cgroup namespace, whose root is what it joins. */
  readonly ownCgroups: boolean;
  readonly oomScoreAdj: string;
  /** Nodes of the host's /dev that the container gets under the same names. */
  readonly devices: readonly string[];
  /** Nodes that it gets elsewhere. */
  readonly extraDevices: readonly { readonly hostPath: string; readonly containerPath: string }[];
  /** To be hidden or protected outside of /proc and /sys, as far as they are there. */
  readonly masked: readonly string[];
  readonly readonly: readonly string[];
  readonly readonlyRoot: boolean;
  /** Flags of the root that must stay when it becomes read-only. */
  readonly rootRestrictions: readonly string[];
  readonly tty: boolean;
  /** See {@link renderPrivilegeSteps}. */
  readonly privilegeSteps: readonly string[];
  readonly argv: readonly string[];
  readonly environment: readonly Buffer[];
  readonly workingDir: WorkingDir;
  /** Needs a starter. */
  readonly filter?: ProgramFilter | undefined;
  /** Folders to search for the program, in this order. */
  readonly candidates: readonly string[];
}

/** Files that the script needs beside itself, by name. */
export interface SetupFiles {
  readonly script: Buffer;
  readonly files: ReadonlyMap<string, string | Buffer>;
}

/*
 * `plain` ends the start at a link: the host's files lie on top of the container's root until they are cut off, and
 * a link that goes above the root would lead there. The paths were found without links before; this is for what others
 * have put into a volume meanwhile. Between its look and the mount lie some milliseconds, see "Volumes that others
 * write to" in docs/reference/embedded-runtime.md; `set -C` makes a file only where not even a link is.
 */
const HEAD = 'exec 8>pid 9>fault 3>&2 2>/dev/null\numask 0022\n';
const FUNCTIONS = `fault() { printf '%s\\n' "$*" >&9; exit 125; }
must() { said=$("$@" 2>&1) || fault "its set-up failed: \${said:-$1 ended with $?}"; }
plain() {
  rest=\${1#/} path=
  while [ -n "$rest" ]; do
    path=$path/\${rest%%/*}
    if [ -L "$path" ]; then fault "$1: $path is a link"; fi
    case $rest in */*) rest=\${rest#*/} ;; *) rest= ;; esac
  done
}
folder() { [ -d "$1" ] || must $mkdir -p -- "$1"; }
file() {
  if [ -e "$1" ]; then return; fi
  folder "\${1%/*}/"
  set -C
  true >"$1" || fault "cannot make $1"
  set +C
}
`;

/** For a shell in the kit's folder, which has no path in a container: without a name for it the shell would complain. */
const NAMELESS = 'export PWD=/proc/self/cwd\n';
const SELF = 'read -r self </proc/self/stat\n';
/** The script of a container with a cgroup namespace from the moment on at which it has that. */
const SECOND = 'setup.second';

/** See the module's description. */
export function renderSetup(request: SetupRequest): SetupFiles {
  const files = new Map<string, string | Buffer>([['mounts.before', renderFstab(request.plan.before)]]);
  request.plan.after.forEach(({ entries }, at) => files.set(`mounts.${at}`, renderFstab(entries)));
  const program = renderProgram(request, !request.workingDir.certain);
  const last = Buffer.concat([
    Buffer.from([...renderCut(request), ...renderInside(request)].join('')),
    Buffer.from(`printf '%s\\n' "$self" >&8\nexec 8>&- 9>&-\n`),
    program.exports,
    Buffer.from('exec '),
    Buffer.from(quoteWords([...request.tools.inside('setsid'), ...(request.tty ? ['--ctty'] : [])])),
    Buffer.from(` ${quoteWords(request.privilegeSteps)} `),
    program.words,
    ...request.argv.flatMap((word) => [quoteBytes(word), Buffer.from(' ')]),
    Buffer.from('\n'),
  ]);
  if (request.ownCgroups) files.set(SECOND, Buffer.concat([Buffer.from(`${FUNCTIONS}${SELF}`), last]));
  const script = Buffer.concat([
    // The shell that waits has no word to say among the container's own, such as that it was killed.
    Buffer.from([HEAD, FUNCTIONS, '(\nexec 2>&3 3>&-\n', ...renderOutside(request)].join('')),
    request.ownCgroups ? Buffer.from(renderNewCgroups(request)) : last,
    Buffer.from(')\nexit $?\n'),
  ]);
  return { script, files };
}

/**
 * The namespace's root is the group of the process at that moment. So it has joined its own by now, in the shell that
 * becomes the program: the one that waits stays where it was.
 */
function renderNewCgroups({ tools }: SetupRequest): string {
  return `exec ${quoteWord(tools.outside('unshare'))} --cgroup /bin/sh ./${SECOND}\n`;
}

/**
 * The words that execute a program with an environment and a folder of its own. Also for what enters later. Where there
 * is no starter the folder is checked and entered by two processes, one after the other.
 *
 * @param isChecked whether others than the image may have a say in where the folder is; the starter checks it anyway.
 */
export function renderProgram(
  {
    tools,
    environment,
    workingDir: { path },
    filter,
  }: Pick<SetupRequest, 'tools' | 'workingDir' | 'environment' | 'filter'>,
  isChecked: boolean,
): CarriedEnvironment {
  if (tools.starter !== undefined) return carryToStarter(environment, tools.starter, path, filter);
  const { exports, words } = carryEnvironment(environment, tools.inside('env'), ['-C', path]);
  if (!isChecked) return { exports, words };
  const script = `${renderCheckWorkingDir(path)}exec "$@"`;
  const guard = `${quoteWords([...tools.inside('sh'), '-c', script, 'sh'])} `;
  return {
    // For the shell of the check.
    exports: Buffer.concat([Buffer.from(NAMELESS), exports]),
    words: Buffer.concat([Buffer.from(guard), words]),
  };
}

/** With the host's files. */
function renderOutside(request: SetupRequest): string[] {
  const { base, tools, plan, sharesMounts, joinFiles, oomScoreAdj, devices, extraDevices } = request;
  const nodes = [...devices, ...extraDevices.map(({ hostPath }) => hostPath)];
  const mount = quoteWord(tools.outside('mount'));
  const copy = `${quoteWord(tools.outside('cp'))} -dR --preserve=mode,ownership --`;
  return [
    `mkdir=${quoteWord(tools.outside('mkdir'))}\n`,
    SELF,
    ...(oomScoreAdj === '0'
      ? []
      : [`{ echo ${quoteWord(oomScoreAdj)} >/proc/self/oom_score_adj; } 2>/dev/null\n`]),
    // The only place where mounts are made before the old root is cut off: what is below it is ours alone.
    ...(sharesMounts ? [`must ${mount} -n --make-rprivate /proc\n`] : []),
    `must ${mount} -n -i --all --fstab mounts.before\n`,
    ...(nodes.length === 0
      ? []
      : [
          `must ${copy} ${quoteWords([`${tools.dir}/dev/.`, ...devices])} ${quoteWord(`${base}/api/dev/`)}\n`,
        ]),
    ...extraDevices.map(({ hostPath, containerPath }) => {
      const target = `${base}/api${containerPath}`;
      return `folder ${quoteWord(target.slice(0, target.lastIndexOf('/')))}\nmust ${copy} ${quoteWords([hostPath, target])}\n`;
    }),
    ...plan.devicePoints.map(renderPoint),
    // As late as the host's paths allow it: see renderAdvance.
    ...joinFiles.map(
      (file) => `{ echo 0 >${quoteWord(file)}; } 2>/dev/null || fault ${quoteWord(`cannot join ${file}`)}\n`,
    ),
  ];
}

/** From the host's files to the container's own. */
function renderCut({ base, tools }: SetupRequest): string[] {
  return [
    `cd ${quoteWord(`${base}/tools`)} || fault 'no tools'\n`,
    `must ${quoteWords([tools.outside('pivot_root'), `${base}/root`, `${base}/root`])}\n`,
  ];
}

/** With the container's root, and the host's still below the working directory. */
function renderInside(request: SetupRequest): string[] {
  const { tools, plan, dir, sharesMounts, readonlyRoot, rootRestrictions, workingDir } = request;
  const mount = `${quoteWords(tools.inside('mount'))} -n -i -c`;
  const at = (name: string) => quoteWord(`${plan.up}${dir}/${name}`);
  return [
    `mkdir=${quoteWord(tools.inside('mkdir').join(' '))}\n`,
    ...plan.after.flatMap(({ points }, number) => [
      ...points.flatMap((point) => [
        `plain ${quoteWord(point.path)}\n`,
        // Folders are made by mount.
        ...(point.folder ? [] : [renderPoint(point)]),
      ]),
      `must ${mount} --all --fstab ${at(`mounts.${number}`)}\n`,
    ]),
    `umask 0077\nexec 7<>${at('mounts.rules')}\numask 0022\n`,
    // Else the host's mounts would go, too.
    ...(sharesMounts ? [`must ${mount} --make-rprivate ${plan.up}\n`] : []),
    `must ${quoteWords(tools.inside('umount'))} -n -i -c -l ${plan.up}\n`,
    ...renderSubmountRules(plan.submountRules, mount, RULES),
    // From here on no link of the container's leads anywhere but to its own files, except for those of /proc.
    ...renderMakeWorkingDir(workingDir, tools),
    ...renderPathRules(request, mount),
    'exec 7>&-\n',
    ...(readonlyRoot
      ? [`must ${mount} -o ${['remount', 'bind', 'ro', ...rootRestrictions].join(',')} podloop /\n`]
      : []),
    ...renderLookup(request),
  ];
}

/** A file that the script writes once the host's files are out of reach: lists of mounts. */
const RULES = '/proc/self/fd/7';

/**
 * Masked and read-only paths among the container's own files; the list of the masked ones goes through descriptor 7. A
 * container that has such paths is not privileged: it must not open devices there either. A device itself keeps the options
 * of the mount on which it is, by which it can be opened or not; to be read-only would mean nothing for it.
 */
function renderPathRules({ masked, readonly, tools }: SetupRequest, mount: string): string[] {
  if (masked.length + readonly.length === 0) return [];
  const line = (source: string, target: string, type: string, options: string) =>
    `printf '%s\\n' ${quoteWord(renderFstabLine({ source, target, type, options: [options] }))}`;
  return [
    ...(readonly.length === 0 ? [] : [renderProtect(mount, tools)]),
    ...readonly
      .map(quoteWord)
      .map(
        (path) =>
          `if [ -b ${path} ] || [ -c ${path} ]; then must ${mount} --bind ${path} ${path}; ` +
          `elif [ -e ${path} ]; then protect ${path}; fi\n`,
      ),
    // A list without commands is none to the shell.
    '{\n:\n',
    ...masked.map(
      (path) =>
        `if [ -d ${quoteWord(path)} ]; then ${line('podloop', path, 'tmpfs', 'ro,nodev')}; elif [ -e ${quoteWord(path)} ]; then ${line('/dev/null', path, 'none', 'bind')}; fi\n`,
    ),
    `} >&7\nif [ -s ${RULES} ]; then must ${mount} --all --fstab ${RULES}; fi\n`,
  ];
}

/**
 * A function that makes a path read-only. The new mount has the options of the one that the path is on, and a remount
 * drops what it does not name. So they are read from the new mount itself, which is held open: neither path nor options
 * can become those of another one meanwhile.
 *
 * Others may put a pipe or a device in the path's place at any moment, and to open one may take for ever. What was a
 * folder is opened by a path that only a folder has, anything else without any access to it. Without perl nothing can do
 * that: then nothing but a folder keeps what it may execute.
 */
function renderProtect(mount: string, tools: ToolKit): string {
  const limit = `line=remount,bind,ro,nodev
while read -r key value; do if [ "$key" = mnt_id: ]; then on=$value; fi; done <"/proc/self/fdinfo/$1"
while read -r id parent device root point options rest; do
  if [ "$id" != "$on" ]; then continue; fi
  for each in nosuid noexec nosymfollow; do case ,$options, in *,$each,*) line=$line,$each ;; esac; done
done </proc/self/mountinfo
exec ${mount} -o "$line" podloop "/proc/self/fd/$1"`;
  const limitBy = quoteWords([...tools.inside('sh'), '-c', limit, 'sh']);
  const { opener } = tools;
  return `protect() {
  must ${mount} --rbind "$1" "$1"
  if [ -d "$1" ]; then
    { must ${limitBy} 6; } 6<"$1/." && return
${opener === undefined ? '' : `  else\n    must ${quoteWords(opener)} "$1" ${limitBy}\n    return\n`}  fi
  must ${mount} -o remount,bind,ro,nodev,nosuid,noexec podloop "$1"
}
`;
}

function renderPoint({ path, folder }: MountPoint): string {
  return `${folder ? 'folder' : 'file'} ${quoteWord(path)}\n`;
}

/** Why the program cannot be executed, in the words of other runtimes: env's own exit code says too little. */
function renderLookup({ argv, candidates }: SetupRequest): string[] {
  const [name = ''] = argv;
  const said = (why: string) => quoteWord(`exec: "${name}": ${why}`);
  const missing = name.includes('/') ? 'no such file or directory' : 'executable file not found in $PATH';
  return [
    `why=${said(missing)}\n`,
    `for file in ${quoteWords(candidates)}; do\n`,
    '  [ -e "$file" ] || continue\n',
    '  if [ -f "$file" ] && [ -x "$file" ]; then why=; break; fi\n',
    `  if [ -d "$file" ]; then why=${said('is a directory')}; else why=${said('permission denied')}; fi\n`,
    'done\n',
    `[ -z "$why" ] || fault "unable to start container process: $why"\n`,
  ];
}
