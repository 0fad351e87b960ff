/**
 * Takes from what is mounted below a container's volumes, or below the host's files as its root, what it must not allow:
 * devices, and writing where a volume is recursively read-only.
 *
 * In: rules for paths of the container. Out: shell code for the script that has just cut off the host's mounts. Others
 * mount and unmount below the same folders meanwhile, and a mount of the host may go from a container at any moment,
 * as may its mount point. So the table is read where nothing but the container's own mounts is in it, after they were
 * made, and again after each change, until nothing is left to be done. What has gone is in nobody's way; what is still
 * there and cannot be changed ends the start.
 *
 * What the host mounts later below a volume with host-to-container propagation has the host's options.
 *
 * @module
 */
import { type ContainerRoot } from '../../images/container-roots.js';
import { quoteWord } from '../script/shell-words.js';
import { type Volume } from './container-volumes.js';

/** What mounts at a path, or also below it, must have; the first rule that fits counts. */
export interface SubmountRule {
  readonly path: string;
  readonly below: boolean;
  readonly wanted: readonly ('nodev' | 'ro')[];
}

/** What {@link planSubmountRules} takes. */
export interface SubmountRuleRequest {
  readonly root: ContainerRoot;
  readonly privileged: boolean;
  readonly volumes: readonly Volume[];
  /** File systems that the runtime has mounted itself, and the pod's files. */
  readonly own: readonly SubmountRule[];
}

/** The rules, none where nothing can be mounted below anything or everything is allowed. */
export function planSubmountRules({ root, privileged, volumes, own }: SubmountRuleRequest): SubmountRule[] {
  const nodev = privileged ? [] : (['nodev'] as const);
  const ofVolumes = volumes
    .toSorted((one, other) => depthOf(other.target) - depthOf(one.target))
    .map(({ target, plainDevice, readonlyBelow }): SubmountRule => {
      const wanted = [...(readonlyBelow ? (['ro'] as const) : []), ...(plainDevice ? [] : nodev)];
      return { path: target, below: true, wanted };
    });
  const isNeeded =
    volumes.some(({ folder, readonlyBelow }) => folder && (readonlyBelow || !privileged)) ||
    (root.kind === 'host' && !privileged);
  return isNeeded ? [...ofVolumes, ...own, { path: '/', below: true, wanted: nodev }] : [];
}

function depthOf(path: string): number {
  return path.split('/').length;
}

/**
 * How often changes may fail in a row. One that fails says nothing of the next one: a mount may go, or its path change,
 * after the table was read, and the kernel gives the numbers of mounts that have gone to new ones.
 */
const MAX_FAILURES = 50;
/** How often changes are made: where mounts propagate the host may mount more all the time. */
const MAX_ROUNDS = 1000;
/** Nothing is mounted under this name: mount would pass over a line that says what is mounted already. */
const NO_SOURCE = 'podloop-restriction';
/** What a mount must keep when another option is set. */
const KEPT = ['ro', 'nosuid', 'nodev', 'noexec', 'nosymfollow'];

/**
 * The code, for a shell with the functions `fault` and `must`; see {@link renderSetup}.
 *
 * @param mount the command line of mount, up to its options.
 * @param list a file that may be written over, by a path in the container.
 */
export function renderSubmountRules(rules: readonly SubmountRule[], mount: string, list: string): string[] {
  if (rules.length === 0) return [];
  return [
    // The table, in variables by the numbers of mounts. There are no blanks in its fields.
    'lacking() {\n  open=\n',
    '  while read -r id on device root point options rest; do\n',
    '    eval "point_$id=\\$point on_$id=\\$on below_$on=\\"\\${below_$on-} $id\\""\n',
    '    case $point in\n',
    ...rules.map(renderRule),
    '    esac\n',
    '    for each in $wanted; do\n',
    '      case ,$options, in *,$each,*) ;; *) open="$open $id"; eval "options_$id=\\$options wanted_$id=\\$wanted"; break ;; esac\n',
    '    done\n',
    '  done </proc/self/mountinfo\n',
    '  for id in $open; do\n',
    '    if hidden "$id"; then continue; fi\n',
    '    eval "point=\\$point_$id options=\\$options_$id wanted=\\$wanted_$id" line=remount,bind\n',
    `    for each in ${KEPT.join(' ')}; do case ,$options, in *,$each,*) line=$line,$each ;; esac; done\n`,
    '    for each in $wanted; do line=$line,$each; done\n',
    `    printf '%s\\n' "${NO_SOURCE} $point none $line 0 0"\n`,
    '  done\n}\n',
    // Below another mount, or with another one on top of it: no path leads there, but one leads to the other.
    'hidden() {\n  at=$1\n',
    '  eval "place=\\$point_$at above=\\${below_$at-}"\n',
    '  for other in $above; do eval "there=\\$point_$other"; if [ "$there" = "$place" ]; then return 0; fi; done\n',
    '  while :; do\n',
    '    eval "place=\\$point_$at on=\\$on_$at"\n',
    '    eval "beside=\\${below_$on-} known=\\${point_$on-}"\n',
    '    for other in $beside; do\n',
    '      eval "there=\\$point_$other"\n',
    '      case $place in "$there") ;; "${there%/}"/*) return 0 ;; esac\n',
    '    done\n',
    '    if [ -z "$known" ] || [ "$on" = "$at" ]; then return 1; fi\n',
    '    at=$on\n',
    '  done\n}\n',
    'rounds=0 failures=0\n',
    // In a process of its own: the next one begins with empty tables.
    'while found=$(lacking); [ -n "$found" ]; do\n',
    `  printf '%s\\n' "$found" >${list}\n`,
    `  if said=$(${mount} --all --fstab ${list} 2>&1); then failures=0; else failures=$((failures + 1)); fi\n`,
    '  rounds=$((rounds + 1))\n',
    `  if [ $failures -eq ${MAX_FAILURES} ] || [ $rounds -eq ${MAX_ROUNDS} ]; then\n`,
    '    fault "its set-up failed: ${said:-mounts below its volumes never end}"\n',
    '  fi\n',
    'done\n',
    `: >${list}\n`,
  ];
}

function renderRule({ path, below, wanted }: SubmountRule): string {
  const at = quoteWord(escapePoint(path));
  const patterns = below ? [at, `${path === '/' ? '' : at}/*`] : [at];
  return `      ${patterns.join(' | ')}) wanted='${wanted.join(' ')}' ;;\n`;
}

/** As /proc/self/mountinfo writes a path; see proc_pid_mountinfo(5). */
function escapePoint(path: string): string {
  return path.replaceAll(/[ \t\n\\]/g, (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`);
}
