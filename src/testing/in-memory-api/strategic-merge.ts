import { isRecord } from '#base/text/is-record.js';

/** By which key the items of a list are told apart, for lists that a strategic merge patch merges item by item. */
const MERGE_KEYS: Readonly<Record<string, string>> = {
  conditions: 'type',
  addresses: 'type',
  ownerReferences: 'uid',
  podIPs: 'ip',
  hostIPs: 'ip',
  imagePullSecrets: 'name',
  secrets: 'name',
};

/** `patch` laid over `target`, as RFC 7396 has it; null takes away. Neither is changed. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, false);
}

/**
 * `patch` laid over `target` as by an API server: lists of conditions and addresses are merged by their keys.
 *
 * Of the directives, `$patch: delete` of an item and `$patch: replace` of a list are known, and none of those for order.
 *
 * @see https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/
 */
export function strategicMergePatch(target: unknown, patch: unknown): unknown {
  return merge(target, patch, true);
}

function merge(target: unknown, patch: unknown, isStrategic: boolean): unknown {
  if (!isRecord(patch)) return patch;
  const merged = new Map<string, unknown>(isRecord(target) ? Object.entries(target) : []);
  for (const [key, value] of Object.entries(patch)) {
    if (isStrategic && key.startsWith('$')) continue;
    const mergeKey = MERGE_KEYS[key];
    if (value === null) merged.delete(key);
    else if (isStrategic && mergeKey !== undefined && Array.isArray(value)) {
      merged.set(key, mergeItems(merged.get(key), value, mergeKey));
    } else merged.set(key, merge(merged.get(key), value, isStrategic));
  }
  return Object.fromEntries(merged);
}

function mergeItems(target: unknown, patch: readonly unknown[], key: string): unknown[] {
  const isReplacement = (item: unknown): boolean => isRecord(item) && item['$patch'] === 'replace';
  if (patch.some(isReplacement)) return patch.filter((item) => !isReplacement(item));
  const items = Array.isArray(target) ? [...(target as unknown[])] : [];
  for (const item of patch) {
    if (!isRecord(item)) continue;
    const at = items.findIndex((each) => isRecord(each) && each[key] === item[key]);
    if (item['$patch'] === 'delete') {
      if (at >= 0) items.splice(at, 1);
    } else if (at >= 0) items[at] = merge(items[at], item, true);
    else items.push(merge({}, item, true));
  }
  return items;
}
