// Changes pods of both agents of an emulated node until the power is cut, and writes into a ledger what was confirmed.
//
//   node churn.mjs SEED FIRST
//
// FIRST is the number of the first action: higher than any in the ledger so far. Each line goes to standard output and, synced, to
// the ledger on the disk. The lines are those of ledger.ts.
import { appendFileSync, fsyncSync, mkdirSync, openSync, readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { AGENTS, ask, findMade, LEDGER, readHistory, RUNS, sleepOf } from './cut-node.mjs';

const PODS = 4;
const PAUSE_MS = 500;
/** A warning counts as stored once it has been readable for this long. */
const SETTLED_MS = 10_000;
const IMAGES = { containerd: ['podloop.test/busybox:1'], box: ['podloop.local/host', 'cut.test/own:1'] };

const [seed, first] = process.argv.slice(2).map(Number);
let state = seed >>> 0;
/** Mulberry32. */
function random() {
  state = (state + 0x6d2b79f5) >>> 0;
  let mixed = Math.imul(state ^ (state >>> 15), state | 1);
  mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
  return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
}
const pick = (list) => list[Math.floor(random() * list.length)];

mkdirSync(RUNS, { recursive: true });
const file = openSync(LEDGER, 'a', 0o600);
function say(line) {
  appendFileSync(file, `${JSON.stringify(line)}\n`);
  fsyncSync(file);
  process.stdout.write(`${JSON.stringify(line)}\n`);
}

function makePod(agent, name, version) {
  const isOnce = name.startsWith('once-');
  const wait = sleepOf(agent, name, version);
  const script = isOnce
    ? `echo run >> /runs/${agent}-${name} && sync /runs/${agent}-${name}`
    : // The shell waits, so that it hears SIGTERM.
      `trap 'exit 0' TERM; sleep ${wait} & wait`;
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, annotations: { 'cut.test/version': String(version) } },
    spec: {
      hostNetwork: true,
      terminationGracePeriodSeconds: 5,
      restartPolicy: isOnce ? 'Never' : 'Always',
      containers: [
        {
          name: 'main',
          image: pick(IMAGES[agent]),
          imagePullPolicy: 'IfNotPresent',
          command: ['sh', '-c', script],
          volumeMounts: [{ name: 'runs', mountPath: '/runs' }],
        },
      ],
      volumes: [{ name: 'runs', hostPath: { path: RUNS } }],
    },
  };
}

let number = first;
let once = first;
const pods = '/api/v1/namespaces/default/pods';

async function act(agent, line, path, options) {
  const n = number++;
  say({ op: 'begin', n, agent, ...line });
  const { code, text } = await ask(agent, path, options);
  // A pod that is being deleted takes no new manifest, and one that is gone no delete: neither has happened.
  if (code >= 300)
    process.stderr.write(`${agent} ${options.method} ${path}: ${code} ${text.slice(0, 300)}\n`);
  else say({ op: 'done', n });
}

async function apply(agent, name) {
  const version = number;
  await act(agent, { act: 'apply', pod: name, version }, pods, {
    method: 'POST',
    body: makePod(agent, name, version),
  });
}

/** Says which pods that run once have succeeded. */
const ended = new Set(
  readFileSync(LEDGER, 'utf8')
    .split('\n')
    .filter((line) => line.includes('"ended"'))
    .map((line) => `${JSON.parse(line).agent}/${JSON.parse(line).pod}`),
);
async function noteEnded(agent) {
  const { text } = await ask(agent, pods);
  for (const { metadata, status } of JSON.parse(text).items) {
    const pod = findMade(metadata.name);
    if (
      pod === undefined ||
      !pod.startsWith('once-') ||
      status.phase !== 'Succeeded' ||
      ended.has(`${agent}/${pod}`)
    )
      continue;
    ended.add(`${agent}/${pod}`);
    say({ op: 'ended', agent, pod });
  }
}
const seen = new Map();
const said = new Set();
async function noteWarnings(agent) {
  for (const { id } of await readHistory(agent, 'types=Warning'))
    if (!seen.has(agent + id)) seen.set(agent + id, Date.now());
  for (const [key, at] of seen) {
    if (!key.startsWith(agent) || said.has(key) || Date.now() - at < SETTLED_MS) continue;
    said.add(key);
    say({ op: 'warning', agent, id: key.slice(agent.length) });
  }
}

for (let turn = 0; ; turn++) {
  const agent = AGENTS[turn % AGENTS.length];
  const name = `keep-${Math.floor(random() * PODS)}`;
  const dice = random();
  if (dice < 0.5) await apply(agent, name);
  else if (dice < 0.7)
    await act(agent, { act: 'delete', pod: name }, `${pods}/${await findName(agent, name)}`, {
      method: 'DELETE',
    });
  else if (dice < 0.8) await apply(agent, `once-${once++}`);
  await noteEnded(agent);
  await noteWarnings(agent);
  await sleep(PAUSE_MS * random());
}

/** As the agent shows it: with the node's name. */
async function findName(agent, name) {
  const { text } = await ask(agent, pods);
  return (
    JSON.parse(text).items.find(({ metadata }) => findMade(metadata.name) === name)?.metadata.name ?? name
  );
}
