/**
 * What is sent to make one Node out of another: a strategic merge patch of its status, its labels and annotations.
 *
 * Of the lists in a status, `conditions` is merged by type and `addresses` should not be merged at all, though the API
 * server would: they are sent whole, with the directive to replace. All other lists are replaced.
 *
 * Source: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/,
 * https://github.com/kubernetes/community/blob/master/contributors/devel/sig-api-machinery/strategic-merge-patch.md
 *
 * @module
 */
import { isDeepStrictEqual } from 'node:util';
import { compareQuantities, findQuantity } from '#kube/fields/quantity.js';
import { type NodeCondition, type NodeObject, type NodeStatus } from './node-object.js';

/** What differs between two Nodes. */
export interface NodePatch {
  /** The body of a PATCH; undefined when nothing at all differs. */
  readonly body: Readonly<Record<string, unknown>> | undefined;
  /** Whether more differs than the time of the last report of the conditions. */
  readonly isChange: boolean;
}

type Fields = Readonly<Record<string, unknown>>;

/** Compares what a node sets of its Node. Pure. */
export function diffNodes(before: NodeObject, after: NodeObject): NodePatch {
  const metadata = omitEmpty({
    labels: diffMap(before.metadata.labels, after.metadata.labels),
    annotations: diffMap(before.metadata.annotations, after.metadata.annotations),
  });
  const status = diffStatus(before.status, after.status);
  const conditions = diffConditions(before.status.conditions, after.status.conditions);
  const body = omitEmpty({ metadata, status: omitEmpty({ ...status, ...conditions.fields }) });
  const isChange =
    metadata !== undefined || omitEmpty(withoutNewFields(status)) !== undefined || conditions.isChange;
  return { body, isChange };
}

function diffStatus(before: NodeStatus, after: NodeStatus): Fields {
  const lists = (['images', 'runtimeHandlers', 'declaredFeatures', 'volumesInUse'] as const).flatMap(
    (name) => {
      const next = after[name];
      if (isDeepStrictEqual(before[name] ?? [], next ?? [])) return [];
      return [[name, next ?? null]];
    },
  );
  const maps = (['nodeInfo', 'features', 'daemonEndpoints'] as const).map((name) => [
    name,
    diffMap((before[name] ?? {}) as Fields, (after[name] ?? {}) as Fields),
  ]);
  return {
    ...Object.fromEntries(
      [...lists, ...maps].filter(([, value]) => value !== undefined) as [string, unknown][],
    ),
    ...omitEmpty({
      capacity: diffMap(before.capacity, after.capacity, isSameAmount),
      allocatable: diffMap(before.allocatable, after.allocatable, isSameAmount),
    }),
    ...(isDeepStrictEqual(before.addresses, after.addresses)
      ? {}
      : { addresses: [...after.addresses, { $patch: 'replace' }] }),
  };
}

/**
 * What of a status is worth a request of its own. An API server older than v1.37 drops `runningInUserNamespace` each time:
 * alone it goes along with the next report.
 */
function withoutNewFields({ nodeInfo, ...others }: Fields): Fields {
  if (nodeInfo === undefined) return others;
  const { runningInUserNamespace: _, ...known } = nodeInfo as Fields;
  return { ...others, nodeInfo: omitEmpty(known) };
}

function diffConditions(
  before: readonly NodeCondition[],
  after: readonly NodeCondition[],
): { readonly fields: Fields; readonly isChange: boolean } {
  const changed = after.filter((next) => {
    return !isDeepStrictEqual(
      before.find(({ type }) => type === next.type),
      next,
    );
  });
  if (changed.length === 0) return { fields: {}, isChange: false };
  const isChange = changed.some((next) => {
    const previous = before.find(({ type }) => type === next.type);
    return !isDeepStrictEqual(withoutHeartbeat(previous), withoutHeartbeat(next));
  });
  const order = after.map(({ type }) => ({ type }));
  return { fields: { '$setElementOrder/conditions': order, conditions: changed }, isChange };
}

function withoutHeartbeat(condition: NodeCondition | undefined): unknown {
  return condition && { ...condition, lastHeartbeatTime: undefined };
}

/** Keys that are new or have another value, and null for those that are gone; undefined when there are none. */
function diffMap(
  before: Fields,
  after: Fields,
  isSame: (one: unknown, other: unknown) => boolean = isDeepStrictEqual,
): Fields | undefined {
  const changed = Object.entries(after).filter(([key, value]) => !isSame(before[key], value));
  const gone = Object.keys(before).filter((key) => !(key in after));
  if (changed.length + gone.length === 0) return undefined;
  return { ...Object.fromEntries(changed), ...Object.fromEntries(gone.map((key) => [key, null])) };
}

/** However they are written: `1Gi` is `1024Mi`. */
function isSameAmount(one: unknown, other: unknown): boolean {
  if (typeof one !== 'string' || typeof other !== 'string') return one === other;
  const [first, second] = [findQuantity(one), findQuantity(other)];
  if (first === undefined || second === undefined) return one === other;
  return compareQuantities(first, second) === 0;
}

function omitEmpty(fields: Fields): Fields | undefined {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  return entries.length === 0 ? undefined : Object.fromEntries(entries);
}
