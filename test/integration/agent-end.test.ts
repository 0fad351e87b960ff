import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ChaosProxy, parseRules } from '../../src/proxy/chaos/index.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import { EmbeddedNode, until } from './embedded-node.js';
import { HurriedClock } from './hurried-clock.js';
import { AgentNode } from './pod-stories/agent-node.js';

/** Only limits are this long here. */
const SPEED = { fromMs: 25_000, times: 20 };

const MANIFEST = {
  ...{ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'hung' } },
  spec: { containers: [{ name: 'main', image: 'podloop.local/host', command: ['sleep', '1000'] }] },
};
const HUNG = parseRules(
  `rules:
  - name: no sandbox
    match: { methods: [RunPodSandbox] }
    fault: { type: hang }
`,
  'rules.yaml',
);

it('an agent ends although the runtime never answers, and says whose work it has left', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'podloop-agent-end-'));
  await using node = await EmbeddedNode.start({ network: 'none' });
  const endpoint = `unix://${folder}/chaos.sock`;
  let hangs = false;
  const onInjection = (): void => {
    hangs = true;
  };
  const proxy = await ChaosProxy.start({
    ...{ upstream: node.listen, listen: endpoint, rules: HUNG, seed: 1, onInjection },
  });
  try {
    const logger = new LogRecorder();
    await mkdir(join(folder, 'manifests'));
    await writeFile(join(folder, 'manifests', 'hung.json'), JSON.stringify(MANIFEST));
    const agent = await AgentNode.start({ folder, endpoint, logger, clock: new HurriedClock(SPEED) });
    await until(
      () => hangs,
      (is) => is,
    );
    await agent.stop();
    const left = logger.complaints.filter(({ message }) => message.includes('left to itself'));
    const whose = left.map(({ message, fields }) => [message, fields['pod'] ?? fields['part']]);
    expect(whose).toEqual([
      [
        'Work on a pod did not settle in time and is left to itself',
        expect.objectContaining({ name: 'hung-test' }),
      ],
      ['Part of the agent does not end in time and is left to itself', 'changes of the runtime'],
    ]);
  } finally {
    await proxy.close();
    await rm(folder, { recursive: true, force: true });
  }
});
