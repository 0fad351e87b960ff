import { appendFile, chmod, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { untilTrue } from '#support/until-true.js';
import { Logind } from './logind.js';

let folder: string;
let logind: Logind;
const abort = new AbortController();
const file = (name: string): string => join(folder, name);
const program = async (name: string, script: string): Promise<void> => {
  await writeFile(file(name), `#!/bin/sh\n${script}\n`);
  await chmod(file(name), 0o755);
};
/** As `busctl monitor --json=short` prints it. */
const signalOf = (isShuttingDown: boolean): string =>
  `${JSON.stringify({
    ...{ type: 'signal', cookie: 2, sender: ':1.1', path: '/org/freedesktop/login1' },
    ...{ interface: 'org.freedesktop.login1.Manager', member: 'PrepareForShutdown' },
    payload: { type: 'b', data: [isShuttingDown] },
  })}\n`;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'podloop-logind-'));
  logind = new Logind({
    busctl: file('busctl'),
    systemdInhibit: file('systemd-inhibit'),
    dropIn: file('logind.conf.d/99-kubelet.conf'),
  });
});
afterEach(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe('properties of logind', () => {
  it('are read with busctl', async () => {
    await program('busctl', `echo "$@" >> ${file('calls')}; echo '{"type":"t","data":5000000}'`);
    expect(await logind.delayMs(abort.signal)).toBe(5_000);
    expect(await readFile(file('calls'), 'utf8')).toBe(
      '--system --json=short get-property org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager InhibitDelayMaxUSec\n',
    );
  });

  it.each([true, false])('say whether the machine shuts down: %s', async (isShuttingDown) => {
    await program('busctl', `echo '{"type":"b","data":${isShuttingDown}}'`);
    expect(await logind.isPreparing(abort.signal)).toBe(isShuttingDown);
  });

  it('cannot be read without a bus, which the error says', async () => {
    await program('busctl', 'echo "Failed to connect to bus: No such file or directory" >&2; exit 1');
    await expect(logind.delayMs(abort.signal)).rejects.toThrow(
      'busctl: Failed to connect to bus: No such file or directory',
    );
  });

  it('are not known where busctl ends without an answer, which the error says', async () => {
    await program('busctl', 'exit 0');
    await expect(logind.isPreparing(abort.signal)).rejects.toThrow(
      'busctl: no answer about PreparingForShutdown within 10 s',
    );
  });

  it('cannot be read without systemd, which the error says', async () => {
    await expect(logind.isPreparing(abort.signal)).rejects.toThrow(/^busctl: .*ENOENT/);
  });
});

it('a longer delay goes into a drop-in, and logind is asked to read it', async () => {
  await program('busctl', `echo "$@" >> ${file('calls')}`);
  await logind.raiseDelay(90, abort.signal);
  expect(await readFile(file('logind.conf.d/99-kubelet.conf'), 'utf8')).toContain(
    '\n[Login]\nInhibitDelayMaxSec=90\n',
  );
  expect(await readFile(file('calls'), 'utf8')).toBe(
    '--system call org.freedesktop.systemd1 /org/freedesktop/systemd1 org.freedesktop.systemd1.Manager KillUnit ssi systemd-logind.service all 1\n',
  );
});

describe('a lock', () => {
  const INHIBIT = 'while [ "${1#--}" != "$1" ]; do echo "$1" >> "$(dirname $0)/flags"; shift; done; "$@"';

  it('is held by systemd-inhibit until it is released', async () => {
    await program('systemd-inhibit', INHIBIT);
    const lock = await logind.lock(abort.signal);
    expect((await readFile(file('flags'), 'utf8')).split('\n').slice(0, 3)).toEqual([
      ...['--what=shutdown', '--mode=delay', '--who=podloop'],
    ]);
    lock.release();
    lock.release();
    expect(await lock.gone).toBeUndefined();
  });

  it('that logind does not give is refused with its words', async () => {
    await program('systemd-inhibit', 'echo "Failed to inhibit: Access denied" >&2; exit 1');
    await expect(logind.lock(abort.signal)).rejects.toThrow(
      'systemd-inhibit: ended with 1: Failed to inhibit: Access denied',
    );
  });

  it('that is lost says how', async () => {
    await program('systemd-inhibit', 'echo locked; exit 3');
    const lock = await logind.lock(abort.signal);
    expect(await lock.gone).toBe('systemd-inhibit: ended with 3');
  });

  it('that is waited for is given up with the signal', async () => {
    await program('systemd-inhibit', 'cat >/dev/null');
    const giveUp = new AbortController();
    const waiting = logind.lock(giveUp.signal);
    giveUp.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
  });
});

describe('the signal of logind', () => {
  it('is heard as long as anybody listens, and nothing else is taken for it', async () => {
    await writeFile(file('bus'), '');
    await program('busctl', `echo "$@" > ${file('calls')}; exec tail -n +1 -f ${file('bus')}`);
    const listening = new AbortController();
    const heard: boolean[] = [];
    const watching = logind.watch((each) => heard.push(each), listening.signal);
    await appendFile(file('bus'), `no JSON\n{"member":"Other","payload":{"data":[true]}}\n[]\n`);
    await appendFile(file('bus'), signalOf(true) + signalOf(false));
    await untilTrue(() => heard.length === 2);
    expect(heard).toEqual([true, false]);
    expect(await readFile(file('calls'), 'utf8')).toContain(
      "--match=type='signal',sender='org.freedesktop.login1'",
    );
    listening.abort();
    await watching;
  });

  it('is lost with the monitor, whose last words the error has', async () => {
    await program('busctl', 'echo "Connection terminated" >&2; exit 1');
    await expect(logind.watch(() => undefined, abort.signal)).rejects.toThrow(
      'busctl monitor: ended with 1: Connection terminated',
    );
  });
});
