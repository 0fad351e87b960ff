import { type NodePod } from '#kube/pod/node-pod.js';
import { FOREIGN_VOLUME_SOURCES, type Volume } from '#kube/pod/volume.js';

/** Which field of a volume says what it is: exactly one is set. */
export type VolumeSource = Exclude<keyof Volume, 'name'>;

type ForeignSource = (typeof FOREIGN_VOLUME_SOURCES)[number];

/** One volume of one pod. */
export interface PodVolume {
  readonly pod: NodePod;
  readonly volume: Volume;
  /**
   * The volume's own folder, as a kubelet's: `ROOT/pods/<uid>/volumes/<folder name of the kind>/<volume>`. The one above
   * it is there, for the agent alone; this one is the kind's to make.
   */
  readonly folder: string;
  /** Something of the pod runs already, whoever started it, so that its volumes were set up before. It does not unless told. */
  readonly isRunning?: boolean;
}

/**
 * A kind of volume: emptyDir, configMap and so on. It owns no volume and remembers none for longer than it has to: what
 * is on the disk and what is mounted say how far an earlier agent came, wherever that was killed.
 *
 * Taking a volume away is the same for every kind, also for those that nobody remembers: what the agent mounted at its
 * folder is unmounted, and the folder removed. So a kind mounts nothing but at {@link PodVolume.folder}, through a
 * {@link Mounter}, and puts nothing anywhere else but in {@link ClaimMarks}, which go with the volumes.
 */
export interface VolumeKind {
  /** That of the folder that its volumes are in: `kubernetes.io~empty-dir`. Undefined: it keeps nothing for a pod. */
  readonly folderName: string | undefined;
  /**
   * Makes what is missing and brings up to date what is there; called for every sync of the pod, before anything of it
   * starts, and never twice at once for one pod. It is to be cheap where there is nothing to do.
   *
   * Rejects with an error whose message says in the kubelet's words why the volume cannot be had now (`configmap "x" not
   * found`). For a volume that {@link isReady} this fails nothing: it stays as it is, and the pod's events tell of it.
   */
  setUp(work: PodVolume, signal: AbortSignal): Promise<void>;
  /** Whether {@link setUp} went through once, perhaps under an earlier agent, so that containers can use what is there. */
  isReady(work: PodVolume): Promise<boolean>;
  /** Where on the node it is that containers see: most often the folder itself. Pure. */
  hostPathOf(work: PodVolume): string;
  /** Nothing changes it from inside of a container: it is mounted read-only whatever the mount says. */
  readonly isReadOnly?: boolean;
  /** The pod's volumes are gone: nothing has to be remembered of them. */
  forget?(podUid: string): void;
}

const SOURCES = Object.keys({
  emptyDir: true,
  hostPath: true,
  configMap: true,
  secret: true,
  downwardAPI: true,
  projected: true,
  persistentVolumeClaim: true,
  ephemeral: true,
  ...(Object.fromEntries(FOREIGN_VOLUME_SOURCES.map((source) => [source, true])) as Record<
    ForeignSource,
    true
  >),
} satisfies Record<VolumeSource, true>) as VolumeSource[];

/** Every kind, by the field that names it. */
export type VolumeKinds = Readonly<Partial<Record<VolumeSource, VolumeKind>>>;

/** The source that a volume has; an emptyDir when it says none. */
export function sourceOf(volume: Volume): VolumeSource {
  return SOURCES.find((source) => volume[source] !== undefined) ?? 'emptyDir';
}
