/**
 * containerd's own events as the event generator reads them: hints which pod to list.
 *
 * In: a subscription to containerd's event service, which gives every event to every subscriber and so takes none from
 * a kubelet. Out: starts, ends and removals of containers and sandboxes, within milliseconds. Ends of execs are left
 * out. Other runtimes do not have the service, and are listed each second instead.
 *
 * @module
 */
import { PodloopError } from '#base/errors/errors.js';
import { type Logger } from '#base/log/logger.js';
import { ContainerEvent, Envelope, SubscribeRequest, TaskEvent, TaskExit } from '#watch/containerd';
import {
  GrpcStatusError,
  type Runtime,
  type RuntimeEventHandlers,
  type StreamCall,
  type Transport,
} from '#watch';

/** The only method of containerd beside CRI that an observer sends. */
export const SUBSCRIBE_PATH = '/containerd.services.events.v1.Events/Subscribe';

/** What {@link watchContainerdEvents} works with. */
export interface ContainerdEventsOptions {
  readonly transport: Pick<Transport, 'stream'>;
  /** The pod of a container or sandbox; undefined for one that no list has shown. */
  readonly findPodUid: (id: string) => string | undefined;
  readonly logger: Logger;
}

type EventType = Parameters<RuntimeEventHandlers['onEvent']>[0]['type'];

/** An event that concerns a container or sandbox. */
interface ContainerdEvent {
  readonly type: EventType;
  readonly containerId: string;
}

/** The namespace of what CRI makes. */
const NAMESPACE = 'k8s.io';
const UNIMPLEMENTED = 12;
const NS_PER_SECOND = 1_000_000_000n;

/** By topic: what an event says; undefined for one that says nothing of the container itself. */
const TOPICS: ReadonlyMap<string, (value: Uint8Array) => ContainerdEvent | undefined> = new Map([
  ['/tasks/start', (value) => ({ type: 'started', containerId: TaskEvent.decode(value).containerId })],
  ['/tasks/exit', readExit],
  // A status says later that a container ended for lack of memory.
  ['/tasks/oom', (value) => ({ type: 'unknown', containerId: TaskEvent.decode(value).containerId })],
  ['/containers/delete', (value) => ({ type: 'deleted', containerId: ContainerEvent.decode(value).id })],
]);

/** {@link Runtime.watchEvents} by containerd's event service. Rejects with CRI_UNIMPLEMENTED where there is none. */
export async function watchContainerdEvents(
  { transport, findPodUid, logger }: ContainerdEventsOptions,
  handlers: RuntimeEventHandlers,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  // Without the quotes, a slash begins a regular expression for containerd.
  const filters = [...TOPICS.keys()].map((topic) => `namespace=="${NAMESPACE}",topic=="${topic}"`);
  const call: StreamCall = transport.stream(SUBSCRIBE_PATH, SubscribeRequest.encode({ filters }).finish(), {
    onOpen: () => handlers.onOpen?.(),
    onMessage: (bytes) => {
      try {
        const envelope = Envelope.decode(bytes);
        const event = TOPICS.get(envelope.topic)?.(envelope.event?.value ?? new Uint8Array());
        if (event === undefined) return;
        const { seconds = 0n, nanos = 0 } = envelope.timestamp ?? {};
        const createdAtNs = seconds * NS_PER_SECOND + BigInt(nanos);
        handlers.onEvent({ ...event, podUid: findPodUid(event.containerId), createdAtNs });
      } catch (error) {
        logger.warn('An event of containerd cannot be decoded and is skipped', { err: String(error) });
        handlers.onSkipped?.();
      }
    },
  });
  const cancel = (): void => call.cancel();
  signal.addEventListener('abort', cancel, { once: true });
  try {
    await call.ended;
  } catch (error) {
    signal.throwIfAborted();
    const isMissing = error instanceof GrpcStatusError && error.status === UNIMPLEMENTED;
    const message = `the events of containerd: ${error instanceof Error ? error.message : String(error)}`;
    throw new PodloopError(isMissing ? 'CRI_UNIMPLEMENTED' : 'CRI_UNAVAILABLE', message, { cause: error });
  } finally {
    signal.removeEventListener('abort', cancel);
  }
}

/** A runtime whose events come from containerd's event service and not from CRI. */
export function withContainerdEvents(runtime: Runtime, options: ContainerdEventsOptions): Runtime {
  return {
    listPods: async (signal) => runtime.listPods(signal),
    findPod: async (uid, signal) => runtime.findPod(uid, signal),
    getPodStatus: async (pod, signal) => runtime.getPodStatus(pod, signal),
    watchEvents: async (handlers, signal) => watchContainerdEvents(options, handlers, signal),
    eventsReachAll: true,
  };
}

/** The end of an exec is no end of its container. */
function readExit(value: Uint8Array): ContainerdEvent | undefined {
  const { containerId, id } = TaskExit.decode(value);
  return id === '' || id === containerId ? { type: 'stopped', containerId } : undefined;
}
