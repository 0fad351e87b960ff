import { rm, stat, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { CriClient } from '../../../watch/cri/client.js';
import { VersionResponse } from '../../../watch/cri/generated/runtime/v1/cri.js';
import { CommandUnderTest } from '#support/clients/command-under-test.js';
import { CriTestServer } from '#support/clients/cri-test-server.js';
import { untilTrue } from '#support/until-true.js';

const FAILS = 'rules:\n  - {name: fails, match: {methods: [Version]}, fault: {type: error}}\n';

/** `podloop chaos` in front of a runtime that answers Version. */
function prepare(): Promise<CommandUnderTest> {
  return CommandUnderTest.prepare({
    ...{ command: 'chaos', readyText: 'Listening' },
    args: (command) => [
      ...['--upstream', command.runtimeEndpoint, '--listen', `unix://${command.socketPath}`],
      ...['--rules', rulesOf(command)],
    ],
    handlers: {
      version: (_call, reply) => reply(null, VersionResponse.fromPartial({ runtimeName: 'test' })),
    },
  });
}

const rulesOf = (command: CommandUnderTest): string => command.path('rules.yaml');

/** Asks through it for the version; the runtime's name. */
async function askVersion(command: CommandUnderTest): Promise<string> {
  const client = new CriClient({ endpoint: `unix://${command.socketPath}` });
  try {
    return (await client.version()).runtimeName;
  } finally {
    client.close();
  }
}

describe('podloop chaos', () => {
  it('injects what the rules say, counts it, and leaves nothing behind', async () => {
    await using command = await prepare();
    await writeFile(rulesOf(command), FAILS);
    await command.start('--seed', '5', '-v', '1');
    expect(command.stderr).toMatch(/"Listening" endpoint="unix:.*" upstream="unix:.*" rules=1 seed=5/);
    expect((await stat(command.socketPath)).mode & 0o777).toBe(0o600);
    await expect(askVersion(command)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(command.stderr).toMatch(/"Fault injected" rule="fails" fault="error" method="Version"/);
    command.userSignal();
    const table = 'RULE    FAULT   METHOD    INJECTED\nfails   error   Version   1\n';
    await untilTrue(() => command.stdout === table);
    expect(await command.end()).toBe(0);
    expect(command.stdout).toBe(table + table);
    await expect(stat(command.socketPath)).rejects.toThrow('ENOENT');
  });

  it('prints each fault as one line of JSON when told', async () => {
    await using command = await prepare();
    await writeFile(rulesOf(command), FAILS);
    await command.start('-o', 'json');
    await expect(askVersion(command)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(await command.end()).toBe(0);
    const lines = command.stdout.trim().split('\n');
    expect(lines.map((line) => JSON.parse(line) as unknown)).toEqual([
      {
        ...{ time: '2026-01-02T03:04:05.000Z', rule: 'fails', fault: 'error', method: 'Version' },
        detail: 'injected by podloop chaos',
      },
      { injected: [{ rule: 'fails', fault: 'error', method: 'Version', count: 1 }] },
    ]);
  });

  it('reads the rules again when they change, and keeps those it has when they are wrong or gone', async () => {
    await using command = await prepare();
    await writeFile(rulesOf(command), 'rules: []\n');
    await command.start();
    const looked = async (until: RegExp): Promise<void> => {
      while (!until.test(command.stderr)) await command.clock.advance(500);
    };
    expect(await askVersion(command)).toBe('test');
    await writeFile(rulesOf(command), FAILS);
    await looked(/"Rules read again" file=".*rules.yaml" rules=1/);
    await expect(askVersion(command)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });

    await writeFile(rulesOf(command), FAILS.replace('methods', 'method'));
    await looked(
      /"Rules file cannot be used, the rules from before stay in force" err=".*rules.yaml:2: rules\[0\]/,
    );
    await expect(askVersion(command)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    await rm(rulesOf(command));
    await looked(/the rules from before stay in force" err=".*rules.yaml: cannot be read: ENOENT/);
    // Said once, however often it is looked at.
    await command.clock.advance(5_000);
    expect(command.stderr.match(/stay in force/g)).toHaveLength(2);

    await writeFile(rulesOf(command), 'rules: []\n');
    await looked(/rules=0\n/);
    expect(await askVersion(command)).toBe('test');
  });

  it.each([
    ['rules: [{}]', 'rules[0].name: is missing'],
    ['', 'the file is empty'],
    [undefined, 'rules.yaml: cannot be read: ENOENT'],
  ])('ends with 1 and one line when the rules are %j', async (text, complaint) => {
    await using command = await prepare();
    if (text !== undefined) await writeFile(rulesOf(command), text);
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(complaint);
    expect(command.stderr.trim().split('\n')).toHaveLength(1);
  });

  it.each([
    ['that is not there', () => '/nosuch/cri.sock', 'no socket'],
    ['that is a file', (command: CommandUnderTest) => rulesOf(command), 'is a file, no socket'],
  ])('warns of a runtime %s and goes on', async (_, pathOf, why) => {
    await using command = await CommandUnderTest.prepare({
      ...{ command: 'chaos', readyText: 'does not answer', handlers: {} },
      args: (own) => [
        ...['--upstream', `unix://${pathOf(own)}`, '--listen', `unix://${own.socketPath}`],
        ...['--rules', rulesOf(own)],
      ],
    });
    await writeFile(rulesOf(command), 'rules: []\n');
    await command.start();
    expect(command.stderr).toContain(
      'The runtime behind --upstream does not answer; calls fail until it does',
    );
    expect(command.stderr).toContain(why);
    await expect(askVersion(command)).rejects.toMatchObject({ code: 'CRI_UNAVAILABLE' });
    expect(await command.end()).toBe(0);
  });

  it('says nothing of a runtime that answers', async () => {
    await using command = await prepare();
    await writeFile(rulesOf(command), 'rules: []\n');
    await command.start();
    expect(await askVersion(command)).toBe('test');
    expect(await command.end()).toBe(0);
    expect(command.stderr).not.toContain('does not answer');
  });

  it('ends with 1 when somebody listens there already', async () => {
    await using command = await prepare();
    await writeFile(rulesOf(command), 'rules: []\n');
    await using other = await CriTestServer.start({ socketPath: command.socketPath });
    await command.start();
    expect(await command.end()).toBe(1);
    expect(command.stderr).toContain(`somebody listens at ${other.socketPath} already`);
  });
});
