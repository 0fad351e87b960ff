import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ServerWritableStream } from '@grpc/grpc-js';
import {
  type ContainerEventResponse,
  ContainerEventType,
  ContainerState,
  ContainerStatusResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandboxStatusResponse,
  StatusResponse,
  VersionResponse,
} from '#watch/messages';
import { CriClient } from '#watch';
import { ChaosProxy, type Injection, parseRules } from '#proxy/chaos';
import { type Logger, SILENT_LOGGER } from '#base/log/logger.js';
import { CriTestServer } from '../clients/cri-test-server.js';
import { FakeClock } from '#testing/fake-clock.js';
import { untilTrue } from '../until-true.js';

/** Pods of the runtime behind a {@link ChaosHarness}: each has one container, `app`. */
const PODS = ['web', 'db'] as const;

const EVENT_KINDS = ['created', 'started', 'stopped', 'deleted'] as const;
const EVENT_TYPES = [
  ContainerEventType.CONTAINER_CREATED_EVENT,
  ContainerEventType.CONTAINER_STARTED_EVENT,
  ContainerEventType.CONTAINER_STOPPED_EVENT,
  ContainerEventType.CONTAINER_DELETED_EVENT,
];

/** The ids and the uid of one of them. */
export const idsOf = (pod: string): { uid: string; sandboxId: string; containerId: string } => ({
  uid: `uid-${pod}`,
  sandboxId: `sandbox-of-${pod}`,
  containerId: `container-of-${pod}`,
});

/** How {@link ChaosHarness} is set up. */
export interface ChaosHarnessOptions {
  readonly seed?: number;
  readonly labels?: boolean;
  readonly logger?: Logger;
}

/** A runtime, chaos in front of it with a clock that stands still, and a client. */
export class ChaosHarness implements AsyncDisposable {
  readonly proxy: ChaosProxy;
  readonly client: CriClient;
  readonly clock: FakeClock;
  readonly injections: readonly Injection[];
  /** Short names of the calls that have reached the runtime. */
  readonly arrived: string[];
  readonly #server: CriTestServer;
  readonly #folder: string;
  readonly #streams: Set<ServerWritableStream<unknown, ContainerEventResponse>>;

  private constructor(parts: {
    proxy: ChaosProxy;
    clock: FakeClock;
    injections: Injection[];
    arrived: string[];
    server: CriTestServer;
    folder: string;
    streams: Set<ServerWritableStream<unknown, ContainerEventResponse>>;
  }) {
    const { proxy, clock, injections, arrived } = parts;
    this.proxy = proxy;
    this.clock = clock;
    this.injections = injections;
    this.arrived = arrived;
    this.#server = parts.server;
    this.#folder = parts.folder;
    this.#streams = parts.streams;
    this.client = new CriClient({ endpoint: proxy.endpoint });
  }

  /** `rules` is the text of a rules file; without `labels` containers bear none, as those of crictl. */
  static async start(
    rules: string,
    { seed = 1, labels = true, logger = SILENT_LOGGER }: ChaosHarnessOptions = {},
  ): Promise<ChaosHarness> {
    const arrived: string[] = [];
    const streams = new Set<ServerWritableStream<unknown, ContainerEventResponse>>();
    const server = await startRuntime(arrived, streams, labels ? labelsOf : () => ({}));
    const folder = await mkdtemp(join(tmpdir(), 'podloop-chaos-'));
    const clock = new FakeClock();
    const injections: Injection[] = [];
    const proxy = await ChaosProxy.start({
      upstream: server.endpoint,
      listen: `unix://${join(folder, 'chaos.sock')}`,
      rules: parseRules(rules, 'rules.yaml'),
      ...{ seed, clock, logger },
      onInjection: (injection) => void injections.push(injection),
    });
    return new ChaosHarness({ proxy, clock, injections, arrived, server, folder, streams });
  }

  /** Puts another rules file in force. */
  replaceRules(rules: string): void {
    this.proxy.replaceRules(parseRules(rules, 'rules.yaml'));
  }

  /** Sends an event to every reader, once there is one. */
  async emit(kind: (typeof EVENT_KINDS)[number], pod: string): Promise<void> {
    await untilTrue(() => this.#streams.size > 0);
    const containerEventType = EVENT_TYPES[EVENT_KINDS.indexOf(kind)]!;
    const { containerId } = idsOf(pod);
    const podSandboxStatus = PodSandboxStatusResponse.fromPartial({ status: sandbox(pod) }).status;
    for (const stream of this.#streams) {
      stream.write({
        containerId,
        containerEventType,
        createdAt: 1n,
        podSandboxStatus,
        containersStatuses: [],
      });
    }
  }

  /** Reads events until the stream ends; how it ended is the last entry. */
  readEvents(): string[] {
    const seen: string[] = [];
    const read = async (): Promise<void> => {
      for await (const { containerId, containerEventType } of this.client.getContainerEvents()) {
        const kind = EVENT_KINDS[containerEventType];
        seen.push(`${kind} ${containerId.replace('container-of-', '')}`);
      }
    };
    read().then(
      () => seen.push('ended'),
      (error: unknown) => seen.push(String((error as { code?: string }).code)),
    );
    return seen;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.proxy.close();
    await this.#server[Symbol.asyncDispose]();
    await rm(this.#folder, { recursive: true, force: true });
  }
}

async function startRuntime(
  arrived: string[],
  streams: Set<ServerWritableStream<unknown, ContainerEventResponse>>,
  labelsOfContainer: typeof labelsOf,
): Promise<CriTestServer> {
  let lists = 0;
  const podOf = (id: string): string => id.replace(/^(sandbox|container)-of-/, '');
  return CriTestServer.start({
    handlers: {
      version: (_call, reply) => {
        arrived.push('Version');
        reply(null, VersionResponse.fromPartial({ runtimeName: 'test' }));
      },
      status: (_call, reply) => {
        arrived.push('Status');
        const conditions = ['RuntimeReady', 'NetworkReady'].map((type) => ({ type, status: true }));
        reply(null, StatusResponse.fromPartial({ status: { conditions }, info: { config: '{}' } }));
      },
      listPodSandbox: (_call, reply) => {
        arrived.push('ListPodSandbox');
        reply(null, ListPodSandboxResponse.fromPartial({ items: PODS.map(sandbox) }));
      },
      listContainers: (_call, reply) => {
        arrived.push('ListContainers');
        // Each answer has another attempt, so that they can be distinguished.
        const metadata = { name: 'app', attempt: lists++ };
        reply(
          null,
          ListContainersResponse.fromPartial({
            containers: PODS.map((pod) => ({
              ...{ id: idsOf(pod).containerId, podSandboxId: idsOf(pod).sandboxId, metadata },
              ...{ state: ContainerState.CONTAINER_RUNNING, labels: labelsOfContainer(pod) },
            })),
          }),
        );
      },
      containerStatus: ({ request }, reply) => {
        arrived.push('ContainerStatus');
        const pod = podOf(request.containerId);
        const status = { id: request.containerId, metadata: { name: 'app' }, labels: labelsOfContainer(pod) };
        reply(null, ContainerStatusResponse.fromPartial({ status }));
      },
      podSandboxStatus: ({ request }, reply) => {
        arrived.push('PodSandboxStatus');
        reply(null, PodSandboxStatusResponse.fromPartial({ status: sandbox(podOf(request.podSandboxId)) }));
      },
      runPodSandbox: ({ request }, reply) => {
        arrived.push('RunPodSandbox');
        reply(null, { podSandboxId: idsOf(request.config?.metadata?.name ?? '').sandboxId });
      },
      createContainer: ({ request }, reply) => {
        arrived.push('CreateContainer');
        reply(null, { containerId: idsOf(podOf(request.podSandboxId)).containerId });
      },
      getContainerEvents: (call) => {
        arrived.push('GetContainerEvents');
        streams.add(call);
        call.on('cancelled', () => streams.delete(call));
      },
    },
  });
}

function sandbox(pod: string): {
  id: string;
  metadata: { name: string; uid: string; namespace: string };
  labels: Record<string, string>;
} {
  const { uid, sandboxId } = idsOf(pod);
  return { id: sandboxId, metadata: { name: pod, uid, namespace: 'default' }, labels: labelsOf(pod) };
}

function labelsOf(pod: string): Record<string, string> {
  return {
    'io.kubernetes.pod.name': pod,
    'io.kubernetes.pod.namespace': 'default',
    'io.kubernetes.pod.uid': idsOf(pod).uid,
    'io.kubernetes.container.name': 'app',
  };
}

/** A rules file of one rule. */
export function aRule(match: string, fault: string): string {
  return `rules:\n  - name: it\n    match: {${match}}\n    fault: {${fault}}\n`;
}

/** How a call ends, or that it has not. */
export function followCall(call: Promise<unknown>): { state: string } {
  const followed = { state: 'open' };
  call.then(
    () => (followed.state = 'answered'),
    (error: unknown) => (followed.state = String((error as { code?: string }).code)),
  );
  return followed;
}
