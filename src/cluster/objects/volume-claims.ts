import { type NodePod } from '#kube/pod/node-pod.js';
import { type Volume } from '#kube/pod/volume.js';
import { messageOf, PodloopError } from '#base/errors/errors.js';
import { type KubeClient } from '../client/kube-client.js';
import { type ApiNode } from '../node/api-node.js';
import { matchesNodeSelector, type NodeSelectorTerm } from '../node/match-node-selector.js';

/** What {@link VolumeClaims} works with. */
export interface VolumeClaimsOptions {
  readonly client: Pick<KubeClient, 'request'>;
  /** The node, with its labels as of now. */
  readonly node: () => ApiNode;
}

/** Where on this node a claimed volume is. */
export interface ClaimedVolume {
  /** That of the PersistentVolume. */
  readonly name: string;
  readonly kind: 'local' | 'hostPath';
  readonly path: string;
  /** Of a hostPath: what has to be there; empty: no check. */
  readonly type: string;
  readonly isReadOnly: boolean;
}

/** As much of a v1 PersistentVolumeClaim as is read. */
interface KubeClaim {
  readonly metadata?: {
    readonly uid?: unknown;
    readonly deletionTimestamp?: unknown;
    readonly ownerReferences?: unknown;
  };
  readonly spec?: { readonly volumeName?: unknown; readonly volumeMode?: unknown };
  readonly status?: { readonly phase?: unknown };
}

/** As much of a v1 PersistentVolume as is read. */
interface KubeVolume {
  readonly spec?: Readonly<Record<string, unknown>> & {
    readonly claimRef?: { readonly uid?: unknown };
    readonly local?: { readonly path?: unknown };
    readonly hostPath?: { readonly path?: unknown; readonly type?: unknown };
    readonly accessModes?: unknown;
    readonly nodeAffinity?: {
      readonly required?: { readonly nodeSelectorTerms?: readonly NodeSelectorTerm[] };
    };
  };
}

/** Fields of a PersistentVolume's spec that say nothing of where it is. */
const NO_SOURCES: ReadonlySet<string> = new Set([
  ...['capacity', 'accessModes', 'claimRef', 'persistentVolumeReclaimPolicy', 'storageClassName'],
  ...['mountOptions', 'volumeMode', 'nodeAffinity', 'volumeAttributesClassName'],
]);

/**
 * Finds the persistent volumes of pods: those that lie on the node already.
 *
 * @see https://kubernetes.io/docs/concepts/storage/persistent-volumes/
 */
export class VolumeClaims {
  readonly #client: Pick<KubeClient, 'request'>;
  readonly #node: () => ApiNode;

  constructor({ client, node }: VolumeClaimsOptions) {
    this.#client = client;
    this.#node = node;
  }

  /**
   * What the volume of the pod has claimed. Rejects with an Error that says why it cannot be had: there is no claim, or it is
   * not bound, or lies on another node; and with VOLUME_UNSUPPORTED when it is bound to what no pod gets here.
   */
  async get(pod: NodePod, volume: Volume, signal: AbortSignal): Promise<ClaimedVolume> {
    const { namespace } = pod.metadata;
    const claimName = volume.persistentVolumeClaim?.claimName ?? `${pod.metadata.name}-${volume.name}`;
    const words = `${namespace}/${claimName}`;
    const claim = await this.#get<KubeClaim>(
      `/api/v1/namespaces/${encodeURIComponent(namespace)}/persistentvolumeclaims/${encodeURIComponent(claimName)}`,
      `error fetching PVC ${words}`,
      signal,
    );
    if (volume.ephemeral !== undefined && !isOwnedBy(claim, pod)) {
      throw new Error(`PVC ${words} was not created for pod ${namespace}/${pod.metadata.name}`);
    }
    const { volumeName, volumeMode } = claim?.spec ?? {};
    if (claim?.status?.phase !== 'Bound' || typeof volumeName !== 'string' || volumeName === '') {
      throw new Error(`PVC ${words} is not bound`);
    }
    if (claim.metadata?.deletionTimestamp !== undefined) throw new Error('PVC is being deleted');
    if (volumeMode === 'Block') {
      const message = `PVC ${words} is a block device, which is not supported by podloop`;
      throw new PodloopError('VOLUME_UNSUPPORTED', message);
    }
    const path = `/api/v1/persistentvolumes/${encodeURIComponent(volumeName)}`;
    const found = await this.#get<KubeVolume>(path, `failed to fetch PV ${volumeName}`, signal);
    if (found === undefined || found.spec?.claimRef?.uid !== claim.metadata?.uid) {
      throw new Error(`PV ${volumeName} is bound to another claim than PVC ${words}`);
    }
    const claimed = toClaimed(volumeName, found, volume.persistentVolumeClaim?.readOnly === true);
    // Who names the node in the pod's spec passes the scheduler by, which would have seen to that.
    if (!isOfNode(found, this.#node())) {
      // The kubelet's words.
      throw new Error(
        `MountVolume.NodeAffinity check failed for volume "${volumeName}" : no matching NodeSelectorTerms`,
      );
    }
    return claimed;
  }

  async #get<T>(path: string, words: string, signal: AbortSignal): Promise<T | undefined> {
    try {
      return await this.#client.request<T | undefined>({ method: 'GET', path, signal });
    } catch (error) {
      signal.throwIfAborted();
      throw new Error(`${words}: ${messageOf(error)}`, { cause: error });
    }
  }
}

function toClaimed(name: string, { spec = {} }: KubeVolume, isReadOnly: boolean): ClaimedVolume {
  const { local, hostPath } = spec;
  for (const [kind, source] of Object.entries({ local, hostPath })) {
    if (typeof source?.path !== 'string') continue;
    const type = kind === 'hostPath' && typeof hostPath?.type === 'string' ? hostPath.type : '';
    return { name, kind: kind as 'local' | 'hostPath', path: source.path, type, isReadOnly };
  }
  const sources = Object.keys(spec).filter((field) => !NO_SOURCES.has(field));
  throw new PodloopError(
    'VOLUME_UNSUPPORTED',
    `PV ${name} is of the kind ${sources[0] ?? 'unknown'}, which is not supported by podloop: only local and hostPath are`,
  );
}

function isOfNode({ spec = {} }: KubeVolume, node: ApiNode): boolean {
  const required = spec.nodeAffinity?.required;
  if (required === undefined) return true;
  const nodeAffinity = { requiredDuringSchedulingIgnoredDuringExecution: required };
  return matchesNodeSelector({ affinity: { nodeAffinity } }, node);
}

function isOwnedBy(claim: KubeClaim | undefined, pod: NodePod): boolean {
  const owners = claim?.metadata?.ownerReferences;
  return (
    Array.isArray(owners) &&
    owners.some((owner: { readonly uid?: unknown } | null) => owner?.uid === pod.metadata.uid)
  );
}
