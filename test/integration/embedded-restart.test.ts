import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CONTAINER_CREATED,
  CONTAINER_EXITED,
  CONTAINER_RUNNING,
  EmbeddedNode,
  ISOLATIONS,
  logLines,
  until,
} from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

let program: RuntimeProgram;
beforeAll(async () => {
  program = await RuntimeProgram.build();
});
afterAll(() => program[Symbol.asyncDispose]());

describe.each(ISOLATIONS)('podloop runtime, killed and started again, isolation %s', (isolation) => {
  it('finds every sandbox and container with its true state and exit code', async () => {
    await using node = await EmbeddedNode.prepare({ isolation });
    const first = await program.start(node);
    const pod = await node.runPod('p');
    const stopped = await node.runPod('stopped');
    await node.client.stopPodSandbox({ podSandboxId: stopped });
    const created = await node.create(pod, 'created', 'exit 1');
    const runs = await node.run(pod, 'runs', 'sleep 1000');
    const before = await node.exited(await node.run(pod, 'before', 'exit 3'));
    const meanwhile = await node.run(
      pod,
      'meanwhile',
      `until [ -e ${node.folder}/go ]; do sleep 0.02; done; exit 7`,
    );
    const killed = await node.run(
      pod,
      'killed',
      `until [ -e ${node.folder}/go ]; do sleep 0.02; done; kill -9 $$`,
    );
    const started = await node.status(runs);

    await end(first, 'SIGKILL');
    await import('node:fs/promises').then(({ writeFile }) => writeFile(`${node.folder}/go`, ''));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const second = await program.start(node);

    expect((await node.status(created)).state).toBe(CONTAINER_CREATED);
    expect(await node.status(runs)).toEqual(started);
    expect(await node.status(before.id)).toEqual(before);
    expect(await node.status(meanwhile)).toMatchObject({ state: CONTAINER_EXITED, exitCode: 7 });
    expect(await node.status(killed)).toMatchObject({ state: CONTAINER_EXITED, exitCode: 137 });
    const { items } = await node.client.listPodSandbox({});
    expect(items.map(({ id, state }) => [id, state]).sort()).toEqual(
      [
        [pod, 0],
        [stopped, 1],
      ].sort(),
    );

    // What was found again obeys as before.
    await node.client.startContainer({ containerId: created });
    expect(await node.exited(created)).toMatchObject({ exitCode: 1 });
    await node.client.stopContainer({ containerId: runs, timeout: 5n });
    expect(await node.status(runs)).toMatchObject({ state: CONTAINER_EXITED, exitCode: 143 });
    await node.clear();
    expect(await end(second, 'SIGTERM')).toBe(0);
  });

  it('loses and doubles no line of a log, at any of several kills', async () => {
    await using node = await EmbeddedNode.prepare({ isolation });
    let runtime = await program.start(node);
    const pod = await node.runPod('p');
    // With a breath now and then, so that a machine that is slow to start runtimes has not millions of lines to read.
    const line = 'i=$((i+1)); echo "line $i"; [ $((i % 200)) -ne 0 ] || sleep 0.01';
    const script = `i=0; while [ ! -e ${node.folder}/stop ]; do ${line}; done`;
    const id = await node.run(pod, 'chatty', script);
    for (let round = 0; round < 4; round++) {
      await new Promise((resolve) => setTimeout(resolve, 150 + 70 * round));
      await end(runtime, 'SIGKILL');
      runtime = await program.start(node);
      expect((await node.status(id)).state).toBe(CONTAINER_RUNNING);
    }
    await import('node:fs/promises').then(({ writeFile }) => writeFile(`${node.folder}/stop`, ''));
    await node.exited(id);
    const lines = await until(
      async () => logLines(await node.log('chatty')),
      (found) => found.length > 0,
    );
    expect(lines.length).toBeGreaterThan(1000);
    expect(lines.findIndex((line, at) => line !== `stdout F line ${at + 1}`)).toBe(-1);
    await node.clear();
    await end(runtime, 'SIGTERM');
  });
});
