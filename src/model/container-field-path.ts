/** What an event about a container has in involvedObject.fieldPath; undefined for one about its pod. */
export function containerFieldPath(container: string | undefined): string | undefined {
  return container === undefined ? undefined : `spec.containers{${container}}`;
}
