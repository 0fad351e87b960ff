/**
 * A v1 Pod as a kubelet's /pods or podloop's agent serves it, as far as the doctor reads it. Every field may be absent:
 * who serves it may be of another version.
 */
export interface PodObject {
  readonly metadata?: {
    readonly uid?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly deletionTimestamp?: string;
    readonly deletionGracePeriodSeconds?: number;
    readonly creationTimestamp?: string;
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly volumes?: readonly VolumeObject[];
    readonly initContainers?: readonly ContainerObject[];
    readonly containers?: readonly ContainerObject[];
    readonly schedulingGates?: readonly { readonly name?: string }[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly startTime?: string;
    readonly conditions?: readonly { readonly type?: string; readonly reason?: string }[];
    readonly initContainerStatuses?: readonly StatusObject[];
    readonly containerStatuses?: readonly StatusObject[];
  };
}

/** A volume: its name, and its kind as the name of the other field. */
export type VolumeObject = { readonly name?: string } & Readonly<Record<string, unknown>>;

/** A container that is wanted. */
export interface ContainerObject {
  readonly name?: string;
  readonly image?: string;
  /** `Always` of an init container that goes on running. */
  readonly restartPolicy?: string;
  readonly livenessProbe?: { readonly periodSeconds?: number; readonly failureThreshold?: number };
}

/** The status of a container. */
export interface StatusObject {
  readonly name?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: StateObject;
  readonly lastState?: StateObject;
}

/** The state of a container: one of the three. */
export interface StateObject {
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly running?: { readonly startedAt?: string };
  readonly terminated?: EndObject;
}

/** How a container ended. */
export interface EndObject {
  readonly exitCode?: number;
  readonly reason?: string;
  readonly message?: string;
  readonly finishedAt?: string;
}

/** An event about a pod, as podloop's agent serves it. */
export interface EventObject {
  readonly type?: string;
  readonly reason?: string;
  readonly message?: string;
  /** `spec.containers{app}` where the event is about one container. */
  readonly involvedObject?: { readonly fieldPath?: string };
  readonly count?: number;
  readonly firstTimestamp?: string | null;
  readonly lastTimestamp?: string | null;
  readonly eventTime?: string | null;
}

/** The pods of a v1 PodList; empty when it is none. */
export function podsOf(list: unknown): readonly PodObject[] {
  const items = (list as { items?: unknown } | null | undefined)?.items;
  return Array.isArray(items) ? (items as PodObject[]) : [];
}

/** What Kubernetes says of a container that waits before it is started again. */
export const CRASHES = 'CrashLoopBackOff';

/**
 * Whether it has ended, had been started again before, and will be once more. A kubelet without a control plane does not
 * say that it waits for that: it serves the state of its last sync.
 */
export function crashesAgain(
  { restartCount = 0, state }: StatusObject,
  { spec: { restartPolicy = 'Always' } = {} }: PodObject,
  isInit: boolean,
): boolean {
  const exitCode = state?.terminated?.exitCode;
  if (exitCode === undefined || restartCount === 0 || restartPolicy === 'Never') return false;
  return exitCode !== 0 || (restartPolicy === 'Always' && !isInit);
}

/** `ended with exit code 1 (Error)`. */
export function describeEnd({ exitCode = 0, reason = '', message = '' }: EndObject): string {
  const why = reason === '' ? '' : ` (${reason})`;
  return `ended with exit code ${exitCode}${why}${message === '' ? '' : `: ${message}`}`;
}
