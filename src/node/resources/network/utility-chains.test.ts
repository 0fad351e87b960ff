import { execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { FakeClock } from '#testing/fake-clock.js';
import { LogRecorder } from '#support/fakes/log-recorder.js';
import {
  type IptablesProgram,
  runIptables,
  type ToolResult,
  UtilityChains,
  type UtilityChainsOptions,
} from './utility-chains.js';

const FIREWALL_RULE =
  '-m comment --comment block incoming localnet connections -d 127.0.0.0/8 ! -s 127.0.0.0/8 -m conntrack ! --ctstate RELATED,ESTABLISHED,DNAT -j DROP';

/** The tables of a machine, as far as chains and rules go, and the words that the programs understand. */
class FakeTables {
  /** `program table chain` to its rules. */
  readonly chains = new Map<string, string[]>();
  readonly changes: string[] = [];
  failure: string | undefined;

  constructor() {
    this.flush();
  }

  flush(): void {
    this.chains.clear();
    for (const program of ['iptables', 'ip6tables'])
      for (const chain of ['INPUT', 'OUTPUT']) this.chains.set(`${program} filter ${chain}`, []);
  }

  readonly run = (program: IptablesProgram, args: readonly string[]): Promise<ToolResult> => {
    const [wait, , dashT, table = '', verb = '', chain = '', ...rest] = args;
    expect([wait, dashT]).toEqual(['-w', '-t']);
    const key = `${program} ${table} ${chain}`;
    const rules = this.chains.get(key);
    const rule = rest.join(' ');
    const done = (isFine: boolean): Promise<ToolResult> =>
      Promise.resolve(
        isFine ? { exitCode: 0, message: '' } : { exitCode: 1, message: 'No chain/target/match' },
      );
    if (verb === '-S') return done(rules !== undefined);
    if (verb === '-C') return done(rules?.includes(rule) ?? false);
    if (this.failure !== undefined) return Promise.resolve({ exitCode: 4, message: this.failure });
    this.changes.push(`${program} ${verb} ${table} ${chain}`);
    if (verb === '-N') this.chains.set(key, []);
    else if (verb === '-A') rules!.push(rule);
    else if (verb === '-I') rules!.unshift(rule);
    return done(true);
  };
}

function start(tables: FakeTables, run: UtilityChainsOptions['run'] = tables.run) {
  const clock = new FakeClock();
  const logger = new LogRecorder();
  const ending = new AbortController();
  const running = new UtilityChains({ run, clock, logger }).run(ending.signal);
  const stop = async (): Promise<void> => {
    ending.abort();
    await running;
  };
  return { clock, logger, stop };
}

it('makes the hint for both families, and the firewall for IPv4, before all other rules', async () => {
  const tables = new FakeTables();
  tables.chains.get('iptables filter INPUT')!.push('-j DOCKER');
  const { clock, stop, logger } = start(tables);
  await clock.settle();
  for (const program of ['iptables', 'ip6tables']) {
    expect(tables.chains.has(`${program} mangle KUBE-IPTABLES-HINT`)).toBe(true);
    for (const table of ['mangle', 'nat', 'filter'])
      expect(tables.chains.has(`${program} ${table} KUBE-KUBELET-CANARY`)).toBe(true);
  }
  expect(tables.chains.get('iptables filter KUBE-FIREWALL')).toEqual([FIREWALL_RULE]);
  expect(tables.chains.get('iptables filter INPUT')).toEqual(['-j KUBE-FIREWALL', '-j DOCKER']);
  expect(tables.chains.get('iptables filter OUTPUT')).toEqual(['-j KUBE-FIREWALL']);
  expect(tables.chains.has('ip6tables filter KUBE-FIREWALL')).toBe(false);
  expect(logger.lines.map(({ message }) => message)).toEqual(Array(2).fill('Initialized iptables rules'));
  await stop();
});

it('changes nothing while they are there, also for a second agent, and makes them again after a flush', async () => {
  const tables = new FakeTables();
  const first = start(tables);
  await first.clock.settle();
  const made = tables.changes.length;
  await first.clock.advance(10 * 60_000);
  const second = start(tables);
  await second.clock.settle();
  expect(tables.changes).toHaveLength(made);
  tables.flush();
  await first.clock.advance(60_000);
  expect(tables.chains.get('iptables filter INPUT')).toEqual(['-j KUBE-FIREWALL']);
  expect(tables.changes).toHaveLength(2 * made);
  await first.stop();
  await second.stop();
});

it('logs once why the chains cannot be made, and makes them when they can', async () => {
  const tables = new FakeTables();
  tables.failure = 'Permission denied (you must be root)';
  const { clock, logger, stop } = start(tables);
  await clock.advance(5 * 60_000);
  expect(logger.lines.map(({ message, fields }) => [message, fields['program'], fields['err']])).toEqual([
    [
      'Chains of iptables cannot be made',
      'iptables',
      'iptables -w 5 -t mangle -N KUBE-IPTABLES-HINT: Permission denied (you must be root)',
    ],
    [
      'Chains of iptables cannot be made',
      'ip6tables',
      'ip6tables -w 5 -t mangle -N KUBE-IPTABLES-HINT: Permission denied (you must be root)',
    ],
  ]);
  tables.failure = undefined;
  await clock.advance(60_000);
  expect(tables.chains.has('iptables mangle KUBE-IPTABLES-HINT')).toBe(true);
  await stop();
});

it('finishes what an agent that was killed in the middle has begun', async () => {
  const tables = new FakeTables();
  for (const table of ['mangle', 'nat', 'filter'])
    tables.chains.set(`iptables ${table} KUBE-KUBELET-CANARY`, []);
  tables.chains.set('iptables filter KUBE-FIREWALL', []);
  const { clock, stop } = start(tables);
  await clock.settle();
  expect(tables.chains.get('iptables filter KUBE-FIREWALL')).toEqual([FIREWALL_RULE]);
  expect(tables.chains.get('iptables filter INPUT')).toEqual(['-j KUBE-FIREWALL']);
  await stop();
});

it('takes what another program has made between the question and the change', async () => {
  const tables = new FakeTables();
  let isFirst = true;
  const { clock, logger, stop } = start(tables, async (program, args) => {
    if (args[4] !== '-N' || !isFirst) return tables.run(program, args);
    isFirst = false;
    await tables.run(program, args);
    return { exitCode: 1, message: 'Chain already exists.' };
  });
  await clock.settle();
  expect(logger.lines.map(({ level }) => level)).not.toContain('warn');
  expect(tables.chains.get('iptables filter INPUT')).toEqual(['-j KUBE-FIREWALL']);
  await stop();
});

it('names the package when the machine has no such program', async () => {
  const wanted = runIptables('no-such-tables' as IptablesProgram, [], new AbortController().signal);
  await expect(wanted).rejects.toThrow(
    'install the package iptables, or set makeIPTablesUtilChains to false',
  );
});

const canTry = process.getuid?.() === 0 && existsSync('/usr/sbin/iptables');
const VARIANTS = ['iptables-nft', 'iptables-legacy'].filter((name) => existsSync(`/usr/sbin/${name}`));
it.runIf(canTry).each(VARIANTS)('uses words that %s understands, in a network of its own', (variant) => {
  const tables = new FakeTables();
  const said: string[][] = [];
  const { clock, stop } = start(tables, async (program, args) => {
    if (program === 'iptables') said.push([...args]);
    return tables.run(program, args);
  });
  return clock.settle().then(async () => {
    await stop();
    const quote = (word: string): string => `'${word}'`;
    const changes = said.filter(([, , , , verb]) => ['-N', '-A', '-I'].includes(verb!));
    const script = changes.map((args) => [variant, ...args].map(quote).join(' '));
    const checks = said.filter(([, , , , verb]) => ['-S', '-C'].includes(verb!));
    const again = checks.map((args) => [variant, ...args].map(quote).join(' '));
    const text = ['set -e', ...script, ...again, `${variant} -S`].join('\n');
    const shown = execFileSync('unshare', ['--net', '--', 'sh', '-c', text], { encoding: 'utf8' });
    expect(shown).toContain('-A INPUT -j KUBE-FIREWALL');
    expect(shown).toMatch(/-A KUBE-FIREWALL .*block incoming localnet connections.* -j DROP/);
  });
});
