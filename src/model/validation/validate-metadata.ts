import { type Draft } from '../draft.js';
import { type FieldPath } from '../field-path.js';
import { invalid } from '../field-problem.js';
import { checkLabel, checkLabelValue, checkQualifiedName, checkSubdomain, checkUid } from './name-rules.js';
import { type ObjectMeta } from '../pod.js';
import { type ProblemList } from './problem-list.js';

/** Kubernetes' bound for all annotations of an object together. */
const MOST_ANNOTATION_BYTES = 256 * 1024;

/** Holds names, labels and annotations against Kubernetes' rules. */
export function validateMetadata(meta: Draft<ObjectMeta>, path: FieldPath, list: ProblemList): void {
  const { name, namespace, uid, labels = {}, annotations = {} } = meta;
  list.check([...path, 'name'], name, checkSubdomain);
  list.check([...path, 'namespace'], namespace, checkLabel);
  list.check([...path, 'uid'], uid, checkUid);
  validateLabels(labels, [...path, 'labels'], list);
  let bytes = 0;
  for (const [key, value = ''] of Object.entries(annotations)) {
    // As in Kubernetes: capitals in the domain of an annotation have been accepted for ever.
    const broken = checkQualifiedName(key.toLowerCase());
    if (broken !== undefined) list.add(invalid([...path, 'annotations', { key }], key, broken));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes <= MOST_ANNOTATION_BYTES) return;
  list.add(
    invalid([...path, 'annotations'], `${bytes} bytes`, `must have at most ${MOST_ANNOTATION_BYTES} bytes`),
  );
}

function validateLabels(
  labels: Readonly<Record<string, string | undefined>>,
  path: FieldPath,
  list: ProblemList,
): void {
  for (const [key, value] of Object.entries(labels)) {
    const broken = checkQualifiedName(key);
    if (broken !== undefined) list.add(invalid([...path, { key }], key, broken));
    list.check([...path, { key }], value, checkLabelValue);
  }
}
