import { type PlegReport } from '#kube/node/pleg-report.js';

/**
 * Which of these pods the report of a generator says to hang; the page is its JSON. That it names them elsewhere, as slow ones or
 * with their calls, says nothing.
 */
export function findHung(page: string, podNames: readonly string[]): string[] {
  const { stuckPods } = JSON.parse(page) as Pick<PlegReport, 'stuckPods'>;
  const hung = new Set(stuckPods.filter(({ state }) => state === 'hung').map(({ pod }) => pod.name));
  return podNames.filter((name) => hung.has(name));
}
