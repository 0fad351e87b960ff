/**
 * Kubernetes' rules for annotations that an API server interprets.
 *
 * These are profiles of AppArmor and seccomp in the form before there were fields for them, tolerations, the
 * cost of a deletion, and mirror pods.
 *
 * @module
 */
import { type Container, type SecurityProfile } from '../container/container.js';
import { decodeObject } from '../fields/decode-object.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { forbidden, invalid } from '../fields/field-problem.js';
import { type Pod, type PodSpec, type Toleration } from '../pod/pod.js';
import { SCHEDULING_TABLES } from '../pod/scheduling-fields.js';
import { checkDescendingPath } from './name-rules.js';
import { ProblemList } from './problem-list.js';
import { validateTolerations } from './validate-scheduling.js';

/** Prefix of a container's name: its AppArmor profile. */
export const APPARMOR_PREFIX = 'container.apparmor.security.beta.kubernetes.io/';
/** The seccomp profile of a pod. */
export const SECCOMP_POD = 'seccomp.security.alpha.kubernetes.io/pod';
/** Prefix of a container's name: its seccomp profile. */
export const SECCOMP_PREFIX = 'container.seccomp.security.alpha.kubernetes.io/';
const TOLERATIONS = 'scheduler.alpha.kubernetes.io/tolerations';
const DELETION_COST = 'controller.kubernetes.io/pod-deletion-cost';
const MIRROR = 'kubernetes.io/config.mirror';
const LARGEST_INT32 = 2 ** 31 - 1;

type Annotations = Readonly<Record<string, string | undefined>>;

/** A container of a pod with its path. */
interface PlacedContainer {
  readonly path: FieldPath;
  readonly container: Draft<Container>;
}

/** Validates such annotations, by themselves and against the fields with the same meaning. */
export function validatePodAnnotations({ metadata, spec = {} }: Draft<Pod>, list: ProblemList): void {
  const annotations: Annotations = metadata?.annotations ?? {};
  const containers = containersOf(spec);
  for (const [key, value = ''] of Object.entries(annotations)) {
    const path: FieldPath = ['metadata', 'annotations', { key }];
    if (key.startsWith(APPARMOR_PREFIX)) {
      const name = key.slice(APPARMOR_PREFIX.length);
      if (!containers.some(({ container }) => container.name === name))
        list.add(invalid(path, name, 'there is no such container'));
      list.check(path, value, checkAppArmor);
    } else if (key === SECCOMP_POD || key.startsWith(SECCOMP_PREFIX)) {
      list.check(path, value, checkSeccomp);
    } else if (key === DELETION_COST) {
      list.check(path, value, checkCost);
    } else if (key === MIRROR && (spec as { nodeName?: string }).nodeName === undefined) {
      list.add(invalid(path, value, 'a mirror pod has spec.nodeName'));
    } else if (key === TOLERATIONS && value !== '') {
      list.check(path, value, checkTolerations);
    }
  }
  compareProfiles(annotations, spec, containers, list);
}

/** The AppArmor profile in an annotation; undefined if it is invalid. */
export function appArmorProfileOf(annotation: string): SecurityProfile | undefined {
  if (annotation === 'unconfined') return { type: 'Unconfined' };
  if (annotation === 'runtime/default') return { type: 'RuntimeDefault' };
  const localhostProfile = /^localhost\/([^]+)$/.exec(annotation)?.[1];
  return localhostProfile === undefined || localhostProfile.trim() !== localhostProfile
    ? undefined
    : { type: 'Localhost', localhostProfile };
}

function containersOf(spec: Draft<PodSpec>): PlacedContainer[] {
  return (['initContainers', 'containers', 'ephemeralContainers'] as const).flatMap((name) =>
    entriesOf<Draft<Container>>(spec[name]).map(([index, container]) => ({
      path: ['spec', name, index],
      container,
    })),
  );
}

function compareProfiles(
  annotations: Annotations,
  spec: Draft<PodSpec>,
  containers: readonly PlacedContainer[],
  list: ProblemList,
): void {
  const { seccompProfile, appArmorProfile } = spec.securityContext ?? {};
  const pod: FieldPath = ['spec', 'securityContext', 'seccompProfile'];
  compare(annotations[SECCOMP_POD], seccompProfile, pod, list);
  for (const { path, container } of containers) {
    const context = container.securityContext;
    const seccomp = annotations[`${SECCOMP_PREFIX}${container.name ?? ''}`];
    compare(seccomp, context?.seccompProfile, [...path, 'securityContext', 'seccompProfile'], list);
    const appArmor = annotations[`${APPARMOR_PREFIX}${container.name ?? ''}`];
    if (appArmor === undefined) continue;
    // A valid annotation becomes the field of a container that has none.
    const isTaken = appArmorProfileOf(appArmor) !== undefined;
    const field = context?.appArmorProfile ?? (isTaken ? undefined : appArmorProfile);
    compare(appArmor, field, [...path, 'securityContext', 'appArmorProfile'], list);
  }
}

function compare(
  annotation: string | undefined,
  field: Draft<SecurityProfile> | undefined,
  path: FieldPath,
  list: ProblemList,
): void {
  if (annotation === undefined || field?.type === undefined) return;
  const isSame =
    field.type === 'Localhost'
      ? annotation === `localhost/${field.localhostProfile ?? ''}`
      : field.type === 'Unconfined'
        ? annotation === 'unconfined'
        : annotation === 'runtime/default' ||
          (path.includes('seccompProfile') && annotation === 'docker/default');
  if (!isSame) list.add(forbidden([...path, 'type'], `the annotation says ${JSON.stringify(annotation)}`));
}

function checkAppArmor(text: string): string | undefined {
  const isFine =
    text === '' || text === 'runtime/default' || text === 'unconfined' || text.startsWith('localhost/');
  return isFine ? undefined : 'use runtime/default, unconfined, or localhost/ and the name of a profile';
}

function checkSeccomp(text: string): string | undefined {
  if (['runtime/default', 'docker/default', 'unconfined'].includes(text)) return undefined;
  if (text.startsWith('localhost/')) return checkDescendingPath(text.slice('localhost/'.length));
  return 'use runtime/default, unconfined, or localhost/ and the path of a profile';
}

function checkCost(text: string): string | undefined {
  const isNumber = /^(?:0|-\d+|[1-9]\d*)$/.test(text);
  const isFine = isNumber && Number(text) >= -LARGEST_INT32 - 1 && Number(text) <= LARGEST_INT32;
  return isFine ? undefined : 'must be a whole number of 32 bits';
}

function checkTolerations(text: string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'must be a list of tolerations in JSON';
  }
  if (value !== null && !Array.isArray(value)) return 'must be a list of tolerations in JSON';
  const list = new ProblemList();
  for (const item of (value ?? []) as unknown[]) {
    const read = decodeObject(item, 'Toleration', SCHEDULING_TABLES, () => true);
    if (read.problems.length > 0) return 'must be a list of tolerations in JSON';
    validateTolerations([read.value as Draft<Toleration>], [], list);
  }
  return list.problems[0]?.message;
}
