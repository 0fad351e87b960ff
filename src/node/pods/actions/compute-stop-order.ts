import { type PodSpec } from '#kube/pod/pod.js';
import { initKindOf } from '#kube/container/restart-rule.js';

/**
 * The order in which to stop the containers of a pod: waves, each stopped in parallel and gone before the
 * next. Pure.
 *
 * First all regular containers, then the sidecars one by one, the last of the spec first, as others depend on
 * them. All waves share the pod's grace period.
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
