import { type FieldType } from '#kube/fields/field-facts.js';
import { POD_TABLES } from '#kube/pod/pod-fields.js';
import { findQuantity, formatQuantity } from '#kube/fields/quantity.js';

type Fields = Readonly<Record<string, unknown>>;

/** Kubernetes writes them, and nothing here reads them. */
const SERVER_FIELDS = ['creationTimestamp', 'generation', 'uid'];

const GATED = ['stopSignal', 'procMount'];

/** Where a pod with podloop's defaults says something else than the same with those of Kubernetes. */
export function compareDefaults(ours: object, theirs: object): string[] {
  const found: string[] = [];
  compare(ours, theirs, { kind: 'object', name: 'Pod' }, '', found);
  return found;
}

function compare(ours: unknown, theirs: unknown, type: FieldType, path: string, found: string[]): void {
  if (type.kind === 'object') {
    compareObjects((ours ?? {}) as Fields, (theirs ?? {}) as Fields, type.name, path, found);
  } else if (type.kind === 'list') {
    const [one, other] = [(ours ?? []) as unknown[], (theirs ?? []) as unknown[]];
    if (one.length !== other.length) found.push(`${path}: ${one.length} items, not ${other.length}`);
    else for (const [at, item] of one.entries()) compare(item, other[at], type.of, `${path}[${at}]`, found);
  } else if (type.kind === 'map') {
    const [one, other] = [(ours ?? {}) as Fields, (theirs ?? {}) as Fields];
    for (const key of new Set([...Object.keys(one), ...Object.keys(other)])) {
      compare(one[key], other[key], type.of, `${path}[${key}]`, found);
    }
  } else if (type.kind !== 'any') {
    const [one, other] = [plain(ours, type), plain(theirs, type)];
    if (one !== other) found.push(`${path}: ${JSON.stringify(ours)}, not ${JSON.stringify(theirs)}`);
  }
}

function compareObjects(ours: Fields, theirs: Fields, name: string, path: string, found: string[]): void {
  for (const [field, facts] of Object.entries(POD_TABLES[name]!)) {
    const place = path === '' ? field : `${path}.${field}`;
    if (facts.support !== 'supported' || SERVER_FIELDS.includes(field)) continue;
    // Of a class: an admission plugin sets it in a cluster.
    if (field === 'priority' && theirs[field] === undefined) continue;
    // Behind a feature gate that is off in Kubernetes, and dropped there.
    if (GATED.includes(field) && theirs[field] === undefined) continue;
    // References without a name refer to nothing, and are left out here.
    const isNamed = (item: unknown): boolean =>
      field !== 'imagePullSecrets' || Object.keys(item as object).length > 0;
    const other = Array.isArray(theirs[field]) ? theirs[field].filter(isNamed) : theirs[field];
    compare(ours[field], other, facts.type, place, found);
  }
}

/** Nothing, 0, false and empty text are the same to Go, but where a field is a pointer; that is looked at where it matters. */
function plain(value: unknown, type: FieldType): unknown {
  if (type.kind === 'quantity') {
    const quantity = findQuantity(typeof value === 'string' ? value : '0');
    return quantity === undefined ? value : formatQuantity(quantity);
  }
  return value === undefined || value === 0 || value === '' || value === false ? null : value;
}
