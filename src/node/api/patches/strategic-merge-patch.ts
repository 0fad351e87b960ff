/**
 * Kubernetes' own way to patch: as a merge patch, but lists whose items have a key are merged item by item.
 *
 * ```
 * {spec: {containers: [{name: web, image: web:2}]}}       the image of one container
 * {$patch: delete, name: web}                             in a list: without that item
 * {$patch: replace, …}                                    an object, or in a list all of it, instead of what there was
 * {$setElementOrder/containers: [{name: b}, {name: a}]}   the items in that order, what is not named behind them
 * {$retainKeys: [name, emptyDir], …}                      no other fields than these
 * ```
 *
 * In: a v1 object and a patch. Out: the patched object, which nobody has validated. Which lists have a key goes by their
 * names; only `ports` have another key in a Service than in a container, and each has only one of them.
 *
 * Source: https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
 *
 * @module
 */
import { isRecord } from '#base/text/is-record.js';
import { badRequest } from '../http/api-error.js';
import { type JsonObject } from './merge-patch.js';

const KEYS: Readonly<Record<string, string>> = {
  ...{
    containers: 'name',
    initContainers: 'name',
    ephemeralContainers: 'name',
    volumes: 'name',
    env: 'name',
  },
  ...{ imagePullSecrets: 'name', schedulingGates: 'name', resourceClaims: 'name', claims: 'name' },
  ...{ ports: 'containerPort', volumeMounts: 'mountPath', volumeDevices: 'devicePath', hostAliases: 'ip' },
  ...{ topologySpreadConstraints: 'topologyKey', ownerReferences: 'uid' },
};
const ORDER = '$setElementOrder/';
const REMOVED = '$deleteFromPrimitiveList/';

/** See the module. Pure; throws an ApiError for an unknown directive. */
export function strategicMergePatch(object: unknown, patch: JsonObject): JsonObject {
  const how = patch['$patch'] ?? 'merge';
  if (how !== 'merge' && how !== 'replace' && how !== 'delete') throw unknown('$patch', how);
  if (how === 'delete') return {};
  const before = how === 'merge' && isRecord(object) ? object : {};
  // A map, as a field may have any name.
  const merged = new Map(Object.entries(before));
  const fields = Object.entries(patch);
  for (const [key, value] of fields) {
    if (key.startsWith('$')) continue;
    if (value === null) merged.delete(key);
    else merged.set(key, mergeField(merged.get(key), value, key));
  }
  for (const [key, value] of fields) if (key.startsWith('$')) direct(merged, key, value);
  return Object.fromEntries(merged);
}

function mergeField(before: unknown, value: unknown, name: string): unknown {
  if (isRecord(value)) return strategicMergePatch(before, value);
  if (!Array.isArray(value)) return value;
  const key = keyOfItems(name, value);
  if (key === undefined) return value;
  return mergeItems(Array.isArray(before) ? before : [], value, key);
}

/** The field by which the items of a list are merged; undefined for a list that is replaced as a whole. */
function keyOfItems(name: string, items: readonly unknown[]): string | undefined {
  if (!Object.hasOwn(KEYS, name)) return undefined;
  const isOfService = name === 'ports' && items.some((each) => isRecord(each) && Object.hasOwn(each, 'port'));
  return isOfService ? 'port' : KEYS[name];
}

function mergeItems(before: readonly unknown[], patches: readonly unknown[], key: string): unknown[] {
  const isReplaced = patches.some((each) => isRecord(each) && each['$patch'] === 'replace');
  const items: unknown[] = isReplaced ? [] : [...before];
  for (const patch of patches) {
    if (!isRecord(patch)) throw badRequest(`an item of a list that is merged by ${key} must be an object`);
    // Alone, it only means that the whole list is new.
    if (patch['$patch'] === 'replace' && patch[key] === undefined) continue;
    if (patch[key] === undefined)
      throw badRequest(`map: ${JSON.stringify(key)} is missing in an item of a list`);
    const at = items.findIndex((item) => isRecord(item) && item[key] === patch[key]);
    if (patch['$patch'] === 'delete') {
      if (at >= 0) items.splice(at, 1);
    } else if (at >= 0) items[at] = strategicMergePatch(items[at], patch);
    else items.push(strategicMergePatch(undefined, patch));
  }
  return items;
}

function direct(merged: Map<string, unknown>, directive: string, value: unknown): void {
  if (directive === '$patch') return;
  if (!Array.isArray(value)) throw unknown(directive, value);
  if (directive === '$retainKeys') {
    for (const key of merged.keys()) if (!value.includes(key)) merged.delete(key);
  } else if (directive.startsWith(ORDER)) {
    const name = directive.slice(ORDER.length);
    const items = merged.get(name);
    if (Array.isArray(items)) merged.set(name, inOrder(items, value, keyOfItems(name, value)));
  } else if (directive.startsWith(REMOVED)) {
    const name = directive.slice(REMOVED.length);
    const items = merged.get(name);
    if (Array.isArray(items))
      merged.set(
        name,
        items.filter((item) => !value.includes(item)),
      );
  } else throw unknown(directive, value);
}

/** Items that the order does not name follow at the end. */
function inOrder(items: readonly unknown[], order: readonly unknown[], key: string | undefined): unknown[] {
  const keyOf = (item: unknown): unknown => (key !== undefined && isRecord(item) ? item[key] : item);
  const places = new Map(order.map((item, index) => [keyOf(item), index]));
  const placeOf = (item: unknown): number => places.get(keyOf(item)) ?? places.size;
  return [...items].sort((one, other) => placeOf(one) - placeOf(other));
}

function unknown(directive: string, value: unknown): Error {
  return badRequest(`unknown patch directive ${directive}: ${JSON.stringify(value)}`);
}
