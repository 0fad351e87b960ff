/** The state of a container, as far as the page reads it. */
export interface ContainerState {
  readonly running?: { readonly startedAt?: string };
  readonly waiting?: { readonly reason?: string; readonly message?: string };
  readonly terminated?: {
    readonly exitCode?: number;
    readonly reason?: string;
    readonly message?: string;
    readonly signal?: number;
    readonly startedAt?: string;
    readonly finishedAt?: string;
    readonly containerID?: string;
  };
}

/** The status of a container. */
export interface ContainerStatus {
  readonly name: string;
  readonly image?: string;
  readonly containerID?: string;
  readonly ready?: boolean;
  readonly started?: boolean;
  readonly restartCount?: number;
  readonly state?: ContainerState;
  readonly lastState?: ContainerState;
}

/** A pod as the agent shows it. */
export interface PodObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid: string;
    readonly creationTimestamp?: string;
    readonly deletionTimestamp?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly spec?: {
    readonly nodeName?: string;
    readonly restartPolicy?: string;
    readonly containers?: readonly ContainerSpec[];
    readonly initContainers?: readonly ContainerSpec[];
    readonly volumes?: readonly ({ readonly name: string } & Readonly<Record<string, unknown>>)[];
  };
  readonly status?: {
    readonly phase?: string;
    readonly reason?: string;
    readonly message?: string;
    readonly podIP?: string;
    readonly hostIP?: string;
    readonly qosClass?: string;
    readonly startTime?: string;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason?: string;
      readonly message?: string;
      readonly lastTransitionTime?: string;
    }[];
    readonly containerStatuses?: readonly ContainerStatus[];
    readonly initContainerStatuses?: readonly ContainerStatus[];
  };
}

/** A container of a manifest. */
export interface ContainerSpec {
  readonly name: string;
  readonly image?: string;
  readonly livenessProbe?: ProbeSpec;
  readonly readinessProbe?: ProbeSpec;
  readonly startupProbe?: ProbeSpec;
  readonly resources?: {
    readonly requests?: Readonly<Record<string, string | number>>;
    readonly limits?: Readonly<Record<string, string | number>>;
  };
  readonly volumeMounts?: readonly {
    readonly name: string;
    readonly mountPath: string;
    readonly readOnly?: boolean;
  }[];
}

/** A probe of a manifest. */
export interface ProbeSpec {
  readonly httpGet?: { readonly path?: string; readonly port?: string | number; readonly scheme?: string };
  readonly tcpSocket?: { readonly port?: string | number };
  readonly grpc?: { readonly port?: string | number };
  readonly exec?: { readonly command?: readonly string[] };
  readonly periodSeconds?: number;
  readonly failureThreshold?: number;
}

/** How good or bad something is. */
export type Tone = 'ok' | 'info' | 'warn' | 'bad' | 'quiet';

/** A pod in one word, with why it is not as it should be. */
export interface PodVerdict {
  readonly word: string;
  readonly tone: Tone;
  /** One sentence; absent where there is nothing to explain. */
  readonly why?: string;
}

/** Statuses of all containers, those of the init containers first. */
export function statusesOf({ status = {} }: PodObject): readonly ContainerStatus[] {
  return [...(status.initContainerStatuses ?? []), ...(status.containerStatuses ?? [])];
}

/** How often containers of the pod were restarted. */
export function restartsOf(pod: PodObject): number {
  return statusesOf(pod).reduce((sum, { restartCount = 0 }) => sum + restartCount, 0);
}

/** What a table shows as the state of a pod, and why it is so. */
export function judgePod(pod: PodObject): PodVerdict {
  const { metadata, status = {} } = pod;
  const { phase = 'Unknown', reason, message } = status;
  if (metadata.deletionTimestamp !== undefined) return { word: 'Terminating', tone: 'warn' };
  if (phase === 'Failed') {
    const ended = statusesOf(pod).find(({ state }) => (state?.terminated?.exitCode ?? 0) !== 0);
    const why = message ?? describeEnd(ended);
    return { word: reason ?? 'Failed', tone: 'bad', ...(why === undefined ? {} : { why }) };
  }
  if (phase === 'Succeeded') return { word: 'Completed', tone: 'quiet' };
  const waiting = statusesOf(pod).find(
    ({ state }) => state?.waiting?.reason !== undefined && !HARMLESS.has(state.waiting.reason),
  );
  if (waiting !== undefined) {
    const { reason: word = 'Waiting', message: said } = waiting.state!.waiting!;
    const end = describeEnd({ ...waiting, ...(waiting.lastState && { state: waiting.lastState }) });
    const why = [said, end].filter((each) => each !== undefined && each !== '').join(' · ');
    return { word, tone: 'bad', ...(why === '' ? {} : { why: `${waiting.name}: ${why}` }) };
  }
  const containers = status.containerStatuses ?? [];
  const unready = containers.filter(({ ready }) => ready !== true);
  if (phase === 'Running' && unready.length > 0) {
    const [first] = unready;
    const why = describeEnd(first) ?? `${first!.name} is not ready`;
    return { word: 'NotReady', tone: 'warn', why };
  }
  if (phase === 'Running') return { word: 'Running', tone: 'ok' };
  const condition = (status.conditions ?? []).find(({ status: is, message: said }) => is === 'False' && said);
  const why = message ?? condition?.message;
  const starting = statusesOf(pod).find(({ state }) => state?.waiting?.reason !== undefined);
  const word = starting?.state?.waiting?.reason ?? phase;
  return { word, tone: 'info', ...(why === undefined ? {} : { why }) };
}

/** A container in a few words. */
export function judgeContainer({ state = {}, ready }: ContainerStatus): PodVerdict {
  const { running, terminated, waiting } = state;
  if (running !== undefined)
    return ready === true ? { word: 'Running', tone: 'ok' } : { word: 'Running, not ready', tone: 'warn' };
  if (terminated !== undefined) {
    const { exitCode } = terminated;
    return { word: `Ended with ${exitCode ?? '?'}`, tone: exitCode === 0 ? 'quiet' : 'bad' };
  }
  const { reason = 'Waiting' } = waiting ?? {};
  return { word: reason, tone: HARMLESS.has(reason) ? 'info' : 'bad' };
}

/** Reasons to wait that are part of every start. */
const HARMLESS = new Set(['ContainerCreating', 'PodInitializing']);

/** How the container that was restarted most often had ended; undefined where none was. */
export function describeLastEnd(pod: PodObject): string | undefined {
  const [most] = statusesOf(pod)
    .filter(({ lastState }) => lastState?.terminated !== undefined)
    .sort((one, other) => (other.restartCount ?? 0) - (one.restartCount ?? 0));
  return most === undefined ? undefined : describeEnd({ name: most.name, state: most.lastState! });
}

/** What a probe does, in a few words: `GET http :8080/ready, every 5s, 3 failures count`. */
export function describeProbe(probe: ProbeSpec): string {
  const { httpGet, tcpSocket, grpc, exec, periodSeconds, failureThreshold } = probe;
  const what =
    httpGet !== undefined
      ? `GET ${httpGet.scheme?.toLowerCase() ?? 'http'} :${httpGet.port ?? ''}${httpGet.path ?? '/'}`
      : tcpSocket !== undefined
        ? `connects to :${tcpSocket.port ?? ''}`
        : grpc !== undefined
          ? `gRPC :${grpc.port ?? ''}`
          : `runs ${(exec?.command ?? []).join(' ')}`;
  return [
    what,
    ...(periodSeconds === undefined ? [] : [`every ${periodSeconds}s`]),
    ...(failureThreshold === undefined || failureThreshold === 1
      ? []
      : [`${failureThreshold} failures count`]),
  ].join(', ');
}

/** Where the content of a volume comes from: `configMap settings`; and where containers have it. */
export function describeVolume(
  { name, ...source }: { readonly name: string } & Readonly<Record<string, unknown>>,
  containers: readonly ContainerSpec[],
): { readonly source: string; readonly mounts: readonly string[] } {
  const [kind = 'emptyDir', facts] = Object.entries(source)[0] ?? [];
  const { name: named, secretName, claimName, path, medium } = (facts ?? {}) as Record<string, unknown>;
  const about = [named, secretName, claimName, path, medium].find(
    (each) => typeof each === 'string' && each !== '',
  );
  const mounts = containers.flatMap((container) =>
    (container.volumeMounts ?? [])
      .filter((mount) => mount.name === name)
      .map(
        ({ mountPath, readOnly }) =>
          `${mountPath} in ${container.name}${readOnly === true ? ', read-only' : ''}`,
      ),
  );
  return { source: about === undefined ? kind : `${kind} ${about as string}`, mounts };
}

/** How a container ended; undefined if it has not. */
export function describeEnd(status: ContainerStatus | undefined): string | undefined {
  const end = status?.state?.terminated;
  if (status === undefined || end === undefined) return undefined;
  const { exitCode, reason, message } = end;
  const how = [`exit code ${exitCode ?? '?'}`, reason, message].filter(
    (each) => each !== undefined && each !== '',
  );
  return `${status.name} ended: ${how.join(', ')}`;
}
