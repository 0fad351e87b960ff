import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { SystemClock } from '#base/time/clock.js';
import { FakeClock } from '#testing/fake-clock.js';
import { HostFiles } from '../facts/host-files.js';
import { parseUnits, readUnits } from './read-units.js';

const SHOWN = `Id=containerd.service
LoadState=loaded
ActiveState=active
SubState=running
Result=success
NRestarts=0
ExecMainStatus=0
StateChangeTimestampMonotonic=5000000

Id=crio.service
LoadState=not-found
ActiveState=inactive
SubState=dead
Result=success
NRestarts=0
ExecMainStatus=0
StateChangeTimestampMonotonic=0

Id=kubelet.service
LoadState=loaded
ActiveState=activating
SubState=auto-restart
Result=exit-code
NRestarts=17
ExecMainStatus=1
StateChangeTimestampMonotonic=58500000
`;
const signal = new AbortController().signal;
let folder: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-units-'));
});
afterEach(() => rm(folder, { recursive: true }));

it('reads the units that are installed, and for how long they have been in their state', () => {
  expect(parseUnits(SHOWN, 60_000)).toEqual([
    {
      ...{ name: 'containerd.service', activeState: 'active', subState: 'running', result: 'success' },
      ...{ restarts: 0, exitStatus: 0, forMs: 55_000 },
    },
    {
      ...{
        name: 'kubelet.service',
        activeState: 'activating',
        subState: 'auto-restart',
        result: 'exit-code',
      },
      ...{ restarts: 17, exitStatus: 1, forMs: 1_500 },
    },
  ]);
});

it.each(['', '\n\n', 'no such thing\n', 'Id=\n\nLoadState=loaded'])('takes whatever comes: %j', (text) => {
  expect(() => parseUnits(text, 0)).not.toThrow();
});

it('does not know how long a unit has been in its state that was never started', () => {
  expect(parseUnits('Id=kubelet.service\nLoadState=loaded\nStateChangeTimestampMonotonic=0', 9)).toEqual([
    expect.not.objectContaining({ forMs: expect.anything() as number }),
  ]);
});

/** Files of a machine that systemd has booted. */
class BootedFiles extends HostFiles {
  override async list(path: string): Promise<string[]> {
    return path === '/run/systemd/system' ? [] : await super.list(path);
  }
}

async function makeProgram(script: string): Promise<string> {
  const program = join(folder, 'systemctl');
  await writeFile(program, `#!/bin/sh\n${script}\n`);
  await chmod(program, 0o755);
  return program;
}

it('asks systemctl for all units at once', async () => {
  const clock = new SystemClock();
  const files = new BootedFiles({ root: '/', clock, signal });
  const program = await makeProgram(`echo "$@" > ${folder}/args; cat <<'END'\n${SHOWN}END`);
  const { units, silentForMs } = await readUnits({ files, signal, program });
  expect(units.map(({ name }) => name)).toEqual(['containerd.service', 'kubelet.service']);
  expect(silentForMs).toBeUndefined();
});

it('reports a systemd that does not answer, and ends the program that waits for it', async () => {
  const clock = new FakeClock();
  const files = new BootedFiles({ root: '/', clock, signal });
  const reading = readUnits({ files, signal, program: await makeProgram('exec sleep 1000') });
  await expect.poll(() => clock.pendingTimers).toBe(1);
  await clock.advance(5_000);
  expect(await reading).toEqual({ units: [], silentForMs: 5_000 });
});

it('knows of no units without systemd, and says why it does not know them in a container', async () => {
  const clock = new SystemClock();
  const bare = new HostFiles({ root: folder, clock, signal });
  expect(await readUnits({ files: bare, signal, program: 'false' })).toEqual({ units: [] });
  await mkdir(join(folder, 'run/systemd/system'), { recursive: true });
  const reading = readUnits({ files: bare, signal, program: 'false' });
  await expect(reading).rejects.toThrow('systemd answers on the machine itself alone');
});

it('rejects with what systemctl says', async () => {
  const clock = new SystemClock();
  const files = new BootedFiles({ root: '/', clock, signal });
  const program = await makeProgram('echo "Failed to connect to bus" >&2; exit 1');
  await expect(readUnits({ files, signal, program })).rejects.toThrow('Failed to connect to bus');
});
