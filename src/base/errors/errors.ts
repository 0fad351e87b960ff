/**
 * The one error class, and the table of all its codes.
 *
 * Each code is documented in docs/reference/errors.md; a test ensures that table and page agree.
 *
 * @module
 */

/** What a code means, for the reference page and for podloop's own messages. */
export interface ErrorCodeFacts {
  /** Whether the same request may succeed later without any change. */
  readonly retryable: boolean;
  /** When it occurs, in one sentence. */
  readonly when: string;
  /** What to do about it, in one sentence. */
  readonly remedy: string;
}

/** Every error code. A code is never reused for another meaning. */
export const ERROR_CODES = {
  CRI_CANCELLED: {
    retryable: false,
    when: 'A CRI call was cancelled, by its caller or by the runtime.',
    remedy: 'Nothing, if you asked for it; otherwise look at the log of the runtime.',
  },
  CRI_UNKNOWN: {
    retryable: true,
    when: 'The runtime answered with an error that has no gRPC code of its own.',
    remedy: 'Read the message: it is the runtime’s own.',
  },
  CRI_INVALID_ARGUMENT: {
    retryable: false,
    when: 'The runtime refused a request as malformed.',
    remedy: 'Read the message; if podloop made the request, please report it.',
  },
  CRI_DEADLINE_EXCEEDED: {
    retryable: true,
    when: 'A CRI call was not answered within its deadline.',
    remedy:
      'Find out which call hangs: the message names operation and object. Look at the runtime’s log for that object.',
  },
  CRI_NOT_FOUND: {
    retryable: false,
    when: 'The runtime does not know the pod, container or image.',
    remedy: 'Usually nothing: it was removed meanwhile.',
  },
  CRI_ALREADY_EXISTS: {
    retryable: false,
    when: 'The runtime has an object of that name already.',
    remedy: 'Remove the other object, or take it up instead of creating it.',
  },
  CRI_PERMISSION_DENIED: {
    retryable: false,
    when: 'The runtime refused the request for lack of rights.',
    remedy: 'Check the runtime’s policies.',
  },
  CRI_RESOURCE_EXHAUSTED: {
    retryable: true,
    when: 'A limit was hit: often a message larger than the receive limit.',
    remedy:
      'Have the probe or command write less, or remove dead containers so that lists get shorter; who uses podloop/cri can raise maxReceiveMessageBytes.',
  },
  CRI_FAILED_PRECONDITION: {
    retryable: false,
    when: 'The object is not in the state that the request needs.',
    remedy: 'Look at the state of the object; a start of a running container is the usual case.',
  },
  CRI_ABORTED: {
    retryable: true,
    when: 'The runtime gave up because of a conflicting operation.',
    remedy: 'Try again.',
  },
  CRI_OUT_OF_RANGE: {
    retryable: false,
    when: 'A value in the request is outside of what the runtime takes.',
    remedy: 'Read the message for the value.',
  },
  CRI_UNIMPLEMENTED: {
    retryable: false,
    when: 'The runtime does not have that call, or speaks no CRI v1.',
    remedy: 'Use a newer runtime, or go without the feature.',
  },
  CRI_INTERNAL: {
    retryable: true,
    when: 'The runtime failed inside, broke the protocol, or answered with an error text of more than about 64 KiB, which cannot be read.',
    remedy: 'Look at the runtime’s log.',
  },
  CRI_UNAVAILABLE: {
    retryable: true,
    when: 'The runtime is not reachable: it is not running, starting, or its socket is gone; or the connection stopped delivering answers and was replaced.',
    remedy: 'Start the runtime; podloop reconnects by itself.',
  },
  CRI_DATA_LOSS: {
    retryable: false,
    when: 'The runtime reports unrecoverable loss.',
    remedy: 'Look at the runtime’s log and its disk.',
  },
  CRI_UNAUTHENTICATED: {
    retryable: false,
    when: 'The runtime wants credentials.',
    remedy: 'Podloop speaks to local sockets without credentials; check what listens there.',
  },
  CRI_MALFORMED_RESPONSE: {
    retryable: true,
    when: 'The answer of the runtime could not be decoded.',
    remedy: 'Check that the socket belongs to a CRI runtime; report the method named in the message.',
  },
  ENDPOINT_INVALID: {
    retryable: false,
    when: 'A runtime endpoint is not of a form that podloop knows.',
    remedy: 'Use unix:///absolute/path.sock or an absolute path.',
  },
  ENDPOINT_NOT_FOUND: {
    retryable: false,
    when: 'There is no socket at the endpoint, or none at the places where runtimes usually have theirs.',
    remedy: 'Start the runtime, or name its socket with --runtime-endpoint.',
  },
  ENDPOINT_PERMISSION_DENIED: {
    retryable: false,
    when: 'The socket of the runtime may not be opened by this user.',
    remedy: 'Run as root or as a member of the socket’s group.',
  },
  ENDPOINT_NOT_CRI: {
    retryable: false,
    when: 'Something listens at the endpoint, but it does not speak gRPC.',
    remedy: 'Check the path: a Docker socket, for one, is not a CRI socket.',
  },
  ENDPOINT_NO_CRI_V1: {
    retryable: false,
    when: 'A gRPC server listens at the endpoint that does not serve runtime.v1.RuntimeService.',
    remedy: 'Enable the CRI plugin of the runtime, or use containerd 1.6, CRI-O 1.20 or newer.',
  },
  ENDPOINT_IN_USE: {
    retryable: false,
    when: 'A server of podloop was to listen at a socket at which another one answers.',
    remedy: 'End the other one, or choose another path with --listen.',
  },
  PORT_UNUSABLE: {
    retryable: false,
    when: 'The node agent cannot listen on a configured port: another process does, or the address is not one of this machine.',
    remedy:
      'The message names the option and the process that has the port: end that process, choose another port, or 0 for none.',
  },
  RUNTIME_ROOT_IN_USE: {
    retryable: false,
    when: 'Another embedded runtime works in the same root folder.',
    remedy: 'End the other one, or choose another folder with --root.',
  },
  NODE_ROOT_IN_USE: {
    retryable: false,
    when: 'Another node agent of podloop works in the same root folder.',
    remedy: 'End the other one, or choose another folder with --root-dir.',
  },
  MANIFESTS_DIFFER: {
    retryable: false,
    when: 'Pods of other manifests run with this root folder, and an agent with these ones would end them.',
    remedy:
      'Give these manifests a root folder of their own with --root-dir, or put them with the others; to end those pods, delete manifest-sources.json in the root folder and start again.',
  },
  FOLDER_UNUSABLE: {
    retryable: false,
    when: 'The folder in which a node agent or an embedded runtime keeps its records cannot be made, read or written.',
    remedy:
      'The message names the folder and the system’s reason: make room, give this user the rights, or choose another folder.',
  },
  PLATFORM_UNSUPPORTED: {
    retryable: false,
    when: 'The node agent or the embedded runtime was started on a machine that is not Linux or lacks a program that it needs.',
    remedy:
      'Use Linux with util-linux and coreutils; what only the embedded runtime needs, a runtime of another kind through --runtime-endpoint does without.',
  },
  INSPECTION_DEADLINE: {
    retryable: true,
    when: 'The status of a pod did not arrive within the inspection deadline.',
    remedy:
      'The pod named in the message is stuck in the runtime; everything else goes on. Look for its shim and its storage.',
  },
  INSPECTION_DISPLACED: {
    retryable: true,
    when: 'Too many status calls hung at once and this, the oldest, was given up to make room.',
    remedy: 'As for INSPECTION_DEADLINE; podloop tries the pod again.',
  },
  PLEG_ABSENCE_DOUBTED: {
    retryable: true,
    when: 'Pods are missing from the first answer after a failed list, which a runtime that is still starting may give.',
    remedy: 'Nothing: the next list confirms it or shows the pods again.',
  },
  PLEG_ALREADY_RUNNING: {
    retryable: false,
    when: 'An event generator was started while it was running.',
    remedy: 'Run each generator once at a time; make another for another runtime.',
  },
  NETWORK_NOT_READY: {
    retryable: true,
    when: 'A pod with a network of its own was to start while the runtime says that its network is not ready.',
    remedy: 'Set up the runtime’s network (CNI); podloop tries every pod again as soon as it is ready.',
  },
  CHANGE_UNSETTLED: {
    retryable: true,
    when: 'The runtime has an object of that name that podloop asked for before, and it cannot be taken up (yet).',
    remedy: 'Usually nothing: podloop tries again. If it stays, look for the object in the runtime’s log.',
  },
  COMMAND_UNANSWERED: {
    retryable: true,
    when: 'A command in a container was not answered by the runtime in time, while the runtime answered other calls.',
    remedy:
      'Find out what the command leaves running: a runtime may wait for every process that has its output open. Let it write elsewhere, as `>/dev/null 2>&1`.',
  },
  POD_SYNC_FAILED: {
    retryable: true,
    when: 'Something of a pod could not be started or ended as its manifest says.',
    remedy:
      'The message names the step and the container, in the kubelet’s words; podloop tries again with growing delays.',
  },
  SUBSCRIPTION_IN_USE: {
    retryable: false,
    when: 'A subscription was read by two readers at once.',
    remedy: 'Subscribe once for each reader.',
  },
  VOLUME_NOT_READY: {
    retryable: true,
    when: 'A volume of a pod cannot be set up now.',
    remedy: 'The message names the volume and what is missing; the pod starts as soon as it is there.',
  },
  VOLUME_UNSUPPORTED: {
    retryable: true,
    when: 'A volume of a pod is of a kind that no pod gets here, or a claim of it leads to one.',
    remedy: 'Use a volume that lies on the node: hostPath, or a claim of a local volume.',
  },
  RESIZE_NOT_POSSIBLE: {
    retryable: true,
    when: 'A limit of a pod or container that runs was lowered to less than what it uses.',
    remedy: 'The message names the limit and what is in use; podloop tries again, and restarts nothing.',
  },
  VOLUME_IN_USE: {
    retryable: true,
    when: 'A volume of a pod that has ended cannot be removed, since something is still mounted below it.',
    remedy: 'Unmount what the message names; podloop tries again.',
  },
  CGROUP_DRIVER_CONFLICT: {
    retryable: false,
    when: 'The options say another cgroup driver than the container runtime has, so that no pod could start.',
    remedy:
      'Leave --cgroup-driver and cgroupDriver of the KubeletConfiguration out, or set what the runtime has; the message names both sides and where the runtime is configured.',
  },
  OPTION_INVALID: {
    retryable: false,
    when: 'An option has a value that cannot be used.',
    remedy: 'The message names the option and what would be right.',
  },
  MANIFEST_INVALID: {
    retryable: false,
    when: 'A pod manifest cannot be used.',
    remedy: 'The message names the file, the path in it and what would be right.',
  },
  PODS_FAILED: {
    retryable: false,
    when: 'With --exit-when-done every pod has ended, and not all of them with success; or no pod could be made of a manifest, or there was none.',
    remedy:
      'The message names the pods and manifests; logs of containers stay on the disk without --stop-pods.',
  },
  PODS_NOT_STOPPED: {
    retryable: true,
    when: 'With --stop-pods some pods did not go: half a minute has passed since the longest grace period, and since the last pod went.',
    remedy:
      'Look at the log for the pods that are left and for the runtime; the next agent with the same --root-dir takes them up.',
  },
  CONFIG_INVALID: {
    retryable: false,
    when: 'A KubeletConfiguration file cannot be used.',
    remedy: 'The message names file, line and field, and what would be right.',
  },
  KUBECONFIG_INVALID: {
    retryable: false,
    when: 'A kubeconfig, or a certificate, key, token or program that it names, cannot be used.',
    remedy: 'The message names the file, and line and field in it, and what would be right.',
  },
  JOURNAL_UNUSABLE: {
    retryable: true,
    when: 'The history on the disk cannot be read now.',
    remedy:
      'The message names its folder and the reason: a disk that is full or fails, or another process that has the history open.',
  },
  RULES_INVALID: {
    retryable: false,
    when: 'A rules file of podloop chaos cannot be used.',
    remedy: 'The message names file, line and path, and what would be right.',
  },
  RECORDING_INVALID: {
    retryable: false,
    when: 'A file is no recording of podloop record, or is damaged.',
    remedy:
      'The message names the file and the byte from which it cannot be read; one that was only cut off can be read up to its end.',
  },
} as const satisfies Record<string, ErrorCodeFacts>;

/** One of the codes in {@link ERROR_CODES}. */
export type ErrorCode = keyof typeof ERROR_CODES;

/**
 * Every error that podloop throws on purpose: distinguish them by `code`, and decide on a retry by
 * `retryable`.
 */
export class PodloopError extends Error {
  override readonly name = 'PodloopError';
  readonly code: ErrorCode;
  readonly retryable: boolean;

  constructor(code: ErrorCode, message: string, options?: { cause?: unknown }) {
    super(message, options);
    this.code = code;
    this.retryable = ERROR_CODES[code].retryable;
  }
}

/** Whether `error` is a {@link PodloopError} with one of these codes. */
export function hasCode(error: unknown, ...codes: ErrorCode[]): error is PodloopError {
  return error instanceof PodloopError && codes.includes(error.code);
}

/** Whether the runtime reported that the object does not exist. */
export function isNotFound(error: unknown): boolean {
  return hasCode(error, 'CRI_NOT_FOUND');
}

/** Whether the runtime does not implement the call. */
export function isUnimplemented(error: unknown): boolean {
  return hasCode(error, 'CRI_UNIMPLEMENTED');
}

/** Converts a system error into one that names the folder it is about; returns any other error unchanged. */
export function aboutFolder(error: unknown, name: string, folder: string): unknown {
  if (!(error instanceof Error) || !('syscall' in error)) return error;
  return new PodloopError('FOLDER_UNUSABLE', `${name} ${folder} cannot be used: ${error.message}`, {
    cause: error,
  });
}

/** The message of any thrown value. */
export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
