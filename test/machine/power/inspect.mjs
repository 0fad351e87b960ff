// Prints, as JSON, what is there on an emulated node after a power cut: for each agent a FoundAgent of ledger.ts.
import { readdirSync, readFileSync } from 'node:fs';
import { AGENTS, ask, findMade, readHistory, rootOf, RUNS, sleepOf } from './cut-node.mjs';

/** Arguments of every process. */
function readCommands() {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((pid) => {
      try {
        return [readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0')];
      } catch {
        // It has ended meanwhile.
        return [];
      }
    });
}

/** How many pods of an agent there is a `sleep` for, of whatever version. */
function countProcesses(agent, commands, names) {
  const counts = {};
  for (const name of names) {
    const base = sleepOf(agent, name, 0);
    const count = commands.filter(([program, seconds]) => {
      const version = Number(seconds) - base;
      return /(?:^|\/)sleep$/.test(program) && version >= 0 && version < 10_000;
    }).length;
    if (count > 0) counts[name] = count;
  }
  return counts;
}

function countRuns(agent) {
  const prefix = `${agent}-`;
  return Object.fromEntries(
    readdirSync(RUNS)
      .filter((name) => name.startsWith(prefix))
      .map((name) => [
        name.slice(prefix.length),
        readFileSync(`${RUNS}/${name}`, 'utf8').split('\n').filter(Boolean).length,
      ]),
  );
}

/** What the runtime in the box says of records that it cannot read. */
function findUnreadable(agent) {
  if (agent !== 'box') return [];
  const log = readFileSync(`${rootOf(agent)}/runtime/runtime.log`, 'utf8');
  return log
    .split('\n')
    .filter((line) => /cannot be read|is damaged|not whole/i.test(line))
    .slice(0, 5);
}

async function inspect(agent, commands) {
  const { text } = await ask(agent, '/api/v1/namespaces/default/pods');
  const made = JSON.parse(text).items.filter(({ metadata }) => findMade(metadata.name) !== undefined);
  const pods = made.map(({ metadata, status }) => ({
    name: findMade(metadata.name),
    phase: metadata.deletionTimestamp === undefined ? status.phase : 'Terminating',
    version: Number(metadata.annotations['cut.test/version']),
    isReady: status.conditions.some(({ type, status: value }) => type === 'Ready' && value === 'True'),
  }));
  const history = await readHistory(agent, '');
  const faults = ['HistoryDamaged', 'RecordsLost'];
  return {
    pods,
    processes: countProcesses(agent, commands, ['keep-0', 'keep-1', 'keep-2', 'keep-3']),
    runs: countRuns(agent),
    historyFaults: history.filter(({ reason }) => faults.includes(reason)).map(({ reason }) => reason),
    warningIds: history.filter(({ type }) => type === 'Warning').map(({ id }) => id),
    unreadable: findUnreadable(agent),
  };
}

const commands = readCommands();
const found = {};
for (const agent of AGENTS) found[agent] = await inspect(agent, commands);
process.stdout.write(`${JSON.stringify(found)}\n`);
