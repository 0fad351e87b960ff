import { type Container, type ResourceList, type ResourceRequirements } from '../container/container.js';
import { type Draft, entriesOf } from '../fields/draft.js';
import { type PodSpec } from '../pod/pod.js';
import { isPodLevelResource, sumContainers } from '../pod/pod-level-resources.js';
import { type FieldPath } from '../fields/field-path.js';
import { invalid, required, unsupportedValue } from '../fields/field-problem.js';
import { checkQualifiedName } from './name-rules.js';
import { type ProblemList } from './problem-list.js';
import { compareQuantities, findQuantity, formatQuantity, getQuantity } from '../fields/quantity.js';

const STANDARD = ['cpu', 'memory', 'ephemeral-storage'];
const HUGE_PAGES = 'hugepages-';
/** Nano units in a whole one. */
const BILLION = 1_000_000_000n;

/** Validates limits and requests. Amounts are quantities that could be read. */
export function validateResources(
  resources: Draft<ResourceRequirements>,
  path: FieldPath,
  list: ProblemList,
): void {
  const limits = validateAmounts(resources.limits, [...path, 'limits'], list);
  const requests = validateAmounts(resources.requests, [...path, 'requests'], list);
  for (const [key, request] of requests) {
    const limit = limits.get(key);
    const place: FieldPath = [...path, 'requests', { key }];
    if (!mayOvercommit(key)) {
      if (limit === undefined) {
        list.add(required([...path, 'limits', { key }], `${key} cannot be had without a limit`));
      } else if (compareQuantities(getQuantity(request), getQuantity(limit)) !== 0) {
        list.add(invalid(place, request, `must be the limit of ${key}, ${limit}`));
      }
    } else if (limit !== undefined && compareQuantities(getQuantity(request), getQuantity(limit)) > 0) {
      list.add(invalid(place, request, `must be at most the limit of ${key}, ${limit}`));
    }
  }
  refuseDevices(limits, [...path, 'limits'], list);
  const names = [...limits.keys(), ...requests.keys()];
  if (!names.some((name) => name.startsWith(HUGE_PAGES))) return;
  if (names.includes('cpu') || names.includes('memory')) return;
  list.add(required(path, 'huge pages need a limit or request of cpu or memory beside them'));
}

/** Validates the resources of a whole pod, by themselves and against those of its containers. */
export function validatePodResources(spec: Draft<PodSpec>, path: FieldPath, list: ProblemList): void {
  const { resources } = spec;
  if (resources === undefined) return;
  const place = [...path, 'resources'];
  validateResources(resources, place, list);
  for (const side of ['limits', 'requests'] as const) {
    for (const key of Object.keys(resources[side] ?? {}))
      if (!isPodLevelResource(key))
        list.add(unsupportedValue([...place, side, { key }], key, ['cpu', 'memory', `${HUGE_PAGES}2Mi`]));
  }
  const readable = (containers: Draft<PodSpec>['containers']) =>
    entriesOf(containers).map(([, { restartPolicy, resources: own }]) => {
      const amounts = (of: Draft<ResourceList> | undefined) =>
        Object.fromEntries(Object.entries(of ?? {}).filter(([, amount]) => amount !== undefined));
      const { limits, requests } = own ?? {};
      return { restartPolicy, resources: { limits: amounts(limits), requests: amounts(requests) } };
    }) as Container[];
  const containers = readable(spec.containers);
  const initContainers = readable(spec.initContainers);
  for (const [key, sum] of sumContainers({ containers, initContainers }, 'requests')) {
    const { limits, requests } = resources;
    const request = requests?.[key] ?? limits?.[key];
    if (request === undefined || compareQuantities(sum, getQuantity(request)) <= 0) continue;
    const side = requests?.[key] === undefined ? 'limits' : 'requests';
    const rule = `must be at least ${formatQuantity(sum)}, which the containers request together`;
    list.add(invalid([...place, side, { key }], request, rule));
  }
  for (const name of ['initContainers', 'containers'] as const) {
    readable(spec[name]).forEach(({ resources: own }, at) => {
      for (const [key, limit] of Object.entries(own?.limits ?? {})) {
        const whole = resources.limits?.[key];
        if (whole === undefined || compareQuantities(getQuantity(limit), getQuantity(whole)) <= 0) continue;
        const rule = `must be at most the limit of the pod, ${whole}`;
        list.add(invalid([...path, name, at, 'resources', 'limits', { key }], limit, rule));
      }
    });
  }
}

function validateAmounts(
  amounts: Draft<ResourceList> | undefined,
  path: FieldPath,
  list: ProblemList,
): Map<string, string> {
  const found = new Map<string, string>();
  for (const [key, amount] of Object.entries(amounts ?? {})) {
    if (amount === undefined) continue;
    found.set(key, amount);
    const place: FieldPath = [...path, { key }];
    validateName(key, place, list);
    const { nanos } = getQuantity(amount);
    if (nanos < 0n) list.add(invalid(place, amount, 'must not be negative'));
    else if (isWhole(key) && nanos % BILLION !== 0n) list.add(invalid(place, amount, 'must be whole'));
    else if (key.startsWith(HUGE_PAGES) && !isMultiple(key, nanos))
      list.add(invalid(place, amount, `must be a multiple of the page, as in ${HUGE_PAGES}2Mi: 4Mi`));
  }
  return found;
}

function validateName(name: string, path: FieldPath, list: ProblemList): void {
  const broken = checkQualifiedName(name);
  if (broken !== undefined) list.add(invalid(path, name, broken));
  else if (!name.includes('/') && !STANDARD.includes(name) && !name.startsWith(HUGE_PAGES))
    list.add(unsupportedValue(path, name, [...STANDARD, `${HUGE_PAGES}2Mi`]));
}

/** Rejects devices, as nothing here hands them out and the container would run without them. */
function refuseDevices(limits: ReadonlyMap<string, string>, path: FieldPath, list: ProblemList): void {
  for (const [key, amount] of limits) {
    if (!key.includes('/') || getQuantity(amount).nanos === 0n) continue;
    const message =
      'not supported; mount what the node has with hostPath; devices need a privileged container';
    list.add({ kind: 'refused', path: [...path, { key }], message });
  }
}

/** Whether a limit may exceed the request: for Kubernetes' own resources except huge pages. */
function mayOvercommit(name: string): boolean {
  return STANDARD.includes(name) || (name.includes('/') && name.includes('kubernetes.io/'));
}

/** Whether the resource is counted in whole pieces. */
function isWhole(name: string): boolean {
  return !mayOvercommit(name);
}

function isMultiple(name: string, nanos: bigint): boolean {
  const page = findQuantity(name.slice(HUGE_PAGES.length));
  if (page === undefined || page.nanos <= 0n || page.nanos % BILLION !== 0n) return false;
  return nanos % page.nanos === 0n;
}
