/**
 * A CRI server that has pods only in memory: N pods of M containers with metadata as long as the kubelet's,
 * which a test can kill, break and bend while it serves.
 *
 * In: options and a {@link SyntheticControl}. Out: CRI over gRPC on a unix socket, the reading half of it (lists,
 * status, events, Version, Status); what changes a runtime answers Unimplemented, the control does that. It assumes
 * that its clients are tests: nothing is bounded. {@link spawnSyntheticRuntime} runs it in a process of its own, so
 * that its work is not counted as the client's.
 *
 * @module
 */
import { Server, ServerCredentials } from '@grpc/grpc-js';
import { CallCounters } from './call-counters.js';
import { createCriService, SYNTHETIC_SERVICE } from './cri-service.js';
import { toEvent } from './synthetic-messages.js';
import { EventStreams } from './event-streams.js';
import { FaultGate } from './fault-gate.js';
import { ListAnswers } from './list-answers.js';
import { StatusAnswers } from './status-answers.js';
import { type SyntheticContainer, type SyntheticControl } from './synthetic-control.js';
import { SyntheticNode } from './synthetic-node.js';

/** What the node has at the start. */
export interface SyntheticRuntimeOptions {
  readonly pods: number;
  readonly containersPerPod: number;
  /** Of the containers at the start (default: `running`). */
  readonly state?: SyntheticContainer['state'];
  /** Decides every id and name (default: `synthetic`). */
  readonly seed?: string;
}

/** A synthetic runtime that serves. */
export interface SyntheticRuntime extends AsyncDisposable {
  /** `unix:///…` */
  readonly endpoint: string;
  readonly control: SyntheticControl;
  /** Stops serving; calls that wait end with Unavailable or Cancelled. Idempotent. */
  close(): Promise<void>;
}

/** Serves on a unix socket from this process. */
export async function serveSyntheticRuntime(
  socketPath: string,
  options: SyntheticRuntimeOptions,
): Promise<SyntheticRuntime> {
  const gate = new FaultGate();
  const events = new EventStreams(gate);
  const counters = new CallCounters();
  const node = new SyntheticNode({
    seed: options.seed ?? 'synthetic',
    nowNs,
    onChange: ({ type, id, podUid }) =>
      events.publish(() => toEvent(type, id, nowNs(), node.findPod(podUid))),
  });
  node.addPods({ count: options.pods, ...options });

  const server = new Server({ 'grpc.max_receive_message_length': -1, 'grpc.max_send_message_length': -1 });
  const lists = new ListAnswers(node);
  server.addService(
    SYNTHETIC_SERVICE,
    createCriService({ ...{ node, lists, gate, events, counters }, statuses: new StatusAnswers() }),
  );
  const endpoint = `unix://${socketPath}`;
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(endpoint, ServerCredentials.createInsecure(), (error) => {
      if (error === null) resolve();
      else reject(error);
    });
  });

  const close = async (): Promise<void> => server.forceShutdown();
  return {
    endpoint,
    control: createControl(node, gate, events, counters),
    close,
    [Symbol.asyncDispose]: close,
  };
}

function createControl(
  node: SyntheticNode,
  gate: FaultGate,
  events: EventStreams,
  counters: CallCounters,
): SyntheticControl {
  return {
    pods: async () => [...node.pods()],
    addPods: async (options) => node.addPods(options),
    kill: async (selection, options) => node.kill(selection, options),
    start: async (selection) => node.start(selection),
    restart: async (selection) => node.restart(selection),
    remove: async (selection) => node.remove(selection),
    stopPods: async (uids) => node.stopPods(uids),
    removePods: async (uids) => node.removePods(uids),
    setFaults: async (faults) => gate.set(faults),
    emitEvent: async ({ type, containerId, podUid }) =>
      events.send(
        toEvent(type, containerId, nowNs(), podUid === undefined ? undefined : node.findPod(podUid)),
      ),
    breakEventStreams: async () => events.breakAll(),
    counters: async () => ({
      calls: counters.calls,
      inFlight: counters.inFlight,
      mostInFlight: counters.mostInFlight,
      eventsSent: events.sent,
      eventsDropped: events.dropped,
    }),
  };
}

/** Wall-clock nanoseconds since the epoch, to the microsecond. */
function nowNs(): bigint {
  return BigInt(Math.round((performance.timeOrigin + performance.now()) * 1000)) * 1000n;
}
