import { status as grpcStatus } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';

import { cri } from '../cri/index.js';
import {
  CriRuntimeHarness,
  type CriWorld,
  listedContainer,
  listedSandbox,
  listing,
} from '#support/harness/cri-runtime-harness.js';
import { untilTrue } from '#support/until-true.js';

describe('the status of a pod', () => {
  const world: CriWorld = {
    sandboxes: [listedSandbox('u1', 0, { state: 1 }), listedSandbox('u1', 1)],
    containers: Array.from({ length: 12 }, (_, index) =>
      listedContainer('u1', `n${index}`, { createdAt: 20n + BigInt(index) }),
    ),
  };

  it('has every sandbox and container, and the addresses of the newest ready sandbox', async () => {
    await using h = await CriRuntimeHarness.start({
      ...listing(world),
      podSandboxStatus: ({ request }, reply) => {
        const attempt = Number(request.podSandboxId.at(-1));
        const network = { ip: `10.0.0.${attempt}`, additionalIps: [{ ip: `fd00::${attempt}` }] };
        reply(
          null,
          cri.PodSandboxStatusResponse.create({
            status: {
              id: request.podSandboxId,
              metadata: { name: 'pod-u1', attempt },
              state: (1 - attempt) as 0 | 1,
              network,
            },
          }),
        );
      },
      containerStatus: ({ request }, reply) =>
        reply(
          null,
          cri.ContainerStatusResponse.create({
            status: {
              id: request.containerId,
              metadata: { name: 'main', attempt: 2 },
              state: cri.ContainerState.CONTAINER_EXITED,
              exitCode: 137,
              reason: 'OOMKilled',
              createdAt: BigInt(request.containerId.length),
              annotations: request.containerId.endsWith('n3')
                ? { 'io.kubernetes.container.restartCount': '5' }
                : {},
              user: request.containerId.endsWith('n3')
                ? { linux: { uid: 1000n, gid: 3000n, supplementalGroups: [4000n] } }
                : undefined,
            },
          }),
        ),
    });
    const { runtime } = h;
    const [pod] = await runtime.listPods();
    const status = await runtime.getPodStatus(pod!);
    expect(status.ips).toEqual(['10.0.0.1', 'fd00::1']);
    expect(status.sandboxes.map(({ id, state }) => [id, state])).toEqual([
      ['s-u1-1', 'running'],
      ['s-u1-0', 'exited'],
    ]);
    expect(status.containers).toHaveLength(12);
    const third = status.containers.find(({ id }) => id === 'c-u1-n3');
    expect(third).toMatchObject({ exitCode: 137, reason: 'OOMKilled', restartCount: 5, sandboxId: 's-u1-0' });
    expect(third?.user).toEqual({ uid: 1000, gid: 3000, supplementalGroups: [4000] });
    const fourth = status.containers.find(({ id }) => id === 'c-u1-n4')!;
    expect(fourth.restartCount).toBe(2);
    expect(fourth).not.toHaveProperty('user');
  });

  it('makes few calls at a time, names the pod in each, and leaves out what has vanished', async () => {
    let atOnce = 0;
    let most = 0;
    await using h = await CriRuntimeHarness.start({
      ...listing(world),
      podSandboxStatus: (_, reply) => reply({ code: grpcStatus.NOT_FOUND, details: 'gone' }),
      containerStatus: ({ request: { containerId } }, reply) => {
        most = Math.max(most, ++atOnce);
        setImmediate(() => {
          atOnce--;
          if (containerId.endsWith('n5')) reply({ code: grpcStatus.NOT_FOUND, details: 'gone' });
          else reply(null, cri.ContainerStatusResponse.create({ status: { id: containerId } }));
        });
      },
    });
    const { runtime, client } = h;
    const [pod] = await runtime.listPods();
    const status = runtime.getPodStatus(pod!);
    expect(client.callsInFlight().map((call) => call.pod?.name)).toEqual(Array<string>(8).fill('pod-u1'));
    expect((await status).containers).toHaveLength(11);
    expect((await status).sandboxes).toEqual([]);
    expect((await status).ips).toEqual([]);
    expect(most).toBeLessThanOrEqual(8);
  });

  it('fails as a whole when one call fails, and cancels the others', async () => {
    await using h = await CriRuntimeHarness.start({
      ...listing(world),
      podSandboxStatus: () => undefined,
      containerStatus: ({ request }, reply) => {
        if (request.containerId.endsWith('n2')) reply({ code: grpcStatus.INTERNAL, details: 'shim is gone' });
      },
    });
    const { runtime, client } = h;
    const [pod] = await runtime.listPods();
    await expect(runtime.getPodStatus(pod!)).rejects.toMatchObject({
      code: 'CRI_INTERNAL',
      message: expect.stringContaining(
        'container_status of container c-u1-n2 of pod default/pod-u1',
      ) as string,
    });
    await untilTrue(() => client.callsInFlight().length === 0);
  });

  it('treats an answer without a status neither as the container nor as its absence', async () => {
    await using h = await CriRuntimeHarness.start({
      ...listing(world),
      podSandboxStatus: (_, reply) => reply(null, cri.PodSandboxStatusResponse.create()),
    });
    const { runtime } = h;
    const [pod] = await runtime.listPods();
    await expect(runtime.getPodStatus({ ...pod!, containers: [] })).rejects.toMatchObject({
      code: 'CRI_MALFORMED_RESPONSE',
    });
  });
});
