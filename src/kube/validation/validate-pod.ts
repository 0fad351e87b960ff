/**
 * Kubernetes' rules for the fields of a pod beyond their types: names, ranges, what excludes what.
 *
 * In: the readable parts of a pod. Out: every problem, with its path; a pod without problems can run. Types,
 * required fields and the words of each field are checked before, when the object is read (pod-fields.ts).
 *
 * @module
 */
import { type Draft, entriesOf } from '../fields/draft.js';
import { type FieldProblem, invalid, required } from '../fields/field-problem.js';
import { checkIp, checkLabel, checkSearchDomain, checkSubdomain } from './name-rules.js';
import { priorityOfClass } from '../pod/pod-priority.js';
import { type Pod, type PodDnsConfig, type PodSpec } from '../pod/pod.js';
import { inRange, ProblemList } from './problem-list.js';
import { validateContainers } from './validate-container.js';
import { validateFileKeyVolumes } from './validate-env.js';
import { validateMetadata } from './validate-metadata.js';
import { validatePodResources } from './validate-resources.js';
import { validatePodSecurity } from './validate-security.js';
import { validatePodAnnotations } from './validate-pod-annotations.js';
import { validateScheduling } from './validate-scheduling.js';
import { validateVolumes } from './validate-volume.js';

const LARGEST_INT32 = 2 ** 31 - 1;
/** The limit of resolvers. */
const MAX_NAMESERVERS = 3;
const MAX_SEARCH_DOMAINS = 32;
const MAX_SEARCH_CHARACTERS = 2048;

/** All problems of a pod, or of the readable parts of one. */
export function validatePod(pod: Draft<Pod>): FieldProblem[] {
  const list = new ProblemList();
  if (pod.metadata !== undefined) validateMetadata(pod.metadata, ['metadata'], list);
  if (pod.spec !== undefined) {
    validateSpec(pod.spec, list);
    validateScheduling(pod.spec, pod.metadata?.labels ?? {}, ['spec'], list);
  }
  validatePodAnnotations(pod, list);
  return list.problems;
}

function validateSpec(spec: Draft<PodSpec>, list: ProblemList): void {
  const path = ['spec'];
  validateContainers(spec, path, list);
  validateVolumes(spec.volumes, [...path, 'volumes'], list);
  validateFileKeyVolumes(spec, path, list);
  validatePodResources(spec, path, list);
  list.check([...path, 'terminationGracePeriodSeconds'], spec.terminationGracePeriodSeconds, inRange(0));
  list.check([...path, 'activeDeadlineSeconds'], spec.activeDeadlineSeconds, inRange(1, LARGEST_INT32));
  for (const name of ['hostname', 'subdomain'] as const) {
    list.check([...path, name], spec[name], checkLabel);
  }
  validateHostnameOverride(spec, list);
  for (const name of ['priorityClassName', 'runtimeClassName'] as const) {
    list.check([...path, name], spec[name], checkSubdomain);
  }
  // Empty is as good as absent.
  if (spec.serviceAccountName)
    list.check([...path, 'serviceAccountName'], spec.serviceAccountName, checkSubdomain);
  validatePriority(spec, list);
  for (const [index, alias] of entriesOf(spec.hostAliases)) {
    list.check([...path, 'hostAliases', index, 'ip'], alias.ip, checkIp);
    for (const [at, name] of entriesOf(alias.hostnames)) {
      list.check([...path, 'hostAliases', index, 'hostnames', at], name, checkSubdomain);
    }
  }
  validateDns(spec, list);
  validatePodSecurity(spec, path, list);
}

const MAX_OVERRIDE_LENGTH = 64;

function validateHostnameOverride(spec: Draft<PodSpec>, list: ProblemList): void {
  const path = ['spec', 'hostnameOverride'];
  const { hostnameOverride: name } = spec;
  if (name === undefined) return;
  list.check(path, name, checkSubdomain);
  const rule =
    name.length > MAX_OVERRIDE_LENGTH
      ? `must have at most ${MAX_OVERRIDE_LENGTH} characters`
      : spec.setHostnameAsFQDN === true
        ? 'leave it out where setHostnameAsFQDN is true'
        : spec.hostNetwork === true
          ? 'leave it out where hostNetwork is true: the pod has the name of the node'
          : undefined;
  if (rule !== undefined) list.add(invalid(path, name, rule));
}

function validatePriority({ priority, priorityClassName }: Draft<PodSpec>, list: ProblemList): void {
  const computed = priorityOfClass(priorityClassName);
  if (computed === undefined || priority === undefined || priority === computed) return;
  const rule = `must be ${computed}, as priorityClassName is ${priorityClassName}; leave it out`;
  list.add(invalid(['spec', 'priority'], priority, rule));
}

function validateDns({ dnsPolicy, dnsConfig }: Draft<PodSpec>, list: ProblemList): void {
  const path = ['spec', 'dnsConfig'];
  if (dnsPolicy === 'None' && (dnsConfig?.nameservers ?? []).length === 0) {
    list.add(required([...path, 'nameservers'], 'with dnsPolicy None there must be at least one'));
  }
  const { nameservers = [], searches = [], options }: Draft<PodDnsConfig> = dnsConfig ?? {};
  if (nameservers.length > MAX_NAMESERVERS) {
    list.add(invalid([...path, 'nameservers'], nameservers, `must have at most ${MAX_NAMESERVERS}`));
  }
  for (const [index, address] of entriesOf(nameservers)) {
    list.check([...path, 'nameservers', index], address, checkIp);
  }
  const place = [...path, 'searches'];
  if (searches.length > MAX_SEARCH_DOMAINS) {
    list.add(invalid(place, `${searches.length} domains`, `must have at most ${MAX_SEARCH_DOMAINS}`));
  }
  const { length } = searches.join(' ');
  if (length > MAX_SEARCH_CHARACTERS) {
    list.add(
      invalid(place, `${length} characters`, `must have at most ${MAX_SEARCH_CHARACTERS} with spaces`),
    );
  }
  for (const [index, domain] of entriesOf(searches)) {
    list.check([...place, index], domain, (text) =>
      text === '.' ? undefined : checkSearchDomain(text.replace(/\.$/, '')),
    );
  }
  for (const [index, { name, value }] of entriesOf(options)) {
    for (const [field, text] of Object.entries({ name, value })) {
      list.check([...path, 'options', index, field], text, (word) =>
        /\s/.test(word) ? 'must not contain space' : undefined,
      );
    }
  }
}
