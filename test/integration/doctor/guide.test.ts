import { readdir, readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { RuntimeState } from '../../../src/node/pods/loop/runtime-state.js';
import { FakeClock } from '#testing/fake-clock.js';
import { readGuide } from './guide.js';

const COMMANDS = /^crictl (ps|version|images)$/;
/** Words that a kubelet passes on from its gRPC library. */
const OF_GRPC =
  /^rpc error: code = (Unavailable|ResourceExhausted desc = grpc: received message larger than max)$/;
/** Which of our files say the kubelet's words; tests beside them hold these against a kubelet's. */
const SAID_IN: Readonly<Record<string, readonly [file: string, words: string]>> = {
  'ContainerStatus from runtime service failed': [
    'src/node/telemetry/reports/log-failed-calls.ts',
    'service failed`',
  ],
  FailedCreatePodSandBox: ['src/node/pods/sync/start-sandbox.ts', "'FailedCreatePodSandBox'"],
  container_status: ['src/watch/cri/methods.ts', 'container_status'],
  podsandbox_status: ['src/watch/cri/methods.ts', 'podsandbox_status'],
};

async function readSources(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.ts'));
  return (await Promise.all(names.map((name) => readFile(`${folder}/${name}`, 'utf8')))).join('\n');
}

/** Why a node is not ready, in the kubelet's words, if everything is wrong that the runtime's state can show. */
async function sayWhyNotReady(): Promise<string[]> {
  const clock = new FakeClock();
  const stop = new AbortController();
  let answers = true;
  const network = { type: 'NetworkReady', status: false, reason: 'NetworkPluginNotReady' };
  const state = new RuntimeState({
    clock,
    getConditions: () =>
      answers
        ? Promise.resolve([
            { type: 'RuntimeReady', status: true, reason: '', message: '' },
            { ...network, message: 'cni plugin not initialized' },
          ])
        : Promise.reject(new Error('gone')),
    healthChecks: [{ name: 'PLEG', findProblem: () => 'pleg was last seen active 3m5s ago' }],
  });
  const running = state.run(stop.signal);
  await clock.settle();
  answers = false;
  await clock.advance(60_000);
  stop.abort();
  await running;
  return [...state.errors(), ...state.networkErrors()];
}

describe('what the guide says that a kubelet shows', () => {
  it('are metrics that it has, and words that it says', async () => {
    const metrics = await readSources('src/node/telemetry/metrics');
    const said = await sayWhyNotReady();
    const rows = await readGuide();
    for (const { cause, shown } of rows) {
      for (const word of shown) {
        const source = SAID_IN[word];
        if (source !== undefined) expect(await readFile(source[0], 'utf8'), cause).toContain(source[1]);
        else if (word.startsWith('kubelet_')) expect(metrics, cause).toContain(`'${word}'`);
        else if (!COMMANDS.test(word) && !OF_GRPC.test(word))
          expect(
            said.filter((line) => line.startsWith(word)),
            `${cause}: ${word}`,
          ).toHaveLength(1);
      }
    }
    // Few causes show in nothing but what becomes of pods.
    expect(rows.filter(({ shown }) => shown.length > 0).length).toBeGreaterThan(rows.length / 2);
  });
});
