import { type ContainerCapabilities } from './capabilities.js';
import { type ContainerUser } from '../container-user.js';
import { type ToolKit } from './tool-kit.js';

/** What a container's program may do and as whom. */
export interface ContainerPrivileges {
  readonly user: ContainerUser;
  readonly capabilities: ContainerCapabilities;
  readonly noNewPrivs: boolean;
}

/** What changing users and groups, and giving up the rest, needs until it is done. */
const STEPS_NEED = ['setuid', 'setgid', 'sys_chroot', 'setpcap'];

/**
 * The command line that gives up privileges before it executes what follows it; called with the kit's folder as the
 * working directory, as root, in the container's root.
 *
 * Users and groups are set by `chroot` into the same root, since it takes numbers as they are: setpriv would look
 * for them as names first, in the container's own files and with modules that the container brings. To another user
 * than root they are set after the bounding set was cut, as that user could not cut it. What the steps themselves
 * need is inherited from one to the next until the last one drops it.
 */
export function renderPrivilegeSteps(
  { user, capabilities, noNewPrivs }: ContainerPrivileges,
  tools: Pick<ToolKit, 'inside'>,
): readonly string[] {
  const { bounding, ambient } = capabilities;
  const lastly = [
    ...tools.inside('setpriv'),
    `--inh-caps=${only(ambient)}`,
    ...(noNewPrivs ? ['--no-new-privs'] : []),
  ];
  const whom = [
    ...[...tools.inside('chroot'), '--skip-chdir', `--userspec=+${user.uid}:+${user.gid}`],
    ...[`--groups=${user.groups.map((id) => `+${id}`).join(',')}`, '/'],
  ];
  // Root loses nothing by a change of its groups.
  if (user.uid === 0 && ambient.length === 0) return [...whom, ...lastly, `--bounding-set=${only(bounding)}`];
  const keepsAmbient = ambient.length > 0;
  const carried = [...new Set([...STEPS_NEED, ...ambient])];
  const setpriv = tools.inside('setpriv');
  return [
    ...setpriv,
    `--inh-caps=${only(carried)}`,
    // Without this the change to another user would clear the ambient set.
    ...(keepsAmbient ? [`--ambient-caps=${only(carried)}`, '--securebits=+no_setuid_fixup'] : []),
    ...setpriv,
    `--bounding-set=${only(bounding)}`,
    ...whom,
    ...lastly,
    ...(keepsAmbient ? ['--securebits=-no_setuid_fixup', `--ambient-caps=${only(ambient)}`] : []),
  ];
}

function only(names: readonly string[]): string {
  return ['-all', ...names.map((name) => `+${name}`)].join(',');
}
