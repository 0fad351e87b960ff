import { rename, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EmbeddedNode, logLines, until } from './embedded-node.js';

describe('logs of the embedded runtime', () => {
  it('have a time, a stream, a tag and the content in each line', async () => {
    await using node = await EmbeddedNode.start();
    await node.exited(await node.run(await node.runPod('p'), 'c', 'echo "  spaces kept  "'));
    expect(await node.log('c')).toMatch(
      /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z stdout F {3}spaces kept {2}\n$/,
    );
  });

  it('are complete once the container is seen to have exited', async () => {
    await using node = await EmbeddedNode.start();
    const id = await node.run(await node.runPod('p'), 'c', 'seq 1 20000; echo last >&2');
    await node.exited(id);
    const lines = logLines(await node.log('c'));
    expect(lines.filter((line) => line.startsWith('stdout'))).toEqual(
      Array.from({ length: 20_000 }, (_, at) => `stdout F ${at + 1}`),
    );
    expect(lines.filter((line) => line.startsWith('stderr'))).toEqual(['stderr F last']);
  });

  it('cut a line of 1 MB into parts and mark an unfinished last line as one', async () => {
    await using node = await EmbeddedNode.start();
    const script = 'head -c 1000000 /dev/zero | tr "\\0" x; echo; printf "no newline"';
    await node.exited(await node.run(await node.runPod('p'), 'c', script));
    const lines = logLines(await node.log('c'));
    expect(lines.at(-1)).toBe('stdout P no newline');
    const long = lines.slice(0, -1);
    expect(
      long.slice(0, -1).every((line) => line.startsWith('stdout P ') && line.length === 9 + 16_384),
    ).toBe(true);
    expect(long.at(-1)).toMatch(/^stdout F x+$/);
    expect(long.map((line) => line.slice(9)).join('').length).toBe(1_000_000);
  });

  it('take what a program writes to /dev/stdout and /dev/stderr, which it opens anew each time', async () => {
    await using node = await EmbeddedNode.start();
    const script = 'for i in 1 2 3; do echo "out $i" > /dev/stdout; echo "err $i" > /dev/stderr; done';
    await node.exited(await node.run(await node.runPod('p'), 'c', script));
    expect(logLines(await node.log('c')).sort()).toEqual([
      'stderr F err 1',
      'stderr F err 2',
      'stderr F err 3',
      'stdout F out 1',
      'stdout F out 2',
      'stdout F out 3',
    ]);
  });

  it('go on in a new file after a rotation, without a line lost or doubled', async () => {
    await using node = await EmbeddedNode.start();
    const id = await node.run(
      await node.runPod('p'),
      'c',
      'i=0; while sleep 0.002; do i=$((i+1)); echo "$i"; done',
    );
    const old = join(node.logs, 'c.log.old');
    await until(
      () => node.log('c'),
      (log) => log.split('\n').length > 20,
    );
    await rename(join(node.logs, 'c.log'), old);
    await node.client.reopenContainerLog({ containerId: id });
    await until(
      () => node.log('c'),
      (log) => log.split('\n').length > 20,
    );
    await node.client.stopContainer({ containerId: id, timeout: 0n });
    const lines = [...logLines(await readFile(old, 'utf8')), ...logLines(await node.log('c'))];
    expect(lines).toEqual(lines.map((_, at) => `stdout F ${at + 1}`));
  });

  it('are none when no path was given', async () => {
    await using node = await EmbeddedNode.start();
    const id = await node.run(await node.runPod('p'), 'c', 'echo hello', { logPath: '' });
    const status = await node.exited(id);
    expect(status).toMatchObject({ exitCode: 0, logPath: '' });
  });
});
