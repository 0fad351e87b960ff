import { type PodSpec } from '#kube/pod/pod.js';
import { initKindOf } from '#kube/container/restart-rule.js';

/**
 * In which order the containers of a pod are stopped: waves, each stopped at once and gone before the next. Pure.
 *
 * First all that are not sidecars, then the sidecars one by one, the last of the spec first: what others lean on goes
 * last. The pod's grace period is one for all waves.
 */
export function computeStopOrder<Item extends { readonly name: string }>(
  spec: Pick<PodSpec, 'initContainers'> | undefined,
  containers: readonly Item[],
): Item[][] {
  const sidecars = (spec?.initContainers ?? [])
    .filter((container) => initKindOf(container) === 'sidecar')
    .map(({ name }) => name)
    .toReversed();
  const named = (wanted: string): Item[] => containers.filter(({ name }) => name === wanted);
  const others = containers.filter(({ name }) => !sidecars.includes(name));
  return [others, ...sidecars.map(named)].filter((wave) => wave.length > 0);
}
