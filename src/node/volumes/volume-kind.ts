import { type NodePod } from '#kube/pod/node-pod.js';
import { type OpenedPlace } from '#base/fs/open-below.js';
import { FOREIGN_VOLUME_SOURCES, type Volume } from '#kube/pod/volume.js';

/** The field of a volume that names its kind: exactly one is set. */
export type VolumeSource = Exclude<keyof Volume, 'name'>;

type ForeignSource = (typeof FOREIGN_VOLUME_SOURCES)[number];

/** One volume of one pod. */
export interface PodVolume {
  readonly pod: NodePod;
  readonly volume: Volume;
  /**
   * The volume's own folder, as a kubelet's: `ROOT/pods/<uid>/volumes/<folder name of the kind>/<volume>`.
   *
   * Its parent exists and belongs only to the agent; the kind creates the folder itself.
   */
  readonly folder: string;
  /**
   * Something of the pod runs already, whoever started it, so its volumes were set up before (default:
   * false).
   */
  readonly isRunning?: boolean;
}

/**
 * A kind of volume: emptyDir, configMap and so on.
 *
 * It owns no volume and remembers none longer than necessary: the disk and the mounts show how far an earlier
 * agent got, wherever it was killed.
 *
 * Removal is the same for every kind, and works for volumes that nobody remembers: the agent's mount at its
 * folder is unmounted, and the folder removed. So a kind mounts only at {@link PodVolume.folder}, through a
 * {@link Mounter}, and creates nothing elsewhere except in {@link ClaimMarks}, which go with the volumes.
 */
export interface VolumeKind {
  /** The name of its volumes' folder: `kubernetes.io~empty-dir`. Undefined: it stores nothing for a pod. */
  readonly folderName: string | undefined;
  /**
   * Creates what is missing and updates what exists. Has to be cheap if there is nothing to do.
   *
   * Called for every sync of the pod, before anything of it starts, and never twice at a time for one pod.
   * Rejects with an error whose message says in the kubelet's words why the volume is not available now
   * (`configmap "x" not found`). If the volume {@link isReady}, nothing fails: it stays as it is, and the
   * pod's events report the error.
   */
  setUp(work: PodVolume, signal: AbortSignal): Promise<void>;
  /**
   * Whether {@link setUp} succeeded once, perhaps under an earlier agent, so that containers can use what
   * exists.
   */
  isReady(work: PodVolume): Promise<boolean>;
  /** The path on the node that containers see: usually the folder itself. Pure. */
  hostPathOf(work: PodVolume): string;
  /**
   * Opens the volume where containers could swap the way to {@link hostPathOf}; the caller closes it. What is
   * opened is then mounted where only the agent can change the way to it. Undefined: nobody can swap it.
   */
  readonly open?: ((work: PodVolume) => Promise<OpenedPlace>) | undefined;
  /** Containers must not change it: it is mounted read-only whatever the mount says. */
  readonly isReadOnly?: boolean;
  /** The pod's volumes are gone: forgets their state. */
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
  image: true,
  ephemeral: true,
  ...(Object.fromEntries(FOREIGN_VOLUME_SOURCES.map((source) => [source, true])) as Record<
    ForeignSource,
    true
  >),
} satisfies Record<VolumeSource, true>) as VolumeSource[];

/** Every kind, by the field that names it. */
export type VolumeKinds = Readonly<Partial<Record<VolumeSource, VolumeKind>>>;

/** The source of a volume; an emptyDir when it names none. */
export function sourceOf(volume: Volume): VolumeSource {
  return SOURCES.find((source) => volume[source] !== undefined) ?? 'emptyDir';
}
