import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type PlegReport } from '#kube/node/pleg-report.js';
import {
  NO_FAULTS,
  type SpawnedSyntheticRuntime,
  spawnSyntheticRuntime,
} from '#testing/synthetic-runtime/index.js';
import { PODLOOP_MAIN, PodloopProcess, runPodloop } from './podloop-process.js';
import { untilNobodyNames } from './processes-naming.js';
import { ProgramAtTerminal } from './program-at-terminal.js';

let folder: string;
let runtime: SpawnedSyntheticRuntime;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-top-test-'));
  runtime = await spawnSyntheticRuntime({ pods: 60, containersPerPod: 2 });
}, 60_000);

afterAll(async () => {
  await runtime.close();
  await untilNobodyNames(folder);
  await rm(folder, { recursive: true });
});

afterEach(async () => {
  await runtime.control.setFaults(NO_FAULTS);
});

const quoted = (words: readonly string[]): string => words.map((word) => `'${word}'`).join(' ');
const topAt = (endpoint: string): string =>
  quoted([process.execPath, PODLOOP_MAIN, 'top', '--runtime-endpoint', endpoint]);

/** The rows that the screen ends with, by the last frame that was drawn. */
function lastFrame(text: string): string[] {
  const frame = text.split('\x1b[H').at(-1)!;
  return frame.split('\r\n').map((row) => row.replaceAll(/\x1b\[[\d;?]*[a-zA-Z]/g, ''));
}

describe('podloop top at a terminal', () => {
  it('names the pod and the call that hang, filters, pauses and gives the terminal back', async () => {
    const pods = await runtime.control.pods();
    const sick = pods[7]!;
    await using terminal = new ProgramAtTerminal(topAt(runtime.endpoint), { TERM: 'xterm', NO_COLOR: '1' });
    await terminal.shows(/Health {4}ok, last relist/);
    await terminal.shows(/Pods {6}60, 60 running; containers: running 120/);
    await runtime.control.setFaults({ hungPods: [sick.uid] });
    await runtime.control.kill({ containerIds: [sick.containers[0]!.id] });
    await terminal.shows(
      new RegExp(`Health {4}stuck: ${sick.namespace}/${sick.name} for \\S+ in container_status`),
    );
    terminal.press(`/${sick.name}\r`);
    await terminal.shows(/filter: \S+ \(1 of 60 pods\)/);
    const rows = lastFrame(terminal.text);
    expect(rows.some((row) => row.startsWith('container_status '))).toBe(true);
    expect(rows.filter((row) => row.startsWith('team-'))).toEqual([
      expect.stringMatching(new RegExp(`^${sick.namespace}/${sick.name} .* hung `)),
    ]);
    terminal.press(' ');
    await terminal.shows(/PAUSED/);
    terminal.press('?');
    await terminal.shows(/next order: worst first/);
    terminal.press(' q');
    expect(await terminal.ended).toEqual({ code: 0, signal: null });
    expect(terminal.text.match(/\x1b\[\?(1049|25|7)[hl]/g)).toEqual(
      ['1049h', '25l', '7l', '7h', '25h', '1049l'].map((mode) => `\x1b[?${mode}`),
    );
  });

  it('is stopped and goes on in a shell, and ends at a signal, each time with the terminal as it was', async () => {
    const shell = 'bash --norc --noprofile -i';
    await using terminal = new ProgramAtTerminal(shell, { TERM: 'xterm', PS1: 'ready> ', HOME: folder });
    await terminal.shows(/ready> /);
    terminal.press(`${topAt(runtime.endpoint)}\n`);
    await terminal.shows(/\x1b\[\?1049h[^]*Health {4}ok/);
    terminal.press('\x1a');
    await terminal.shows(/\x1b\[\?1049l[^]*Stopped/);
    terminal.press('fg\n');
    await terminal.shows(/Stopped[^]*\x1b\[\?1049h[^]*Health {4}ok/);
    terminal.press('\x1a');
    await terminal.shows(/Stopped[^]*Stopped/);
    terminal.press('kill %1; fg; echo "it is $?"\n');
    await terminal.shows(/it is 0/);
    const screens = terminal.text.match(/\x1b\[\?1049[hl]/g)!.join('');
    expect(screens).toMatch(/^(\x1b\[\?1049h\x1b\[\?1049l){2,3}$/);
    terminal.press('exit\n');
    await terminal.ended;
  });
});

describe('podloop top where nobody looks', () => {
  it('prints once what an agent knows, as text and as JSON', async () => {
    const manifests = join(folder, 'manifests');
    await mkdir(manifests);
    const root = join(folder, 'root');
    await using agent = new PodloopProcess(
      ['run', manifests, '--runtime-endpoint', runtime.endpoint, '--root-dir', root],
      { env: { TMPDIR: folder } },
    );
    await agent.line('stderr', (line) => line.includes('Started node agent'));
    const flags = ['top', '--socket', join(root, 'podloop.sock')];
    const text = await runPodloop([...flags, '--filter', 'no such pod']);
    const lines = text.stdout.split('\n');
    expect(lines[0]).toMatch(/^podloop top {3}agent at \/.*podloop\.sock {3}\d{4}-\d\d-\d\dT/);
    expect(lines[1]).toMatch(/^Health /);
    expect(lines.at(-1)).toMatch(/^POD +NOW +LAST +LONGEST/);
    const json = await runPodloop([...flags, '-o', 'json']);
    const report = JSON.parse(json.stdout) as PlegReport;
    expect(report).toMatchObject({ mode: 'auto', runtime: { name: 'synthetic' }, pods: { byPhase: {} } });
    await agent.end('SIGTERM');
  });

  it('says where no agent is, and which orders there are', async () => {
    const gone = await runPodloop(['top', '--socket', join(folder, 'none.sock')]);
    expect(gone.code).toBe(1);
    expect(gone.stderr).toMatch(/cannot reach the agent at .*none\.sock: is "podloop run" running\?/);
    const wrong = await runPodloop(['top', '--sort-by', 'age']);
    expect(wrong.stderr).toMatch(/worst, last, longest, failures, inspections, name/);
  });
});
