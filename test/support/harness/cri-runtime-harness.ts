import { matchesLabels } from '#base/text/matches-labels.js';
import { cri, CriClient, CriRuntime, type ObservedPod } from '#watch';
import { CriTestServer, type CriTestServerOptions } from '../clients/cri-test-server.js';
import { type FakeClock } from '#testing/fake-clock.js';

/** What the server of a test answers with. */
export type CriHandlers = NonNullable<CriTestServerOptions['handlers']>;

/** The sandboxes and containers that a listed runtime has; a test changes them between two lists. */
export interface CriWorld {
  sandboxes: cri.DeepPartial<cri.PodSandbox>[];
  containers: cri.DeepPartial<cri.Container>[];
}

/** How a {@link CriRuntimeHarness} differs from the usual. */
export interface CriRuntimeHarnessOptions extends Pick<CriTestServerOptions, 'raw'> {
  readonly clock?: FakeClock;
  readonly sliceItems?: number;
}

/** A {@link CriRuntime} on a client of its own, connected to a gRPC server whose every answer the test writes. */
export class CriRuntimeHarness implements AsyncDisposable {
  readonly server: CriTestServer;
  readonly client: CriClient;
  readonly runtime: CriRuntime;

  private constructor(server: CriTestServer, options: CriRuntimeHarnessOptions) {
    const { clock, sliceItems } = options;
    this.server = server;
    this.client = new CriClient({ endpoint: server.endpoint, ...(clock && { clock }) });
    this.runtime = new CriRuntime({
      client: this.client,
      ...(clock && { clock }),
      ...(sliceItems !== undefined && { sliceItems }),
    });
  }

  static async start(
    handlers: CriHandlers,
    options: CriRuntimeHarnessOptions = {},
  ): Promise<CriRuntimeHarness> {
    const { raw } = options;
    return new CriRuntimeHarness(await CriTestServer.start({ handlers, ...(raw && { raw }) }), options);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.client.close();
    await this.server[Symbol.asyncDispose]();
  }
}

/** The labels that a kubelet gives to all that belongs to a pod. */
export function kubernetesLabels(uid: string): Record<string, string> {
  return {
    'io.kubernetes.pod.uid': uid,
    'io.kubernetes.pod.name': `pod-${uid}`,
    'io.kubernetes.pod.namespace': 'default',
  };
}

/** Sandbox `s-<uid>-<attempt>` of pod `default/pod-<uid>`, ready, made 10 ns and its attempt after the epoch. */
export function listedSandbox(
  uid: string,
  attempt = 0,
  more: cri.DeepPartial<cri.PodSandbox> = {},
): cri.DeepPartial<cri.PodSandbox> {
  return {
    id: `s-${uid}-${attempt}`,
    metadata: { uid, name: `pod-${uid}`, namespace: 'default', attempt },
    labels: kubernetesLabels(uid),
    createdAt: 10n + BigInt(attempt),
    ...more,
  };
}

/** Container `c-<uid>-<name>` in the first sandbox of that pod, running, made 20 ns after the epoch. */
export function listedContainer(
  uid: string,
  name: string,
  more: cri.DeepPartial<cri.Container> = {},
): cri.DeepPartial<cri.Container> {
  return {
    id: `c-${uid}-${name}`,
    podSandboxId: `s-${uid}-0`,
    metadata: { name, attempt: 0 },
    state: cri.ContainerState.CONTAINER_RUNNING,
    labels: kubernetesLabels(uid),
    createdAt: 20n,
    ...more,
  };
}

/** Pods by their uid, to compare two lists. */
export function byUid(pods: readonly ObservedPod[]): Record<string, ObservedPod> {
  return Object.fromEntries(pods.map((pod) => [pod.uid, pod]));
}

/** Handlers that list the world as it is then, filters included; each call is noted in `calls`, filter and all. */
export function listing(world: CriWorld, calls: string[] = []): CriHandlers {
  return {
    listPodSandbox: ({ request: { filter } }, callback) => {
      calls.push(`sandboxes ${JSON.stringify(filter ?? {})}`);
      const items = world.sandboxes.filter(
        ({ id, labels }) =>
          (!filter?.id || filter.id === id) &&
          matchesLabels((labels ?? {}) as Record<string, string>, filter?.labelSelector ?? {}),
      );
      callback(null, cri.ListPodSandboxResponse.create({ items }));
    },
    listContainers: ({ request: { filter } }, callback) => {
      calls.push(`containers ${JSON.stringify(filter ?? {})}`);
      const containers = world.containers.filter(
        ({ podSandboxId, labels }) =>
          (!filter?.podSandboxId || filter.podSandboxId === podSandboxId) &&
          matchesLabels((labels ?? {}) as Record<string, string>, filter?.labelSelector ?? {}),
      );
      callback(null, cri.ListContainersResponse.create({ containers }));
    },
  };
}
