import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { isNotFound } from '#base/errors/errors.js';
import {
  CONTAINER_CREATED,
  CONTAINER_EXITED,
  CONTAINER_RUNNING,
  EmbeddedNode,
  ISOLATIONS,
  until,
} from './embedded-node.js';
import { end, RuntimeProgram } from './embedded-process.js';

let program: RuntimeProgram;
beforeAll(async () => {
  program = await RuntimeProgram.build();
});
afterAll(() => program[Symbol.asyncDispose]());

/** What the test knows of one container: what was answered, and what an answer would have said that never came. */
interface Known {
  readonly id: string;
  readonly exitCode: number;
  started: 'no' | 'perhaps' | 'yes';
  removed: 'no' | 'perhaps' | 'yes';
}

const WORKERS = 4;
const KILLS = 6;

it.each(ISOLATIONS)(
  'loses no container and no process when it is killed in the middle of everything, isolation %s',
  async (isolation) => {
    await using node = await EmbeddedNode.prepare({ isolation });
    let runtime = await program.start(node);
    const pod = await node.runPod('p');
    const known: Known[] = [];
    let over = false;

    /** Makes, starts and removes containers for as long as the runtime answers, and notes what is certain. */
    async function churn(worker: number): Promise<void> {
      for (let at = 0; !over; at++) {
        const exitCode = (worker * 31 + at) % 100;
        try {
          // Each writes down that it ran, without the runtime.
          const name = `w${worker}-${known.length}-${at}`;
          const script = `echo ran >> ${node.folder}/ran.$PODLOOP_CONTAINER_ID; sleep 0.0${exitCode % 10}; exit ${exitCode}`;
          const entry: Known = {
            id: await node.create(pod, name, script),
            exitCode,
            started: 'no',
            removed: 'no',
          };
          known.push(entry);
          entry.started = 'perhaps';
          await node.client.startContainer({ containerId: entry.id });
          entry.started = 'yes';
          if (at % 3 !== 0) continue;
          entry.removed = 'perhaps';
          await node.client.removeContainer({ containerId: entry.id });
          entry.removed = 'yes';
        } catch {
          await until(
            async () => over || (await node.client.version({}).catch(() => undefined)) !== undefined,
            (goOn) => goOn,
          );
        }
      }
    }

    const workers = Array.from({ length: WORKERS }, (_, worker) => churn(worker));
    for (let kill = 0; kill < KILLS; kill++) {
      await new Promise((resolve) => setTimeout(resolve, 300 + 67 * kill));
      await end(runtime, 'SIGKILL');
      runtime = await program.start(node);
    }
    over = true;
    await Promise.all(workers);

    expect(known.length).toBeGreaterThan(KILLS);
    for (const { id, exitCode, started, removed } of known) {
      const status = await until(
        () =>
          node
            .status(id)
            .catch((error: unknown) => (isNotFound(error) ? undefined : Promise.reject(error as Error))),
        (found) => found?.state !== CONTAINER_RUNNING,
      );
      const ran = await readFile(join(node.folder, `ran.${id}`), 'utf8').catch(() => '');
      expect(ran === '' || ran === 'ran\n', `${id} ran more than once`).toBe(true);
      if (status === undefined) expect(removed).not.toBe('no');
      else if (status.state === CONTAINER_CREATED) expect([started, ran]).toEqual(['perhaps', '']);
      else {
        expect(removed).not.toBe('yes');
        expect(started).not.toBe('no');
        expect(status.state).toBe(CONTAINER_EXITED);
        // A removal that was under way may have killed it.
        if (removed === 'no') expect(status.exitCode).toBe(exitCode);
      }
    }
    const { containers } = await node.client.listContainers({});
    const unanswered = containers.filter(({ id }) => !known.some((entry) => entry.id === id));
    // Created, and killed before the answer: at most one for each worker and kill, and none was started.
    expect(unanswered.length).toBeLessThanOrEqual(WORKERS * KILLS);
    expect(unanswered.every(({ state }) => state === CONTAINER_CREATED)).toBe(true);

    await node.clear();
    expect(await readdir(join(node.root, 'containers'))).toEqual([]);
    await end(runtime, 'SIGTERM');
    const lines = await Promise.all(
      (await readdir('/proc')).map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')),
    );
    expect(lines.filter((line) => line.includes(node.root))).toEqual([]);
  },
);
