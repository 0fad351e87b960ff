/**
 * Output that is written while the runtime is away: bounded, and neither lost nor doubled.
 *
 * @module
 */
import { createReadStream } from 'node:fs';
import { readdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from 'vitest';
import { SPOOL_FILE_BYTES, SPOOL_FILES } from '../../src/box/container/supervisor-script.js';
import { CONTAINER_RUNNING, EmbeddedNode, until } from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

const LINES = 450_000;
const LINE_BYTES = 200;

/** How much of a container's output is in its spool. */
async function spooledBytes(node: EmbeddedNode, id: string): Promise<number> {
  const dir = join(node.root, 'containers', id);
  const names = (await readdir(dir)).filter((name) => name.startsWith('stdout.spool.'));
  const sizes = await Promise.all(names.map((name) => stat(join(dir, name)).catch(() => ({ size: 0 }))));
  return sizes.reduce((sum, { size }) => sum + size, 0);
}

it('output waits while nobody carries it, and is whole after three kills of the runtime', async () => {
  await using program = await RuntimeProgram.build();
  await using node = await EmbeddedNode.prepare();
  let runtime = await program.start(node);
  const pod = await node.runPod('p');
  // It lives on until it is told: on a busy machine all may be carried between two looks.
  const goOn = join(node.folder, 'go-on');
  const write = `seq -f '%0${LINE_BYTES - 1}.0f' 1 ${LINES}`;
  const script = `sleep 0.3; ${write}; until [ -e ${goOn} ]; do sleep 0.1; done; echo over >&2`;
  const id = await node.run(pod, 'c', script);
  await end(runtime, 'SIGKILL');

  let last = -1;
  for (let same = 0; same < 10;) {
    const size = await spooledBytes(node, id);
    same = size === last && size > 0 ? same + 1 : 0;
    last = size;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  expect(last).toBeGreaterThanOrEqual(SPOOL_FILES * SPOOL_FILE_BYTES);
  expect(last).toBeLessThanOrEqual(2 * SPOOL_FILES * SPOOL_FILE_BYTES);

  // In the middle of carrying, each time further on.
  const path = join(node.logs, 'c.log');
  const logBytes = async (): Promise<number> => (await stat(path).catch(() => ({ size: 0 }))).size;
  for (const megabytes of [10, 40, 80]) {
    runtime = await program.start(node);
    expect(await node.status(id)).toMatchObject({ state: CONTAINER_RUNNING });
    await until(logBytes, (size) => size > megabytes * 1_000_000);
    await end(runtime, 'SIGKILL');
  }
  await program.start(node);
  await writeFile(goOn, '');
  await node.exited(id);

  let count = 0;
  let wrong = 0;
  let over = 0;
  for await (const line of createInterface({ input: createReadStream(path), crlfDelay: Infinity })) {
    const content = line.slice(line.indexOf(' ') + 1);
    if (content === 'stderr F over') over++;
    else if (content !== `stdout F ${String(++count).padStart(LINE_BYTES - 1, '0')}`) wrong++;
  }
  expect({ count, wrong, over }).toEqual({ count: LINES, wrong: 0, over: 1 });
  // All of it is in the log: the disk is given back although the container stays.
  await until(
    () => spooledBytes(node, id),
    (size) => size === 0,
  );
}, 180_000);
