import { readFile, stat, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../../watch/cri/client.js';
import {
  ListContainersResponse,
  ListPodSandboxResponse,
  VersionResponse,
} from '../../../watch/cri/generated/runtime/v1/cri.js';
import { CommandUnderTest } from '#support/clients/command-under-test.js';
import { readRecording } from '#support/harness/record-harness.js';
import { untilTrue } from '#support/until-true.js';

/** `podloop record` in front of a runtime without pods. */
function prepare(): Promise<CommandUnderTest> {
  const version = { runtimeName: 'test', runtimeVersion: '1', runtimeApiVersion: 'v1', version: '0.1.0' };
  return CommandUnderTest.prepare({
    ...{ command: 'record', readyText: 'Recording' },
    args: (command) => ['--runtime-endpoint', command.runtimeEndpoint, '-f', fileOf(command)],
    handlers: {
      version: (_call, reply) => reply(null, VersionResponse.fromPartial(version)),
      listPodSandbox: (_call, reply) => reply(null, ListPodSandboxResponse.fromPartial({})),
      listContainers: (_call, reply) => reply(null, ListContainersResponse.fromPartial({})),
    },
  });
}

const fileOf = (command: CommandUnderTest): string => command.path('node.plrec');

describe('podloop record', () => {
  it('stands in front of a runtime, counts what passes, and leaves the file alone', async () => {
    await using command = await prepare();
    await command.start('--listen', `unix://${command.socketPath}`);
    expect(command.stderr).toMatch(
      /"Recording" file=".*node.plrec" upstream="unix:.*" mode="relay" endpoint=/,
    );
    const client = new CriClient({ endpoint: `unix://${command.socketPath}` });
    expect((await client.version()).runtimeName).toBe('test');
    const counts = /node\.plrec: 1 calls \(0 open\), 1 messages, 0 values taken out, 0\.\d KiB\n/;
    command.userSignal();
    await untilTrue(() => counts.test(command.stdout));
    client.close();
    command.stdout = '';
    expect(await command.end()).toBe(0);
    expect(command.stdout).toMatch(counts);
    await expect(stat(command.socketPath)).rejects.toThrow('ENOENT');
    const frames = await readRecording(fileOf(command));
    expect(frames[0]).toMatchObject({ mode: 'relay', rules: { keepCommands: false, keepOutput: false } });
    expect(frames.at(-1)).toMatchObject({ kind: 'close', reason: 'stopped' });
  });

  it('asks by itself without a socket to listen at, and opens no stream of events', async () => {
    await using command = await prepare();
    await command.start('-o', 'json', '--keep-commands', '--keep-annotations', 'a/*');
    expect(command.stderr).toContain('mode="observe"\n');
    const countLists = async (): Promise<number> => {
      command.stdout = '';
      command.userSignal();
      await untilTrue(() => command.stdout.endsWith('\n'));
      return (JSON.parse(command.stdout) as { calls: number }).calls;
    };
    while ((await countLists()) < 7) await command.clock.advance(1_000);
    command.stdout = '';
    expect(await command.end()).toBe(0);
    expect(JSON.parse(command.stdout)).toMatchObject({ file: fileOf(command), lost: 0, open: 0, files: 1 });
    const frames = await readRecording(fileOf(command));
    expect(frames[0]).toMatchObject({
      mode: 'observe',
      rules: { keepAnnotations: ['a/*'], keepCommands: true },
    });
    const methods = frames.flatMap((frame) => (frame.kind === 'begin' ? [frame.known!.name] : []));
    expect(methods).toEqual(expect.arrayContaining(['Version', 'ListPodSandbox', 'ListContainers']));
    expect(methods).not.toContain('GetContainerEvents');
  });

  it('names the socket at which no runtime is, and leaves no file', async () => {
    await using command = await prepare();
    const endpoint = `unix://${command.path('none.sock')}`;
    await command.start('--runtime-endpoint', endpoint);
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(`error: there is no socket at ${endpoint}: start the runtime`);
    await expect(stat(fileOf(command))).rejects.toThrow('ENOENT');
  });

  it('does not replace a file unless it is told to', async () => {
    await using command = await prepare();
    await writeFile(fileOf(command), 'precious');
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toMatch(
      /^error: the recording .*node\.plrec exists already: .* --force to replace it\n$/,
    );
    expect(await readFile(fileOf(command), 'utf8')).toBe('precious');
    await using forced = await prepare();
    await writeFile(fileOf(forced), 'worthless');
    await forced.start('--force', '--listen', `unix://${forced.socketPath}`);
    expect(await forced.end()).toBe(0);
    expect((await readRecording(fileOf(forced)))[0]!.kind).toBe('meta');
  });

  it('keeps a line of progress on a terminal, and takes it away at the end', async () => {
    await using command = await prepare();
    command.isTerminal = true;
    await command.start('--listen', `unix://${command.socketPath}`);
    const line = /\r\u001b\[K[1-9]\d*s: 0 calls, 0 open, 0\.\d KiB/;
    // Again and again: the first line may just be about to be written when the time passes.
    for (let seconds = 0; seconds < 100 && !line.test(command.stderr); seconds++) {
      await command.clock.advance(1_000);
    }
    expect(command.stderr).toMatch(line);
    expect(await command.end()).toBe(0);
    expect(command.stderr.endsWith('\r\u001b[K')).toBe(true);
  });

  it('refuses sizes in which nothing fits', async () => {
    await using command = await prepare();
    await command.start('--max-size', '10Ki');
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(
      'invalid argument "10Ki" for "--max-size" flag: use a size of at least 1Mi',
    );
  });
});
