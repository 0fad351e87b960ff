import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ListContainersResponse,
  ListPodSandboxResponse,
  PodSandboxStatusResponse,
} from '../../watch/cri/generated/runtime/v1/cri.js';
import { GrpcMessage } from '../relay/index.js';
import { PodDirectory, type PodName } from './pod-directory.js';

const NOTHING = Buffer.alloc(0);
const WEB: PodName = { uid: 'u-web', namespace: 'default', name: 'web' };

/** As crictl makes them: without a label. */
const container = (id: string, podSandboxId = 'sandbox-web') => ({
  ...{ id, podSandboxId, metadata: { name: 'app', attempt: 0 } },
});

const sandboxes = (...ids: string[]) =>
  GrpcMessage.of(
    ListPodSandboxResponse.encode(
      ListPodSandboxResponse.fromPartial({ items: ids.map((id) => ({ id, metadata: WEB })) }),
    ).finish(),
  );
const containers = (...items: (ReturnType<typeof container> & { labels?: Record<string, string> })[]) =>
  GrpcMessage.of(
    ListContainersResponse.encode(ListContainersResponse.fromPartial({ containers: items })).finish(),
  );
const containerStatus = (status: {
  id: string;
  labels?: Record<string, string>;
  metadata?: { name: string };
}) =>
  GrpcMessage.of(ContainerStatusResponse.encode(ContainerStatusResponse.fromPartial({ status })).finish());

/** The same message in pieces of these sizes, over and over. */
function inPieces(message: GrpcMessage, sizes: readonly number[]): GrpcMessage {
  const bytes = Buffer.concat(message.pieces);
  const pieces: Buffer[] = [];
  for (let at = 0, turn = 0; at < bytes.length; turn++) {
    const size = sizes[turn % sizes.length]!;
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return new GrpcMessage(pieces);
}

describe('what is known of a container', () => {
  const [sandboxList, containerList] = [sandboxes('sandbox-web'), containers(container('c-web'))];

  it.each([
    ['ListPodSandbox', 'ListContainers'],
    ['ListContainers', 'ListPodSandbox'],
    ['StreamContainers', 'StreamPodSandboxes'],
  ])('is its sandbox’s pod when no label tells, after %s and %s', (...methods) => {
    const directory = new PodDirectory();
    for (const method of methods) {
      directory.learn(method, NOTHING, method.endsWith('Containers') ? containerList : sandboxList);
    }
    expect(directory.findContainer('c-web')).toEqual({
      ...{ pod: WEB, sandboxId: 'sandbox-web', containerName: 'app' },
    });
  });

  it('is what its labels say when nothing tells of its sandbox', () => {
    const directory = new PodDirectory();
    const labels = {
      'io.kubernetes.pod.name': 'web',
      'io.kubernetes.pod.namespace': 'default',
      'io.kubernetes.pod.uid': 'u-web',
    };
    directory.learn(
      'ContainerStatus',
      NOTHING,
      containerStatus({ id: 'c', labels, metadata: { name: 'app' } }),
    );
    expect(directory.findContainer('c')).toEqual({ pod: WEB, containerName: 'app' });
  });

  it('comes from the call that creates it, whether its sandbox is known or the request tells of it', () => {
    const create = (directory: PodDirectory, sandboxConfig?: { metadata: PodName }): void => {
      const request = CreateContainerRequest.fromPartial({
        ...{ podSandboxId: 'sandbox-web', config: { metadata: { name: 'app' } } },
        ...(sandboxConfig && { sandboxConfig }),
      });
      directory.learn(
        'CreateContainer',
        Buffer.from(CreateContainerRequest.encode(request).finish()),
        GrpcMessage.of(CreateContainerResponse.encode({ containerId: 'c' }).finish()),
      );
    };
    const told = new PodDirectory();
    create(told, { metadata: WEB });
    expect(told.findContainer('c')).toEqual({ pod: WEB, sandboxId: 'sandbox-web', containerName: 'app' });
    const untold = new PodDirectory();
    create(untold);
    expect(untold.findContainer('c')).toEqual({
      ...{ pod: undefined, sandboxId: 'sandbox-web', containerName: 'app' },
    });
    untold.learn('ListPodSandbox', NOTHING, sandboxList);
    expect(untold.findContainer('c')?.pod).toEqual(WEB);
  });

  it('comes with the status of its sandbox', () => {
    const directory = new PodDirectory();
    const answer = PodSandboxStatusResponse.fromPartial({
      status: { id: 'sandbox-web', metadata: WEB },
      containersStatuses: [{ id: 'c', metadata: { name: 'app' } }],
    });
    directory.learn(
      'PodSandboxStatus',
      NOTHING,
      GrpcMessage.of(PodSandboxStatusResponse.encode(answer).finish()),
    );
    expect(directory.findContainer('c')).toEqual({
      pod: WEB,
      sandboxId: 'sandbox-web',
      containerName: 'app',
    });
  });

  it('is nothing when a message names nothing, and what tells more later counts', () => {
    const directory = new PodDirectory();
    directory.learn('ContainerStatus', NOTHING, containerStatus({ id: 'c-web' }));
    expect(directory.findContainer('c-web')).toBeUndefined();
    directory.learn('ContainerStatus', NOTHING, containerStatus({ id: 'c-web', metadata: { name: 'app' } }));
    expect(directory.findContainer('c-web')).toEqual({ pod: undefined, containerName: 'app' });
    for (const [method, list] of [
      ['ListContainers', containerList],
      ['ListPodSandbox', sandboxList],
    ] as const) {
      directory.learn(method, NOTHING, list);
    }
    expect(directory.findContainer('c-web')?.pod).toEqual(WEB);
  });
});

describe('a list', () => {
  it('says the same in whatever pieces it came', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 20 }),
        fc.uniqueArray(fc.string({ minLength: 1, maxLength: 150 }), { maxLength: 20 }),
        (sizes, ids) => {
          const directory = new PodDirectory();
          const list = containers(...ids.map((id) => container(id)));
          for (const message of [inPieces(list, sizes), list])
            directory.learn('ListContainers', NOTHING, message);
          directory.learn('ListPodSandbox', NOTHING, inPieces(sandboxes('sandbox-web'), sizes));
          for (const id of ids) expect(directory.findContainer(id)?.pod).toEqual(WEB);
        },
      ),
    );
  });

  it('tells again of what had to be forgotten', () => {
    const directory = new PodDirectory({ mostIds: 10 });
    const list = (from: number) =>
      containers(...Array.from({ length: 8 }, (_, at) => container(`c-${from + at}`)));
    for (const from of [0, 100, 0]) directory.learn('ListContainers', NOTHING, list(from));
    expect(directory.findContainer('c-0')?.containerName).toBe('app');
    expect(directory.findContainer('c-101')).toBeUndefined();
  });

  it('that is no list is the client’s to make sense of, and costs nothing that is known', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), fc.integer({ min: 0, max: 60 }), (noise, cut) => {
        const directory = new PodDirectory();
        const whole = Buffer.concat(containers(container('c-1'), container('c-2')).pieces);
        directory.learn('ListPodSandbox', NOTHING, sandboxes('sandbox-web'));
        directory.learn('ListContainers', NOTHING, containers(container('c-0')));
        directory.learn('ListContainers', NOTHING, GrpcMessage.of(noise));
        const rest = whole.subarray(5, whole.length - cut);
        directory.learn('ListContainers', NOTHING, GrpcMessage.of(Buffer.concat([rest, noise])));
        expect(directory.findContainer('c-0')?.pod).toEqual(WEB);
      }),
    );
  });
});
