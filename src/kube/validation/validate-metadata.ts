import { type Draft } from '../fields/draft.js';
import { type FieldPath } from '../fields/field-path.js';
import { invalid } from '../fields/field-problem.js';
import { checkLabel, checkQualifiedName, checkSubdomain, checkTime, checkUid } from './name-rules.js';
import { type ObjectMeta } from '../pod/pod.js';
import { type ProblemList } from './problem-list.js';
import { validateLabelMap } from './validate-scheduling.js';

interface Times {
  readonly creationTimestamp: string;
  readonly deletionTimestamp: string;
}

/** Kubernetes' limit for all annotations of an object together. */
const MAX_ANNOTATION_BYTES = 256 * 1024;

/** Validates names, labels and annotations. */
export function validateMetadata(meta: Draft<ObjectMeta>, path: FieldPath, list: ProblemList): void {
  const { name, namespace, uid, labels = {}, annotations = {} } = meta;
  list.check([...path, 'name'], name, checkSubdomain);
  list.check([...path, 'namespace'], namespace, checkLabel);
  list.check([...path, 'uid'], uid, checkUid);
  validateLabelMap(labels, [...path, 'labels'], list);
  for (const name of ['creationTimestamp', 'deletionTimestamp'] as const) {
    list.check([...path, name], (meta as Draft<Times>)[name], checkTime);
  }
  let bytes = 0;
  for (const [key, value = ''] of Object.entries(annotations)) {
    // As in Kubernetes, which has always accepted capitals in the domain of an annotation.
    const broken = checkQualifiedName(key.toLowerCase());
    if (broken !== undefined) list.add(invalid([...path, 'annotations', { key }], key, broken));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  if (bytes <= MAX_ANNOTATION_BYTES) return;
  list.add(
    invalid([...path, 'annotations'], `${bytes} bytes`, `must have at most ${MAX_ANNOTATION_BYTES} bytes`),
  );
}
