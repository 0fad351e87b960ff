import { type PodRef } from '#kube/pod/pod-ref.js';

/** A condition that a runtime reports of itself: RuntimeReady, NetworkReady. */
export interface RuntimeCondition {
  readonly type: string;
  readonly status: boolean;
  readonly reason: string;
  readonly message: string;
}

/** A sandbox as the runtime lists it. */
export interface ListedSandbox {
  readonly id: string;
  readonly pod: PodRef;
  readonly attempt: number;
  readonly ready: boolean;
  /** Milliseconds since the epoch. */
  readonly createdAtMs: number;
  /** Of a list that is large: how many bytes of it are this one's. */
  readonly bytes?: number;
}

/** A container as the runtime lists it. */
export interface ListedContainer {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly attempt: number;
  readonly state: 'created' | 'running' | 'exited' | 'unknown';
  readonly createdAtMs: number;
  /** As for {@link ListedSandbox.bytes}. */
  readonly bytes?: number;
}

/** A list, and how many bytes its answer had. */
export interface ListAnswer<T> {
  readonly items: readonly T[];
  readonly bytes: number;
}

/** How much of a list is about one sandbox. */
export interface MeasuredPart {
  /** Undefined where the list does not say. */
  readonly pod: PodRef | undefined;
  readonly bytes: number;
  readonly items: number;
}

/** A file system of images, as the runtime reports it. */
export interface ImageFilesystem {
  readonly mountpoint: string;
}

/** What a status resolves with that was not sent: how long that took says nothing of the runtime. */
export const NOT_ASKED = Symbol('not asked');

/** What bounds a call. */
export interface CallLimits {
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
}

/**
 * The calls of a runtime that only read, as the doctor needs them.
 *
 * Each rejects with a PodloopError: CRI_DEADLINE_EXCEEDED when the time is over, CRI_… by gRPC's status otherwise;
 * `connect` also with ENDPOINT_….
 */
export interface RuntimePort {
  /** For messages: `unix:///…`. */
  readonly endpoint: string;
  /** Makes sure that a CRI runtime listens there, on a connection that is made for it, and says which. */
  connect(limits: CallLimits): Promise<{ readonly name: string; readonly version: string }>;
  version(limits: CallLimits): Promise<unknown>;
  status(limits: CallLimits): Promise<readonly RuntimeCondition[]>;
  listSandboxes(limits: CallLimits): Promise<ListAnswer<ListedSandbox>>;
  listContainers(limits: CallLimits): Promise<ListAnswer<ListedContainer>>;
  /** Asks for the part of a list that is about one sandbox: of a list that is refused as a whole. */
  measurePart(
    method: 'ListPodSandbox' | 'ListContainers',
    sandboxId: string,
    limits: CallLimits,
  ): Promise<MeasuredPart>;
  /** Statuses resolve with {@link NOT_ASKED} where what is known of the pod has to do. */
  sandboxStatus(id: string, limits: CallLimits): Promise<unknown>;
  containerStatus(id: string, limits: CallLimits): Promise<unknown>;
  /** Asks for the list of images; absent where that is not asked. */
  listImages?(limits: CallLimits): Promise<unknown>;
  imageFilesystems(limits: CallLimits): Promise<readonly ImageFilesystem[]>;
  /** Reads the ids of containers out of the event stream until it ends or the signal aborts. */
  readEvents(onEvent: (containerId: string) => void, signal: AbortSignal): Promise<void>;
}
