/** One step into an object: a field, an item of a list, or an entry of a map (a label, a resource). */
export type FieldStep = string | number | { readonly key: string };

/** From the top of the object to one value in it. */
export type FieldPath = readonly FieldStep[];

/** As Kubernetes writes it: `spec.containers[0].resources.limits[cpu]`; empty for the object itself. */
export function formatFieldPath(path: FieldPath): string {
  let text = '';
  for (const step of path) {
    if (typeof step === 'number') text += `[${step}]`;
    else if (typeof step === 'object') text += `[${step.key}]`;
    else text += text === '' ? step : `.${step}`;
  }
  return text;
}

/** The names and numbers to look the value up by in the object as it was written. */
export function toPlainPath(path: FieldPath): (string | number)[] {
  return path.map((step) => (typeof step === 'object' ? step.key : step));
}
