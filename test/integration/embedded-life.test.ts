import { describe, expect, it } from 'vitest';
import {
  CONTAINER_CREATED,
  CONTAINER_EXITED,
  CONTAINER_RUNNING,
  EmbeddedNode,
  ISOLATIONS,
  logLines,
  SANDBOX_NOTREADY,
  SANDBOX_READY,
  until,
} from './embedded-node.js';

describe.each(ISOLATIONS)('the life of a pod on the embedded runtime, isolation %s', (isolation) => {
  it('goes from created over running to exited and is gone after its removal', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const pod = await node.runPod('web');
    expect(pod).toMatch(/^[0-9a-f]{64}$/);
    const id = await node.create(pod, 'app', 'echo hello; echo oops >&2; sleep 1000');
    expect(await node.status(id)).toMatchObject({ state: CONTAINER_CREATED, startedAt: 0n, finishedAt: 0n });

    await node.client.startContainer({ containerId: id });
    const running = await node.status(id);
    expect(running.state).toBe(CONTAINER_RUNNING);
    expect(running.startedAt).toBeGreaterThanOrEqual(running.createdAt);
    await until(
      () => node.log('app'),
      (log) => log.includes('oops'),
    );

    await node.client.stopContainer({ containerId: id, timeout: 10n });
    const exited = await node.status(id);
    expect(exited).toMatchObject({ state: CONTAINER_EXITED, exitCode: 143, reason: 'Error' });
    expect(exited.finishedAt).toBeGreaterThanOrEqual(exited.startedAt);
    expect(logLines(await node.log('app')).sort()).toEqual(['stderr F oops', 'stdout F hello']);

    await node.client.stopPodSandbox({ podSandboxId: pod });
    const { status } = await node.client.podSandboxStatus({ podSandboxId: pod });
    expect(status?.state).toBe(SANDBOX_NOTREADY);
    await node.client.removePodSandbox({ podSandboxId: pod });
    expect((await node.client.listPodSandbox({})).items).toEqual([]);
    expect((await node.client.listContainers({})).containers).toEqual([]);
  });

  it.each([
    ['a success', 'exit 0', 0, 'Completed'],
    ['a failure', 'exit 3', 3, 'Error'],
    ['SIGKILL', 'kill -9 $$', 137, 'Error'],
    ['SIGTERM', 'kill -15 $$', 143, 'Error'],
    ['SIGINT, which shells let background commands ignore', 'kill -2 $$', 130, 'Error'],
  ])('reports the exit code of %s', async (_what, script, exitCode, reason) => {
    await using node = await EmbeddedNode.start({ isolation });
    const id = await node.run(await node.runPod('p'), 'c', script);
    expect(await node.exited(id)).toMatchObject({ exitCode, reason });
  });

  it('has a ready sandbox, on the host’s network unless it is isolated', async () => {
    await using node = await EmbeddedNode.start({ isolation });
    const { status } = await node.client.podSandboxStatus({ podSandboxId: await node.runPod('p') });
    expect(status?.state).toBe(SANDBOX_READY);
    const isolated = isolation === 'namespaces';
    expect(status?.network?.ip).toMatch(isolated ? /^\d+\.\d+\.\d+\.\d+$/ : /^$/);
    expect(status?.linux?.namespaces?.options?.network).toBe(isolated ? 0 : 2);
  });
});
