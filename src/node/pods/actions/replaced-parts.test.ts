import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { PodPaths } from '../../../watch/observed/pod-paths.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { somePodActionInputs, type PodActionsBlueprint } from '#support/builders/pod-action-inputs.js';
import { computePodActions } from './compute-actions.js';
import { findReplaced, ReplacedParts, sandboxIdsOf } from './replaced-parts.js';

const UID = 'u1';

let root: string;
let paths: PodPaths;
let logger: LogRecorder;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), 'podloop-replaced-'));
  paths = new PodPaths({ rootDir: root, podLogsDir: join(root, 'logs') });
  logger = new LogRecorder();
});
afterEach(() => rm(root, { recursive: true, force: true }));

/** As another agent on the same folder finds it. */
async function opened(): Promise<ReplacedParts> {
  const parts = new ReplacedParts({ paths, logger });
  await parts.takeUp(UID);
  return parts;
}

const { observed } = somePodActionInputs({ containers: { main: {}, side: { sandboxId: 'lost' } } });

describe('what was replaced of a pod', () => {
  it('is known to the next agent, and of that pod alone', async () => {
    const parts = await opened();
    expect(parts.has(UID, 'sandbox-0')).toBe(false);
    await parts.keep(UID, ['sandbox-0'], observed);
    expect(parts.has(UID, 'sandbox-0')).toBe(true);
    const next = await opened();
    expect(next.has(UID, 'sandbox-0')).toBe(true);
    expect(next.has(UID, 'main-0')).toBe(false);
    expect(next.has('u2', 'sandbox-0')).toBe(false);
    expect(logger.complaints).toEqual([]);
  });

  it('is left out as soon as the runtime no longer has it and something else is added', async () => {
    const parts = await opened();
    await parts.keep(UID, ['gone', 'main-0', 'lost'], observed);
    await parts.keep(UID, ['sandbox-0'], observed);
    expect(['gone', 'main-0', 'lost', 'sandbox-0'].map((id) => parts.has(UID, id))).toEqual([
      ...[false, true, true, true],
    ]);
  });

  it('is not written again when it is known', async () => {
    const parts = await opened();
    await parts.keep(UID, ['main-0'], observed);
    await writeFile(paths.replacedFile(UID), 'as it was');
    await parts.keep(UID, ['main-0'], observed);
    await parts.keep(UID, [], observed);
    expect(await readFile(paths.replacedFile(UID), 'utf8')).toBe('as it was');
  });

  it.each(['{', '{"version":1,"uid":"u2","ids":[]}', '{"version":1,"uid":"u1","ids":[1]}'])(
    'is nothing, and said, where its record reads %s',
    async (text) => {
      await mkdir(paths.podDir(UID), { recursive: true });
      await writeFile(paths.replacedFile(UID), text);
      const parts = await opened();
      expect(parts.has(UID, 'main-0')).toBe(false);
      expect(logger.complaints).toMatchObject([{ fields: { podUID: UID, path: paths.replacedFile(UID) } }]);
    },
  );

  it('is known as long as the agent is where it cannot be written', async () => {
    await writeFile(paths.podsDir, 'no folder');
    const parts = new ReplacedParts({ paths, logger });
    await parts.keep(UID, ['main-0'], observed);
    expect(parts.has(UID, 'main-0')).toBe(true);
    expect(logger.complaints).toMatchObject([
      { message: 'Replaced parts of a pod cannot be recorded on the disk' },
    ]);
  });
});

it('counts sandboxes that only a container still shows', () => {
  expect(sandboxIdsOf(observed)).toEqual(['sandbox-0', 'lost']);
});

describe('the containers that are ended for others to take their place', () => {
  const replaced = (blueprint: PodActionsBlueprint): string[] => {
    const scene = somePodActionInputs(blueprint);
    return findReplaced(scene.pod, scene.observed, computePodActions(scene));
  };

  it.each<[string, PodActionsBlueprint, string[]]>([
    ['none while nothing is to be done', { containers: { main: {} } }, []],
    ['an edited one', { containers: { main: { outdated: true } } }, ['main-0']],
    [
      'not one that failed its liveness probe',
      {
        spec: { containers: [{ name: 'main', image: 'i', livenessProbe: { exec: { command: ['x'] } } }] },
        containers: { main: {} },
        failedLiveness: ['main-0'],
      },
      [],
    ],
    [
      'one whose sandbox is lost and that is restarted after failures',
      { spec: { restartPolicy: 'OnFailure' }, sandboxes: [{ state: 'exited' }], containers: { main: {} } },
      ['main-0'],
    ],
    [
      'not one that is restarted after any end',
      { spec: { restartPolicy: 'Always' }, sandboxes: [{ state: 'exited' }], containers: { main: {} } },
      [],
    ],
    [
      'not one that is not started again',
      { spec: { restartPolicy: 'Never' }, sandboxes: [{ state: 'exited' }], containers: { main: {} } },
      [],
    ],
  ])('%s', (_, blueprint, ids) => {
    expect(replaced(blueprint)).toEqual(ids);
  });
});
