/** One step into an object: a field, an item of a list, or an entry of a map (a label, a resource). */
export type FieldStep = string | number | { readonly key: string };

/** The path from the top of the object to one value in it. */
export type FieldPath = readonly FieldStep[];

/**
 * Formats a path as Kubernetes does: `spec.containers[0].resources.limits[cpu]`; empty for the object itself.
 */
export function formatFieldPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (typeof step === 'object') text += `[${step.key}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** The keys and indexes of the value in the original object. */
export function toPlainPath(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === 'object' ? step.key : step));
}
