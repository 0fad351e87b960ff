import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { probeRunner } from './probe-runner.js';

it('puts into the command of a probe what the manifest has of its variables', async () => {
  const commands: (readonly string[])[] = [];
  const runProbe = probeRunner({
    clock: new FakeClock(),
    commands: {
      execSync: async (_id, command) => {
        commands.push(command);
        return { exitCode: 0, stdout: Buffer.of(), stderr: Buffer.of() };
      },
    },
  });
  const env = [
    { name: 'PORT', value: '80' },
    { name: 'URL', value: 'http://localhost:$(PORT)' },
    { name: 'KEY', valueFrom: { secretKeyRef: { name: 'a', key: 'b' } } },
  ];
  const command = ['sh', '-c', 'check $(PORT) $(URL) <$(KEY)> $$(PORT) $(cat /x)'];
  const run = {
    ...{ pod: { uid: 'u', namespace: 'default', name: 'web' }, containerId: 'a', host: '' },
    container: { name: 'main', image: 'i', env },
    ...{ probe: { exec: { command } }, neverRestarts: false, timeoutMs: 1_000 },
    type: 'liveness' as const,
  };
  await runProbe(run, new AbortController().signal);
  expect(commands).toEqual([['sh', '-c', 'check 80 http://localhost:$(PORT) <> $(PORT) $(cat /x)']]);
});
