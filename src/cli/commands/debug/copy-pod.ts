import { type ContainerObject, type KubeObject, type PodObject } from '#kube/columns/kube-object.js';
import { failure } from '../../command-failure.js';
import { toManifestForm, withoutDebugContainers } from '../../shared/print/manifest-form.js';

type Fields = Readonly<Record<string, unknown>>;

/** What of a container is replaced or, in a container of its own, added. */
export interface DebugContainer extends ContainerObject {
  readonly name: string;
}

/** How a copy differs from its pod. */
export interface CopyRequest {
  /** The name of the copy. */
  readonly name: string;
  /** Changes the container of that name; without one, and with an image, it is a container more. */
  readonly container: DebugContainer;
  readonly sharesProcesses: boolean;
  /** By the names of containers; `*` is for all the others. */
  readonly images: Readonly<Record<string, string>>;
}

/** Would end or hide what somebody wants to see. */
const PROBES = ['livenessProbe', 'readinessProbe', 'startupProbe'];

/**
 * A copy of a pod for debugging, as a manifest, and which of its containers to attach to; undefined if it only has other images.
 *
 * As kubectl does it, the copy has no labels, so that no Service leads to it, and no probes. It has no ports of the node
 * either: the pod has them. Throws a CommandFailure when there is nothing to run. Pure.
 */
export function copyPod(
  pod: PodObject,
  { name, container, sharesProcesses, images }: CopyRequest,
): { readonly copy: KubeObject; readonly container: string | undefined } {
  const { metadata = {}, ...rest } = withoutDebugContainers(toManifestForm(pod));
  const { labels: _labels, ...meta } = metadata;
  const { nodeName: _node, containers, initContainers, ...spec } = (rest as PodObject).spec ?? {};
  const own = (containers ?? []).map((each) => withImage(toCopied(each as Fields), images));
  const isThere = own.some((each) => each['name'] === container.name);
  const isNew = !isThere && container.image !== undefined;
  if (!isThere && !isNew && Object.keys(images).length === 0)
    throw failure('you must specify an existing container or a new image when creating a copy');
  const changed = own.map((each) => (each['name'] === container.name ? merge(each, { ...container }) : each));
  return {
    copy: {
      ...{ ...rest, apiVersion: 'v1', kind: 'Pod' },
      metadata: { ...meta, name },
      spec: {
        ...spec,
        ...(sharesProcesses ? { shareProcessNamespace: true } : {}),
        ...(initContainers === undefined
          ? {}
          : { initContainers: initContainers.map((each) => toCopied(each as Fields)) }),
        containers: isNew ? [...changed, container] : changed,
      },
    } as KubeObject,
    container: isThere || isNew ? container.name : undefined,
  };
}

function toCopied(container: Fields): Fields {
  const { ports, ...rest } = Object.fromEntries(
    Object.entries(container).filter(([key]) => !PROBES.includes(key)),
  );
  if (!Array.isArray(ports)) return rest;
  const left = ports.filter((each: Fields) => each['hostPort'] === undefined);
  return left.length === 0 ? rest : { ...rest, ports: left };
}

function withImage(container: Fields, images: Readonly<Record<string, string>>): Fields {
  const image = images[String(container['name'])] ?? images['*'];
  return image === undefined ? container : { ...container, image };
}

/** What it may do stays as it is. */
function merge(container: Fields, { command, env = [], securityContext: _, ...more }: Fields): Fields {
  const { args, env: before = [], ...rest } = container;
  const all = [...(before as readonly unknown[]), ...(env as readonly unknown[])];
  return {
    ...rest,
    // Arguments belong to the command that is replaced.
    ...(command === undefined ? (args === undefined ? {} : { args }) : { command }),
    ...more,
    ...(all.length === 0 ? {} : { env: all }),
  };
}
