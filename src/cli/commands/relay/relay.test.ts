import { stat } from 'node:fs/promises';
import { expect, it } from 'vitest';
import { CommandUnderTest } from '#support/clients/command-under-test.js';
import { CriClient } from '../../../watch/cri/client.js';
import { VersionResponse } from '../../../watch/cri/generated/runtime/v1/cri.js';

function prepare(): Promise<CommandUnderTest> {
  return CommandUnderTest.prepare({
    ...{ command: 'relay', readyText: 'Listening' },
    args: (command) => [
      ...['--listen', `unix://${command.socketPath}`, '--runtime-endpoint', command.runtimeEndpoint],
    ],
    handlers: {
      version: (_call, reply) => reply(null, VersionResponse.fromPartial({ runtimeName: 'test' })),
    },
  });
}

it('podloop relay lets a version through and no start of a container, and says what it refused', async () => {
  await using command = await prepare();
  await command.start('-v', '1', '--group', String(process.getgid!()));
  expect((await stat(command.socketPath)).mode & 0o777).toBe(0o660);
  const client = new CriClient({ endpoint: `unix://${command.socketPath}` });
  expect((await client.version()).runtimeName).toBe('test');
  await expect(client.startContainer({ containerId: 'a' })).rejects.toThrow(
    'this socket only reads: StartContainer changes a node or reaches into a container, and is refused',
  );
  client.close();
  expect(command.stderr).toMatch(/"Call refused" method="StartContainer"/);
  expect(await command.end()).toBe(0);
});

it('a group that is not there is an error that names it', async () => {
  await using command = await prepare();
  await command.start('--group', 'no-such-group');
  expect(await command.end()).toBe(1);
  expect(command.stderr).toContain('--group: there is no group "no-such-group" in /etc/group');
});
