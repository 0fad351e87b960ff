import { type Container, type SecurityProfile } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { duplicate, forbidden, invalid, required } from '../fields/field-problem.js';
import { checkDescendingPath } from './name-rules.js';
import { type PodSecurityContext, type PodSpec } from '../pod/pod.js';
import { inRange, type ProblemList } from './problem-list.js';
import { findSharedSysctl } from './sysctl-names.js';

/** Ids of users and groups, with Kubernetes' limits. */
const id = inRange(0, 2 ** 31 - 1);
const SYSCTL = /^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$/;
const MAX_SYSCTL_LENGTH = 253;
const MAX_PROFILE_LENGTH = 4095;

/** Validates the security context of a pod. */
export function validatePodSecurity(spec: Draft<PodSpec>, path: FieldPath, list: ProblemList): void {
  if (spec.shareProcessNamespace === true && spec.hostPID === true) {
    list.add(forbidden([...path, 'shareProcessNamespace'], 'not together with hostPID'));
  }
  if (spec.hostUsers === false) {
    for (const name of ['hostNetwork', 'hostPID', 'hostIPC'] as const) {
      if (spec[name] === true) list.add(forbidden([...path, name], 'when hostUsers is false'));
    }
  }
  const context: Draft<PodSecurityContext> = spec.securityContext ?? {};
  const place = [...path, 'securityContext'];
  for (const name of ['runAsUser', 'runAsGroup', 'fsGroup'] as const) {
    list.check([...place, name], context[name], id);
  }
  for (const [index, group] of entriesOf(context.supplementalGroups)) {
    list.check([...place, 'supplementalGroups', index], group, id);
  }
  const names = new Set<string>();
  for (const [index, { name }] of entriesOf(context.sysctls)) {
    if (name === undefined) continue;
    const where = [...place, 'sysctls', index, 'name'];
    list.check(where, name, (text) =>
      text.length <= MAX_SYSCTL_LENGTH && SYSCTL.test(text)
        ? undefined
        : 'use a name such as kernel.shm_rmid_forced',
    );
    list.check(where, name, (text) => findSharedSysctl(text, spec));
    // Both separators mean the same file.
    const plain = name.replaceAll('/', '.');
    if (names.has(plain)) list.add(duplicate(where, name));
    names.add(plain);
  }
  validateProfiles(context, place, list);
}

/** Validates the security context of a container. */
export function validateContainerSecurity(
  container: Draft<Container>,
  spec: Pick<Draft<PodSpec>, 'hostUsers'>,
  path: FieldPath,
  list: ProblemList,
): void {
  const context = container.securityContext;
  if (context === undefined) return;
  list.check([...path, 'runAsUser'], context.runAsUser, id);
  list.check([...path, 'runAsGroup'], context.runAsGroup, id);
  if (context.procMount === 'Unmasked' && spec.hostUsers !== false) {
    const rule = 'hostUsers must be false to use Unmasked';
    const dependsOn = ['spec', 'hostUsers'];
    list.add({ ...invalid([...path, 'procMount'], context.procMount, rule), dependsOn });
  }
  if (context.allowPrivilegeEscalation === false) {
    const place = [...path, 'allowPrivilegeEscalation'];
    const adds = entriesOf(context.capabilities?.add).map(([, name]) => name);
    if (context.privileged === true)
      list.add(invalid(place, false, 'cannot be false for a privileged container'));
    if (adds.includes('CAP_SYS_ADMIN'))
      list.add(invalid(place, false, 'cannot be false with the capability CAP_SYS_ADMIN'));
  }
  validateProfiles(context, path, list);
}

function validateProfiles(
  context: {
    readonly seccompProfile?: Draft<SecurityProfile> | undefined;
    readonly appArmorProfile?: Draft<SecurityProfile> | undefined;
  },
  path: FieldPath,
  list: ProblemList,
): void {
  for (const name of ['seccompProfile', 'appArmorProfile'] as const) {
    const profile = context[name];
    if (profile === undefined) continue;
    const place = [...path, name, 'localhostProfile'];
    const { type, localhostProfile } = profile;
    if (type === 'Localhost' && localhostProfile === undefined)
      list.add(required(place, 'when type is Localhost'));
    if (type === 'Localhost' && localhostProfile === '')
      list.add(required(place, 'the profile of this name'));
    if (name === 'appArmorProfile')
      list.check(place, localhostProfile, (text) =>
        text.trim() !== text || Buffer.byteLength(text) > MAX_PROFILE_LENGTH
          ? `must have no space round it, and at most ${MAX_PROFILE_LENGTH} bytes`
          : undefined,
      );
    if (type !== undefined && type !== 'Localhost' && localhostProfile !== undefined)
      list.add(forbidden(place, 'only when type is Localhost'));
    if (name === 'seccompProfile') list.check(place, localhostProfile, checkDescendingPath);
  }
}
